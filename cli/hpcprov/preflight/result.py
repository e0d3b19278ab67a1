"""What preflight found out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hpcprov.preflight.facts import Facts, Python
from hpcprov.preflight.findings import Finding
from hpcprov.preflight.rules.python import MINIMUM


@dataclass(frozen=True)
class Reached:
    """What a host said about itself. `python` is the version that Ansible will use, empty where there is none."""

    host: str
    os: str
    python: str
    machine: str = ""
    glibc: str = ""
    has_gpu: bool = False


@dataclass(frozen=True)
class PreflightResult:
    """`reached` has every host that answered, also those that are unfit; `seconds` is how long it took."""

    asked: tuple[str, ...]
    reached: Mapping[str, Reached] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    seconds: float = 0.0

    @property
    def errors(self) -> list[Finding]:
        """What keeps a deploy from starting."""
        return [finding for finding in self.findings if finding.is_error]

    @property
    def warnings(self) -> list[Finding]:
        """What the deploy mends, or what is worth knowing."""
        return [finding for finding in self.findings if not finding.is_error]

    @property
    def dead(self) -> list[str]:
        """Hosts that do not answer."""
        return [finding.host for finding in self.findings if finding.is_dead]

    @property
    def unfit(self) -> list[str]:
        """Hosts with an error other than being dead, each once."""
        return list(dict.fromkeys(finding.host for finding in self.errors if not finding.is_dead))

    def as_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "asked": list(self.asked),
            "reached": list(self.reached),
            "seconds": self.seconds,
            "findings": [finding.as_dict() for finding in self.findings],
        }


def reached(host: str, facts: Facts) -> Reached:
    """The part of the facts that the rest of a deploy works with."""
    usable = [python for python in facts.pythons if python.release >= MINIMUM] or list(facts.pythons)
    first: Python | None = usable[0] if usable else None
    return Reached(
        host=host,
        os=facts.system.name,
        python=first.version if first else "",
        machine=facts.identity.get("machine", ""),
        glibc=facts.identity.get("libc", "").removeprefix("glibc").strip(),
        has_gpu=facts.identity.get("gpu") == "nvidia",
    )
