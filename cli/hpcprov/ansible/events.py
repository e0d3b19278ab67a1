"""What happens during an Ansible run, as types. Raw events are ansible-runner's dictionaries."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """How a task ended on a host."""

    OK = "ok"
    CHANGED = "changed"
    SKIPPED = "skipped"
    FAILED = "failed"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True)
class PlayStarted:
    """A play begins. Its name is `Phase | what it does`."""

    name: str

    @property
    def phase(self) -> str:
        """The part of the name before the bar."""
        return self.name.split("|", 1)[0].strip().lower().lower()

    @property
    def title(self) -> str:
        """The part of the name that is for people."""
        return self.name.split("|", 1)[-1].strip()


@dataclass(frozen=True)
class TaskStarted:
    """A task begins on all hosts of the play."""

    role: str
    task: str

    @property
    def label(self) -> str:
        """Role and task in one line."""
        return f"{self.role}: {self.task}" if self.role else self.task


@dataclass(frozen=True)
class TaskStartedOnHost:
    """A task begins on one host."""

    host: str


@dataclass(frozen=True)
class TaskEnded:
    """A task ended on one host."""

    host: str
    role: str
    task: str
    path: str
    status: Status
    ignored: bool = False
    result: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class HostStats:
    """Ansible's own count at the end of a run."""

    ok: int = 0
    changed: int = 0
    failed: int = 0
    unreachable: int = 0
    rescued: int = 0


@dataclass(frozen=True)
class RunEnded:
    """The recap."""

    hosts: dict[str, HostStats]


@dataclass(frozen=True)
class ErrorShown:
    """Ansible said something is wrong that belongs to no task, such as a playbook that cannot be read."""

    text: str


Event = PlayStarted | TaskStarted | TaskStartedOnHost | TaskEnded | RunEnded | ErrorShown

_ENDED = {
    "runner_on_ok": Status.OK,
    "runner_on_skipped": Status.SKIPPED,
    "runner_on_failed": Status.FAILED,
    "runner_on_async_failed": Status.FAILED,
    "runner_on_unreachable": Status.UNREACHABLE,
}


# Errors outside of tasks reach ansible-runner as plain output.
_ERROR_MARKS = ("[ERROR]:", "ERROR!")


def parse(raw: dict[str, Any]) -> Event | None:
    """The typed event, or None for one that says nothing to us."""
    kind = str(raw.get("event", ""))
    data: dict[str, Any] = raw.get("event_data") or {}
    event: Event | None = None
    if kind in _ENDED:
        event = _task_ended(_ENDED[kind], data)
    elif kind == "playbook_on_play_start":
        event = PlayStarted(str(data.get("name") or data.get("play") or ""))
    elif kind in ("playbook_on_task_start", "playbook_on_handler_task_start"):
        event = TaskStarted(_role(data), str(data.get("task") or ""))
    elif kind == "runner_on_start":
        event = TaskStartedOnHost(str(data.get("host") or ""))
    elif kind == "playbook_on_stats":
        event = RunEnded(_stats(data))
    elif (text := str(raw.get("stdout") or "").strip()).startswith(_ERROR_MARKS):
        event = ErrorShown(text.removeprefix("[ERROR]:").removeprefix("ERROR!").strip())
    return event


def _task_ended(status: Status, data: dict[str, Any]) -> TaskEnded:
    result: dict[str, Any] = data.get("res") or {}
    if status is Status.OK and result.get("changed"):
        status = Status.CHANGED
    return TaskEnded(
        host=str(data.get("host") or ""),
        role=_role(data),
        task=str(data.get("task") or ""),
        path=str(data.get("task_path") or ""),
        status=status,
        ignored=bool(data.get("ignore_errors")),
        result=result,
    )


def _role(data: dict[str, Any]) -> str:
    return str(data.get("role") or "")


def _stats(data: dict[str, Any]) -> dict[str, HostStats]:
    def count(key: str, host: str) -> int:
        return int((data.get(key) or {}).get(host, 0))

    hosts = sorted({*(data.get("processed") or {}), *(data.get("dark") or {})})
    return {
        host: HostStats(
            ok=count("ok", host),
            changed=count("changed", host),
            failed=count("failures", host),
            unreachable=count("dark", host),
            rescued=count("rescued", host),
        )
        for host in hosts
    }
