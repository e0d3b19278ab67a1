"""Where things are drawn."""

from __future__ import annotations

import math

import pytest
from hpcprov.report import charts
from hypothesis import given
from hypothesis import strategies as st

from . import results_of_runs as runs


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0.0 s"), (59.94, "59.9 s"), (59.96, "1 min 00 s"), (90.6, "1 min 31 s"), (3600, "1 h 00 min"),
     (86399, "23 h 59 min")],
)  # fmt: skip
def test_duration(seconds: float, said: str) -> None:
    assert charts.duration(seconds) == said


def test_bars_stand_where_the_phases_ran() -> None:
    chart = charts.timeline(runs.passed())
    smoke = chart.bars[-1]
    assert smoke.spans == [(79.8, 1.66), (85.65, 14.13)]
    assert [tick.label for tick in chart.ticks] == ["0 s", "30 s", "1 min", "1:30 min"]
    assert chart.ticks[1].at == pytest.approx(30 / 90.6 * 100, abs=0.01)


@given(st.floats(0.01, 1e7))
def test_time_axis_has_few_ticks_inside(seconds: float) -> None:
    result = runs.start(seconds=seconds)
    ticks = charts.timeline(result).ticks
    assert 1 <= len(ticks) <= 6 and all(0 <= tick.at <= 100 for tick in ticks)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200))
def test_curve_stays_inside_and_keeps_the_order_of_values(values: list[float]) -> None:
    chart = charts.curve("loss", values, digits=3, low=0.0)
    assert chart is not None
    assert all(0 <= x <= 100 and 0 <= y <= 100 for x, y, _ in chart.points)
    assert 2 <= len(chart.up) <= 7 and len(chart.across) <= 10
    highest = max(range(len(values)), key=values.__getitem__)
    assert chart.points[highest][1] == min(y for _, y, _ in chart.points)


def test_axis_has_round_numbers() -> None:
    chart = charts.curve("accuracy", [0.711, 0.872, 0.972], digits=3)
    assert chart is not None
    assert [tick.label for tick in chart.up] == ["0.7", "0.8", "0.9", "1"]


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf]])
def test_nothing_to_draw(values: list[float]) -> None:
    assert charts.curve("loss", values, digits=3) is None
