"""The geometry of the charts, in percent of the drawing, so that they fit any width. No drawing here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hpcprov.results import PhaseResult, Result

SECONDS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 36000, 86400)
NARROWEST = 0.6  # percent; a phase of no length is still seen


@dataclass(frozen=True)
class Tick:
    """A line of the grid: where, in percent, and what it says."""

    at: float
    label: str


@dataclass(frozen=True)
class Bar:
    """A phase: its spans as (from, width), percent of the whole run."""

    name: str
    status: str
    time: str
    since: str
    spans: list[tuple[float, float]]


@dataclass(frozen=True)
class Timeline:
    """Phases below each other on one axis of time."""

    bars: list[Bar]
    ticks: list[Tick]


@dataclass(frozen=True)
class Curve:
    """One value for each epoch. Points are (x, y) in percent from the upper left, with the value in words."""

    title: str
    points: list[tuple[float, float, str]]
    across: list[Tick]
    up: list[Tick]
    summary: str

    @property
    def line(self) -> str:
        """For a polyline in a drawing of 100 by 100."""
        return " ".join(f"{x:g},{y:g}" for x, y, _ in self.points)


def duration(seconds: float) -> str:
    """A time as one says it."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    hours, minutes, rest = whole // 3600, whole % 3600 // 60, whole % 60
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"


def timeline(result: Result) -> Timeline:
    """When each phase ran. Results of older versions name no spans: then one began where the last ended."""
    placed = _placed(result.phases)
    total = max([result.seconds, *(end for _, spans in placed for _, end in spans)], default=0) or 1.0
    bars = [
        Bar(
            name=phase.name, status=phase.status, time=duration(phase.seconds),
            since=duration(spans[0][0]), spans=[_on_axis(span, total) for span in spans],
        )
        for phase, spans in placed
    ]  # fmt: skip
    step = next((step for step in SECONDS if total / step <= 5), 86400.0 * math.ceil(total / 86400 / 5))
    count = math.floor(total / step + 1e-9)
    ticks = [Tick(_rounded(number * step / total * 100), _short(number * step)) for number in range(count + 1)]
    return Timeline(bars, ticks)


def _placed(phases: Sequence[PhaseResult]) -> list[tuple[PhaseResult, list[tuple[float, float]]]]:
    placed, now = [], 0.0
    for phase in phases:
        spans = phase.spans or [(now, now + phase.seconds)]
        now = spans[-1][1]
        placed.append((phase, spans))
    return placed


def _on_axis(span: tuple[float, float], total: float) -> tuple[float, float]:
    width = max((span[1] - span[0]) / total * 100, NARROWEST)
    return _rounded(min(span[0] / total * 100, 100 - width)), _rounded(width)


def _short(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:g} s"
    hours, minutes, rest = int(seconds) // 3600, int(seconds) % 3600 // 60, int(seconds) % 60
    if hours:
        return f"{hours}:{minutes:02d} h"
    return f"{minutes}:{rest:02d} min" if rest else f"{minutes} min"


def curve(title: str, values: Sequence[float], *, digits: int, low: float | None = None) -> Curve | None:
    """A curve over the epochs, or None where there is nothing to draw. `low` begins the axis; else it is zero."""
    if not values or not all(map(math.isfinite, values)):
        return None
    step, bottom, top = _scale(min(values) if low is None else low, max(values))
    last = max(len(values) - 1, 1)
    points = [
        (_rounded(number / last * 100), _rounded((top - value) / (top - bottom) * 100), f"{value:.{digits}f}")
        for number, value in enumerate(values)
    ]
    count = round((top - bottom) / step)
    up = [Tick(_rounded(100 - number / count * 100), f"{bottom + number * step:.3g}") for number in range(count + 1)]
    every = math.ceil(len(values) / 10)
    across = [Tick(points[number][0], str(number + 1)) for number in range(0, len(values), every)]
    ends = f"{points[0][2]} after epoch 1, {points[-1][2]} after epoch {len(values)}"
    return Curve(title, points, across, up, ends if len(values) > 1 else points[0][2] + " after the only epoch")


def _scale(low: float, high: float) -> tuple[float, float, float]:
    """Step, bottom and top of an axis with round numbers and some four steps."""
    span = max(high - low, abs(high) * 0.01, 1e-6)
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power * 4 >= span * 0.999)
    bottom, top = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    return step, bottom, top if top > bottom else bottom + step


def _rounded(percent: float) -> float:
    return round(percent, 2)
