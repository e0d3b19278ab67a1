"""Run playbooks with ansible-runner: one process, events as they happen, nothing secret left on disk."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import IO, Any

from hpcprov.ansible.environment import environment
from hpcprov.ansible.events import Event, HostStats, RunEnded, parse

POLL_SECONDS = 1.0
# Events that are worth keeping; the others only repeat Ansible's output, which is in the log.
KEPT = (
    "playbook_on_play_start",
    "playbook_on_task_start",
    "playbook_on_stats",
    "runner_on_ok",
    "runner_on_failed",
    "runner_on_unreachable",
    "runner_item_on_failed",
)


@dataclass(frozen=True)
class Request:
    """What to run, on which inventory, and how."""

    playbooks: Sequence[Path]
    inventory: Path
    folder: Path
    limit: str | None = None
    tags: str | None = None
    check: bool = False
    diff: bool = False
    verbosity: int = 0
    extra_vars: dict[str, Any] = field(default_factory=dict)


@dataclass
class Outcome:
    """How the run ended. `stats` is None when Ansible did not come to its recap."""

    return_code: int
    interrupted: bool = False
    stats: dict[str, HostStats] | None = None


def run(
    request: Request,
    *,
    on_event: Callable[[Event], None],
    on_output: Callable[[str], None],
    on_tick: Callable[[], None] = lambda: None,
    on_stop: Callable[[], None] = lambda: None,
) -> Outcome:
    """Run the playbooks in one Ansible process.

    `on_output` gets Ansible's own text line by line, `on_tick` is called about once a second. The first
    Ctrl-C lets Ansible stop in an orderly way (`on_stop` is called then), the second kills it.
    """
    request.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _Run(request, on_event, on_output) as active:
        return active.run(on_tick, on_stop)


class _Run:
    """One run: feeds events to the caller and to `events.jsonl`, and handles being interrupted."""

    def __init__(self, request: Request, on_event: Callable[[Event], None], on_output: Callable[[str], None]) -> None:
        self.request = request
        self.on_event = on_event
        self.on_output = on_output
        self.interrupts = 0
        self.told = False
        self.pid: int | None = None
        self.stats: dict[str, HostStats] | None = None
        self.events: IO[str]

    def __enter__(self) -> _Run:
        path = self.request.folder / "events.jsonl"
        self.events = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a")
        return self

    def __exit__(self, *_: object) -> None:
        self.events.close()

    def run(self, on_tick: Callable[[], None], on_stop: Callable[[], None]) -> Outcome:
        from ansible_runner.interface import init_runner

        def cancelled() -> bool:
            on_tick()
            if self.interrupts and not self.told:
                self.told = True
                on_stop()
            return self.interrupts > 1

        runner = init_runner(
            **self._arguments(),
            event_handler=self._event,
            status_handler=self._status,
            cancel_callback=cancelled,
        )
        # Settings given as arguments are dropped by ansible-runner 2.4 where no env/settings file exists.
        runner.config.pexpect_timeout = POLL_SECONDS
        runner.config.suppress_output_file = True
        with _signals(self._interrupt):
            runner.run()
        _remove_artifacts(Path(runner.config.artifact_dir))
        return Outcome(runner.rc, interrupted=self.interrupts > 0, stats=self.stats)

    def _arguments(self) -> dict[str, Any]:
        request = self.request
        flags = [flag for flag, wanted in (("--check", request.check), ("--diff", request.diff)) if wanted]
        return {
            "private_data_dir": str(request.folder),
            "ident": "run",
            "playbook": str(write_playbook(request.folder / "playbook.yml", request.playbooks)),
            "inventory": str(request.inventory.resolve()),
            "limit": request.limit,
            "tags": request.tags,
            "verbosity": request.verbosity,
            "extravars": request.extra_vars or None,
            "cmdline": " ".join(flags) or None,
            "envvars": environment(),
            "suppress_env_files": True,
            "quiet": True,
        }

    def _event(self, raw: dict[str, Any]) -> bool:
        self.pid = raw.get("pid", self.pid)
        for line in str(raw.get("stdout") or "").splitlines():
            self.on_output(line.rstrip())
        if raw.get("event") in KEPT:
            self.events.write(json.dumps(_slim(raw), separators=(",", ":")) + "\n")
        event = parse(raw)
        if isinstance(event, RunEnded):
            self.stats = event.hosts
        if event is not None:
            self.on_event(event)
        return False  # a file per event would cost more than the event

    def _status(self, data: dict[str, Any], runner_config: Any) -> None:
        # Written just before the start, it holds the whole environment of the caller.
        if data.get("status") == "running":
            (Path(runner_config.artifact_dir) / "command").unlink(missing_ok=True)

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        self.interrupts += 1
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGINT)


def write_playbook(path: Path, playbooks: Sequence[Path]) -> Path:
    """A playbook that imports the given ones, so that one Ansible process runs them all."""
    imports = [{"name": book.stem, "ansible.builtin.import_playbook": str(book)} for book in playbooks]
    path.write_text(json.dumps(imports, indent=2) + "\n")  # JSON is YAML
    return path


def _slim(raw: dict[str, Any]) -> dict[str, Any]:
    """The event without what is in the log already, and without the arguments of modules."""
    data = dict(raw.get("event_data") or {})
    if isinstance(result := data.get("res"), dict):
        data["res"] = _without_invocation(result)
    return {"event": raw.get("event"), "created": raw.get("created"), "event_data": data}


def _without_invocation(result: dict[str, Any]) -> dict[str, Any]:
    slim = {key: value for key, value in result.items() if key not in ("invocation", "ansible_facts")}
    if isinstance(items := slim.get("results"), list):
        slim["results"] = [_without_invocation(item) if isinstance(item, dict) else item for item in items]
    return slim


def _remove_artifacts(folder: Path) -> None:
    """ansible-runner's own files say nothing that events and log do not say."""
    import shutil

    shutil.rmtree(folder.parent, ignore_errors=True)


@contextmanager
def _signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle Ctrl-C and a polite kill ourselves, as long as Ansible runs."""
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
