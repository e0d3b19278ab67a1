"""What a person sees of a run: plain lines that read well in a log, or a live view on a terminal."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hpcprov.ansible.events import Status, TaskEnded
from hpcprov.console import err, say
from hpcprov.phases import Phase
from hpcprov.results import PhaseStatus

if TYPE_CHECKING:
    from rich.console import RenderableType

# Without a terminal a long silence looks like a hang: say where we are after this long, then ever more rarely.
HEARTBEAT_SECONDS = 20.0
HEARTBEAT_MAXIMUM = 120.0
MARKS: dict[PhaseStatus, tuple[str, str | None]] = {
    "done": ("", None),
    "failed": ("FAILED  ", "bold red"),
    "interrupted": ("STOPPED  ", "bold yellow"),
}
NAME_WIDTH = max(len(phase) for phase in Phase)


class Progress:
    """Plain lines: one when a phase starts, one when it ends, and a sign of life in between."""

    def __init__(self, *, verbose: bool = False, record: Callable[[str], None] = lambda _: None) -> None:
        self.verbose = verbose
        self.record = record  # the full log gets every line, too
        self.phase: Phase | None = None
        self.started = 0.0
        self.task = ""
        self.hosts: dict[str, dict[Status, int]] = {}
        self.busy: set[str] = set()
        self._said = 0.0
        self._silence = HEARTBEAT_SECONDS
        self._lock = threading.RLock()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to put back."""

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing moves on the screen while a person is asked."""
        yield

    def begin(self, phase: Phase, title: str = "") -> None:
        """A phase starts."""
        with self._lock:
            if phase is not self.phase:
                self.started = time.monotonic()
            self.phase, self.task = phase, title
            self.hosts, self.busy, self._silence = {}, set(), HEARTBEAT_SECONDS
            if title:
                self._phase_line(phase, title)

    def end(self, phase: Phase, seconds: float, note: str = "", *, status: PhaseStatus = "done") -> None:
        """A phase is over: its line, with its time."""
        mark, style = MARKS[status]
        with self._lock:
            self._phase_line(phase, f"{seconds:6.1f} s  {mark}{note}", style=style)
            self.phase = None

    def line(self, text: str) -> None:
        """Something that belongs to the phase that runs, such as a line of the training job."""
        with self._lock:
            self._show(f"  {text}" if text else "")

    def output(self, text: str) -> None:
        """A line of Ansible's own output, which is shown with -v only."""
        with self._lock:
            if self.verbose:
                self._show(text, style="dim")
            else:
                self.record(text)

    def task_started(self, label: str) -> None:
        """All hosts of the play come to a new task."""
        with self._lock:
            self.task, self.busy, self._silence = label, set(), HEARTBEAT_SECONDS

    def host_started(self, host: str) -> None:
        """A host works on the task."""
        with self._lock:
            self.busy.add(host)
            self.hosts.setdefault(host, {})

    def host_ended(self, event: TaskEnded) -> None:
        """A host has done the task."""
        with self._lock:
            self.busy.discard(event.host)
            counts = self.hosts.setdefault(event.host, {})
            counts[event.status] = counts.get(event.status, 0) + 1

    def tick(self) -> None:
        """About once a second while something runs."""
        with self._lock:
            now = time.monotonic()
            if self.phase is None or now - max(self._said, self.started) < self._silence:
                return
            where = f" on {', '.join(sorted(self.busy)[:4])}" if self.busy else ""
            more = f" and {len(self.busy) - 4} more" if len(self.busy) > 4 else ""
            self._phase_line(self.phase, f"{now - self.started:6.0f} s  … {self.task}{where}{more}")
            self._silence = min(2 * self._silence, HEARTBEAT_MAXIMUM)

    def _phase_line(self, phase: Phase, text: str, style: str | None = None) -> None:
        self._show(f"{phase:<{NAME_WIDTH}}  {text}".rstrip(), style)

    def _show(self, text: str, style: str | None = None) -> None:
        say(text, style=style)
        self.record(text)
        self._said = time.monotonic()


class LiveProgress(Progress):
    """A terminal: finished phases scroll up, below them the running one with its task and its hosts."""

    def __init__(self, *, verbose: bool = False, record: Callable[[str], None] = lambda _: None) -> None:
        from rich.live import Live
        from rich.spinner import Spinner

        super().__init__(verbose=verbose, record=record)
        self._spinner = Spinner("dots")
        self._live = Live(get_renderable=self._render, console=err(), refresh_per_second=8, transient=True)

    def __enter__(self) -> LiveProgress:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The view makes room for the question, and comes back."""
        self._live.stop()
        try:
            yield
        finally:
            self._live.start()

    def begin(self, phase: Phase, title: str = "") -> None:
        """The live view says it; no line is needed."""
        with self._lock:
            super().begin(phase)
            self.task = title

    def tick(self) -> None:
        """The view refreshes itself."""

    def _render(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        with self._lock:
            if self.phase is None:
                return Text("")
            seconds = time.monotonic() - self.started
            self._spinner.update(text=Text(f"{self.phase:<{NAME_WIDTH - 2}}  {seconds:6.1f} s  {self.task}"))
            rows = [self._host_row(host, counts) for host, counts in self._shown_hosts()]
            return Group(self._spinner, *rows)

    def _shown_hosts(self) -> Sequence[tuple[str, dict[Status, int]]]:
        """As many as the screen holds: those that work and those that failed first."""
        room = max(4, err().height - 6)

        def rank(item: tuple[str, dict[Status, int]]) -> tuple[bool, bool]:
            host, counts = item
            return (not (Status.FAILED in counts or Status.UNREACHABLE in counts), host not in self.busy)

        chosen = self.hosts.items() if len(self.hosts) <= room else sorted(self.hosts.items(), key=rank)[:room]
        return list(chosen)

    def _host_row(self, host: str, counts: dict[Status, int]) -> RenderableType:
        from rich.text import Text

        width = max(len(name) for name in self.hosts)
        row = Text(f"    {host:<{width}}  {'working' if host in self.busy else 'waiting'}  ")
        styles = ((Status.OK, "green"), (Status.CHANGED, "yellow"), (Status.FAILED, "red"), (Status.UNREACHABLE, "red"))
        for status, style in styles:
            if status in counts:
                row.append(f"{status} {counts[status]}  ", style=style)
        return row


def make(*, verbose: bool, record: Callable[[str], None]) -> Progress:
    """The view that fits where standard error goes."""
    view = LiveProgress if err().is_terminal else Progress
    return view(verbose=verbose, record=record)
