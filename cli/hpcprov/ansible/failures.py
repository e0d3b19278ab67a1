"""Turn a failed task into what an admin needs: host, role, task, the reason in a sentence, the journal."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hpcprov.ansible.events import HostStats, Status, TaskEnded

JOURNAL_LINES = 20
NO_VAULT_PASSWORD = "no vault secrets found"
REASON_LENGTH = 400


@dataclass(frozen=True)
class Failure:
    """One task that failed on one host."""

    host: str
    role: str
    task: str
    path: str
    reason: str
    journal: tuple[str, ...] = ()
    unreachable: bool = False

    @property
    def where(self) -> str:
        """Role, task and the file that holds it."""
        role = f"role {self.role}, " if self.role else ""
        path = f" ({self.path})" if self.path else ""
        return f'{role}task "{self.task}"{path}'


def from_event(event: TaskEnded) -> Failure:
    """The failure that a task event describes."""
    result = _failed_item(event.result)
    unreachable = event.status is Status.UNREACHABLE
    return Failure(
        host=event.host,
        role=event.role,
        task=event.task,
        path=event.path,
        reason=_unreachable(result) if unreachable else reason(result),
        journal=_journal(result),
        unreachable=unreachable,
    )


def real(failures: Iterable[Failure], stats: dict[str, HostStats] | None) -> list[Failure]:
    """The failures that ended the run for a host: a rescued one is followed by others, or by success.

    Without stats (the run was interrupted) all of them.
    """
    last: dict[str, Failure] = {}
    for failure in failures:
        counts = (stats or {}).get(failure.host)
        if stats is None or (counts and (counts.failed or counts.unreachable)):
            last[failure.host] = failure
    return list(last.values())


def grouped(failures: Iterable[Failure]) -> list[tuple[list[str], Failure]]:
    """Hosts that failed at the same task for the same reason, told once."""
    groups: dict[tuple[str, str, str], tuple[list[str], Failure]] = {}
    for failure in failures:
        text = failure.reason.replace(failure.host, "HOST")
        groups.setdefault((failure.role, failure.task, text), ([], failure))[0].append(failure.host)
    return list(groups.values())


def reason(result: dict[str, Any]) -> str:
    """Why a module failed, in a sentence."""
    if "censored" in result:
        return "the task handles a secret, so Ansible hides what it said; the journal of the host may say more"
    message = _one_line(_text(result.get("msg")))
    if NO_VAULT_PASSWORD in message:
        return (
            "a file that it needs is encrypted with ansible-vault and no password was given: "
            "name a file with the password in ANSIBLE_VAULT_PASSWORD_FILE"
        )
    if _is_command(result):
        return _short(_command(result))
    detail = _last_error_line(_text(result.get("stderr")) or _text(result.get("module_stderr")))
    if not message or _says_nothing(message):
        exception = _text(result.get("exception"))
        message = detail or _last_line(exception) or message or "the module gave no reason"
    elif detail and detail not in message:
        message = f"{message.rstrip('.')}: {detail}"
    if attempts := result.get("attempts"):
        message = f"{message.rstrip('.')} (after {attempts} attempts)"
    return _short(message)


def _is_command(result: dict[str, Any]) -> bool:
    return "cmd" in result and "rc" in result and bool(result.get("rc"))


def _command(result: dict[str, Any]) -> str:
    cmd = result["cmd"]
    words = " ".join(map(str, cmd)) if isinstance(cmd, list) else str(cmd)
    said = _last_error_line(_text(result.get("stderr"))) or _last_line(_text(result.get("stdout")))
    return f"`{_one_line(words)}` ended with {result['rc']}" + (f": {said}" if said else " and said nothing")


def _unreachable(result: dict[str, Any]) -> str:
    message = _text(result.get("msg"))
    lines = [line.strip() for line in message.splitlines() if line.strip() and "Warning: Permanently" not in line]
    # What ssh itself said comes last, after Ansible's own words for it.
    text = re.sub(r"^.*(via ssh|over ssh|Task failed):\s*", "", lines[-1] if lines else "")
    return _short(f"cannot be reached over SSH: {text}" if text else "cannot be reached over SSH")


def _failed_item(result: dict[str, Any]) -> dict[str, Any]:
    """The first failed element of a loop; the result itself without a loop."""
    items = result.get("results")
    if isinstance(items, list):
        for item in items:
            if isinstance(item, dict) and (item.get("failed") or item.get("unreachable")):
                return item
    return result


def _journal(result: dict[str, Any]) -> tuple[str, ...]:
    journal = result.get("journal") or []
    lines = journal.splitlines() if isinstance(journal, str) else [str(line) for line in journal]
    return tuple(line.rstrip() for line in lines[-JOURNAL_LINES:])


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(map(str, value))
    return str(value) if value else ""


def _says_nothing(message: str) -> bool:
    return message.startswith(("MODULE FAILURE", "non-zero return code", "Module result deserialization failed"))


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _last_error_line(text: str) -> str:
    """apt, dpkg and most daemons put the cause on a line that says so; otherwise it is the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for line in lines:
        if re.match(r"(E:|error[: ]|fatal[: ]|\S+: (error|fatal):)", line, flags=re.I):
            return line
    return lines[-1] if lines else ""


def _short(text: str) -> str:
    return text if len(text) <= REASON_LENGTH else text[: REASON_LENGTH - 1].rstrip() + "…"
