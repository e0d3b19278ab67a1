"""Which phase runs, since when, and what the results say about it."""

from __future__ import annotations

import time
from collections.abc import Callable

from hpcprov.phases import Phase
from hpcprov.progress import Progress
from hpcprov.results import PhaseResult, PhaseStatus, Result


class Clock:
    """Measures phases one after another. A phase that comes back, such as smoke, adds to its time."""

    def __init__(self, progress: Progress, result: Result, save: Callable[[], None]) -> None:
        self.progress = progress
        self.result = result
        self.save = save
        self.phase: Phase | None = None
        self.since = 0.0

    def begin(self, phase: Phase, title: str = "") -> None:
        """Start a phase. Starting the running one again only changes its title."""
        if phase is not self.phase:
            self.phase, self.since = phase, time.monotonic()
        self.progress.begin(phase, title)

    def end(self, note: str = "", *, status: PhaseStatus = "done", quiet: bool = False) -> None:
        """End the running phase, if there is one. With `quiet` its line is left to a later end."""
        if self.phase is None:
            return
        phase, self.phase = self.phase, None
        record = self._record(phase)
        record.seconds = round(record.seconds + time.monotonic() - self.since, 2)
        record.status = status
        if not quiet or status != "done":
            self.progress.end(phase, record.seconds, note, ok=status == "done")
        self.save()

    def _record(self, phase: Phase) -> PhaseResult:
        for record in self.result.phases:
            if record.name == phase:
                return record
        record = PhaseResult(name=phase.value, seconds=0, status="done")
        self.result.phases.append(record)
        return record
