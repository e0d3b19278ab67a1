"""Which phase runs, since when, and what the results say about it."""

from __future__ import annotations

import time
from collections.abc import Callable

from hpcprov.phases import Phase
from hpcprov.progress import Progress
from hpcprov.results import PhaseResult, PhaseStatus, Result


class Clock:
    """Measures phases one after another. Smoke comes twice: first its job is put in place."""

    def __init__(
        self, progress: Progress, result: Result, save: Callable[[], None], started: float | None = None
    ) -> None:
        self.progress = progress
        self.started = time.monotonic() if started is None else started  # of the run
        self.result = result
        self.save = save
        self.phase: Phase | None = None
        self.since = 0.0
        self.spans: dict[Phase, list[tuple[float, float]]] = {}

    def begin(self, phase: Phase, title: str = "") -> None:
        """Start a phase. Starting the running one again only changes its title."""
        if phase is not self.phase:
            self.phase, self.since = phase, time.monotonic()
        self.progress.begin(phase, title)

    def end(self, note: str = "", *, status: PhaseStatus = "done") -> None:
        """End the running phase, if there is one."""
        if self.phase is None:
            return
        phase = self.phase
        self.put_by()
        spans = self.spans.pop(phase)
        seconds = round(sum(end - begin for begin, end in spans), 2)
        rounded = [(round(begin, 2), round(end, 2)) for begin, end in spans]
        self.result.phases.append(PhaseResult(name=phase.value, seconds=seconds, status=status, spans=rounded))
        self.progress.end(phase, seconds, note, status=status)
        self.save()

    def put_by(self) -> None:
        """Leave the running phase unfinished. It is no result yet; its time counts when it comes back."""
        if self.phase is not None:
            span = (self.since - self.started, time.monotonic() - self.started)
            self.spans.setdefault(self.phase, []).append(span)
            self.phase = None
