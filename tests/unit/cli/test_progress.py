"""What is shown of a run: in a log, and on a terminal."""

from __future__ import annotations

import io

import pytest
from hpcprov import console, progress
from hpcprov.ansible.events import Status, TaskEnded
from hpcprov.phases import Phase
from hpcprov.progress import LiveProgress, Progress
from rich.console import Console


def ended(host: str, status: Status) -> TaskEnded:
    return TaskEnded(host, "munge", "Munge runs", "", status)


def test_a_log_gets_one_line_per_phase_and_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    lines: list[str] = []
    with Progress(record=lines.append) as plain:
        plain.begin(Phase.BASE, "Names, users, time")
        plain.task_started("packages: Packages are there")
        plain.host_started("node01")
        plain.host_started("head")
        now += 19
        plain.tick()
        now += 2
        plain.tick()
        plain.tick()
        plain.host_ended(ended("head", Status.CHANGED))
        now += 39
        plain.tick()
        now += 2
        plain.tick()
        plain.end(Phase.BASE, 62.0, "changed: head 1")
        plain.tick()
    assert lines == [
        "base        Names, users, time",
        "base            21 s  … packages: Packages are there on head, node01",
        "base            62 s  … packages: Packages are there on node01",
        "base          62.0 s  changed: head 1",
    ]


def test_failed_phase_is_marked() -> None:
    lines: list[str] = []
    Progress(record=lines.append).end(Phase.SCHEDULER, 3.04, "changed: head 2", status="failed")
    assert lines == ["scheduler      3.0 s  FAILED  changed: head 2"]


def test_ansible_output_is_logged_and_shown_only_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    console.err.cache_clear()
    lines: list[str] = []
    Progress(record=lines.append).output("PLAY [x]")
    assert capsys.readouterr().err == ""
    Progress(verbose=True, record=lines.append).output("PLAY [y]")
    assert capsys.readouterr().err == "PLAY [y]\n"
    assert lines == ["PLAY [x]", "PLAY [y]"]
    console.err.cache_clear()


def test_terminal_shows_phase_task_and_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Console(file=io.StringIO(), force_terminal=True, width=90, height=10, color_system=None)
    monkeypatch.setattr(progress, "err", lambda: screen)
    monkeypatch.setattr(progress, "say", lambda text, style=None: screen.print(text, markup=False))
    with LiveProgress() as live:
        live.begin(Phase.BASE, "Names")
        live.task_started("munge: Munge runs")
        for number in range(1, 40):
            live.host_started(f"node{number:02d}")
            if number != 7:
                live.host_ended(ended(f"node{number:02d}", Status.FAILED if number == 30 else Status.OK))
        view = live._render()
        live.end(Phase.BASE, 1.0, "nothing changed")
    with screen.capture() as captured:
        screen.print(view)
    shown = [line.rstrip() for line in captured.get().splitlines()]
    assert "base" in shown[0] and "munge: Munge runs" in shown[0]
    # the screen holds four hosts: the failed one and the one that works come first
    assert shown[1] == "    node30  waiting  failed 1"
    assert shown[2] == "    node07  working"
    assert len(shown) == 5


def test_the_view_makes_room_for_a_question() -> None:
    with LiveProgress() as live:
        with live.paused():
            assert not live._live.is_started
        assert live._live.is_started
    assert not live._live.is_started
