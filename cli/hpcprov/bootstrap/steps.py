"""What the script said of its steps on a host."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hpcprov.preflight.facts import parse

_NEXT = {
    "root": "name a user who may (--user root), or give its password: --ask-password",
    "packages": "does the host reach its own repositories? a proxy belongs into its apt or dnf configuration",
    "login": "change that in sshd_config first, or name another --admin",
    "user": "",
    "disk": "look at dmesg there: a file system that fails becomes read-only",
    "sudo": "as root there: visudo -c, and sudo -l -U the admin",
}


@dataclass(frozen=True)
class Step:
    """`status` is ok, changed, failed or note."""

    status: str
    name: str
    words: str


@dataclass
class HostResult:
    """One host. `proved`: the admin's own login was tried, and sudo and Python worked; None: it could not be tried."""

    host: str
    steps: list[Step] = field(default_factory=list)
    error: str = ""
    hint: str = ""
    proved: bool | None = None

    @property
    def failed(self) -> bool:
        """Whether the host is not ready."""
        return bool(self.error)

    @property
    def changed(self) -> bool:
        return any(step.status == "changed" for step in self.steps)

    def as_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        steps = [{"status": step.status, "step": step.name, "message": step.words} for step in self.steps]
        outcome = "failed" if self.failed else "changed" if self.changed else "ok"
        return {"result": outcome, "steps": steps, "error": self.error, "fix": self.hint, "proved": self.proved}


def read_steps(host: str, text: str) -> HostResult:
    """The result of a host from the script's output."""
    facts = parse(text)
    result = HostResult(host)
    for line in facts.lines("steps"):
        status, _, rest = line.partition(" ")
        name, _, words = rest.partition(" ")
        if status in ("ok", "changed", "failed", "note"):
            result.steps.append(Step(status, name, words.strip()))
    failed = next((step for step in result.steps if step.status == "failed"), None)
    if failed is not None:
        result.error, result.hint = failed.words, _NEXT.get(failed.name, "")
        if failed.name == "root" and (said := " ".join(facts.lines("sudo")).strip()):
            result.error = f"{failed.words}: {said[:200]}"
    elif "end" not in facts.sections:
        last = (text.strip().splitlines() or ["no output"])[-1]
        result.error, result.hint = f"the work did not come to its end: {last[:200]}", "run it again"
    return result
