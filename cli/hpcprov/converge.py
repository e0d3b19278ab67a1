"""The Ansible phases of a deploy: one run of all chosen playbooks, told apart by the names of their plays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hpcprov import changes
from hpcprov.ansible import failures, runner
from hpcprov.ansible.events import (
    ErrorShown,
    Event,
    PlayStarted,
    Status,
    TaskEnded,
    TaskStarted,
    TaskStartedOnHost,
)
from hpcprov.ansible.failures import Failure
from hpcprov.clock import Clock
from hpcprov.errors import ConvergeError, HostsError, HpcprovError
from hpcprov.paths import project_root
from hpcprov.phases import Phase
from hpcprov.progress import Progress
from hpcprov.results import FailureResult, HostResult, Result

BROKEN = (Status.FAILED, Status.UNREACHABLE)


def playbook(phase: Phase) -> Path:
    """The playbook of a phase."""
    return project_root() / "playbooks" / f"{phase}.yml"


class Converge:
    """Follows one Ansible run: feeds the progress, measures the phases, collects what the results need."""

    def __init__(self, result: Result, progress: Progress, clock: Clock) -> None:
        self.result = result
        self.progress = progress
        self.clock = clock
        self.check = self.diff = False
        self.failed: dict[str, Failure] = {}
        self.failed_in: dict[str, Phase | None] = {}
        self.changed: dict[str, int] = {}
        self.broken: dict[str, HpcprovError] = {}  # why each host that did not come to the end failed
        self.errors: list[str] = []
        self.last_lines: list[str] = []

    def run(self, request: runner.Request) -> None:
        """Run to the end. Raises ConvergeError or HostsError for hosts that failed, KeyboardInterrupt for Ctrl-C."""
        self.check, self.diff = request.check, request.diff
        outcome = runner.run(
            request,
            on_event=self.event,
            on_output=self.output,
            on_tick=self.progress.tick,
            on_stop=lambda: self.progress.line("stopping Ansible; Ctrl-C again kills it"),
        )
        if outcome.stats is not None:
            self._count(outcome)
        if outcome.interrupted:
            self.clock.end(self._note(), status="interrupted")
            raise KeyboardInterrupt
        self._end_phase()
        broken = failures.real(self.failed.values(), outcome.stats)
        if broken:
            self._record(broken)
            self.broken = {failure.host: _as_error([failure]) for failure in broken}
            raise _as_error(broken)
        if outcome.return_code != 0 or not outcome.stats:
            raise self._without_hosts(outcome.return_code)

    def done_on(self, hosts: Sequence[str], *, despite_failures: bool) -> dict[str, set[str]]:
        """The hosts on which each phase of the run ended well: those that failed neither in it nor before it.

        A phase with failures counts only where the other hosts went on (`despite_failures`).
        """
        good = ("done", "failed") if despite_failures else ("done",)
        phases = [Phase(phase.name) for phase in self.result.phases if phase.status in good]
        order = list(Phase)
        failed = {host: order.index(self.failed_in.get(host) or Phase.VALIDATE) for host in self.failed}
        return {
            phase.value: {host for host in hosts if host not in failed or order.index(phase) < failed[host]}
            for phase in phases
            if phase.is_playbook
        }

    def output(self, line: str) -> None:
        """Ansible's own text."""
        self.last_lines = [*self.last_lines[-14:], line]
        self.progress.output(line)

    def event(self, event: Event) -> None:
        """One step of the run."""
        match event:
            case PlayStarted():
                self._play(event)
            case TaskStarted():
                self.progress.task_started(event.label)
            case TaskStartedOnHost():
                self.progress.host_started(event.host)
            case TaskEnded():
                self._task(event)
            case ErrorShown():
                self.errors.append(event.text)

    def _play(self, event: PlayStarted) -> None:
        known = event.phase in tuple(Phase)
        phase = Phase(event.phase) if known else self.clock.phase
        if phase is None:
            return
        if phase is not self.clock.phase:
            self._end_phase()
        # Only the job's files are Ansible's; its play also serves those who run the playbook alone.
        self.clock.begin(phase, "the job is made ready; it runs last" if phase is Phase.SMOKE else event.title)

    def _task(self, event: TaskEnded) -> None:
        self.progress.host_ended(event)
        if event.status in BROKEN and not event.ignored:
            failure = failures.from_event(event)
            self.failed[event.host] = failure
            self.failed_in[event.host] = self.clock.phase
            self.progress.line(f"{event.host}: {failure.reason}")
            return
        # A host that goes on after a failure was rescued by its role.
        self.failed.pop(event.host, None)
        if event.status is Status.CHANGED:
            self.changed[event.host] = self.changed.get(event.host, 0) + 1
            self._show_change(event)
        self._collect(event.host, event.result)

    def _show_change(self, event: TaskEnded) -> None:
        """What would change is told by name, what a diff shows in full. Ansible's own output has it with -v."""
        if self.progress.verbose:
            return
        lines = changes.diff_lines(event) if self.diff else []
        if self.check or lines:
            self.progress.line(changes.heading(event))
        for line in lines:
            self.progress.line(f"  {line}")

    def _collect(self, host: str, result: dict[str, Any]) -> None:
        """What roles hand to the results: services, notices, the kind of storage."""
        record = self.result.hosts.setdefault(host, HostResult())
        record.restarted += _names(result.get("restarted"))
        record.started += _names(result.get("started"))
        facts = result.get("ansible_facts") or {}
        for source in (result, facts if isinstance(facts, dict) else {}):
            for notice in _names(source.get("hpcprov_notice")):
                if notice not in self.result.notices:
                    self.result.notices.append(notice)
            if isinstance(versions := source.get("hpcprov_versions"), dict):
                self.result.versions.update({str(name): str(version) for name, version in versions.items()})
            if backend := source.get("nfs_backend"):
                self.result.nfs_backend = str(backend)

    def _end_phase(self) -> None:
        broken = any(phase is self.clock.phase for host, phase in self.failed_in.items() if host in self.failed)
        if self.clock.phase is Phase.SMOKE and not broken:
            self.clock.put_by()  # the job itself comes after verify
        else:
            self.clock.end(self._note(), status="failed" if broken else "done")
        self.changed = {}

    def _note(self) -> str:
        if not self.changed:
            return "nothing would change" if self.check else "nothing changed"
        word = "would change" if self.check else "changed"
        if len(self.changed) > 6:
            return f"{word} {sum(self.changed.values())} on {len(self.changed)} hosts"
        return f"{word}: " + ", ".join(f"{host} {count}" for host, count in sorted(self.changed.items()))

    def _count(self, outcome: runner.Outcome) -> None:
        for host, stats in (outcome.stats or {}).items():
            record = self.result.hosts.setdefault(host, HostResult())
            record.ok, record.changed = stats.ok, stats.changed
            record.failed, record.unreachable = stats.failed, stats.unreachable

    def _record(self, broken: Sequence[Failure]) -> None:
        for failure in broken:
            phase = self.failed_in.get(failure.host)
            self.result.failures.append(
                FailureResult(
                    phase=phase.value if phase else None,
                    host=failure.host,
                    role=failure.role or None,
                    task=failure.task,
                    reason=failure.reason,
                    journal=list(failure.journal),
                )
            )

    def _without_hosts(self, code: int) -> ConvergeError:
        """Ansible ended before it came to a task, or there was nobody to run one on."""
        if not self.errors and code == 0:
            return ConvergeError("Ansible ran no task on any host", why="no host of the site is in the plays' groups")
        reason = self.errors[0] if self.errors else f"Ansible ended with {code} and named no host"
        return ConvergeError(reason, journal=[line for line in self.last_lines if line.strip()])


def _as_error(broken: Sequence[Failure]) -> HpcprovError:
    """The first failure in words, the others as one line each."""
    groups = failures.grouped(broken)
    hosts, first = groups[0]
    others = [f"{_hosts(names)}: {failure.where}: {failure.reason}" for names, failure in groups[1:]]
    kind = HostsError if all(failure.unreachable for failure in broken) else ConvergeError
    return kind(first.reason, host=_hosts(hosts), why="\n".join([f"in {first.where}", *others]), journal=first.journal)


def _hosts(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more hosts"


def _names(value: Any) -> list[str]:
    """One string or a list of them, as role results have it."""
    if isinstance(value, str):
        return [value] if value else []
    return [str(item) for item in value] if isinstance(value, list) else []
