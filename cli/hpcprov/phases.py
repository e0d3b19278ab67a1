"""The phases of a deploy, in their order, and which of them a run takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from hpcprov.errors import UsageError


class Phase(StrEnum):
    """One step of a deploy. The value is what the admin types and what stands in the results."""

    VALIDATE = "validate"
    LAB = "lab"
    REACH = "reach"
    BASE = "base"
    STORAGE = "storage"
    ACCOUNTING = "accounting"
    SCHEDULER = "scheduler"
    MPI = "mpi"
    FRAMEWORKS = "frameworks"
    VERIFY = "verify"
    SMOKE = "smoke"


# Always done: what comes later needs the parsed site, running hosts and a checked way to them.
PREPARATION = (Phase.VALIDATE, Phase.LAB, Phase.REACH)
ANSIBLE = (
    Phase.BASE,
    Phase.STORAGE,
    Phase.ACCOUNTING,
    Phase.SCHEDULER,
    Phase.MPI,
    Phase.FRAMEWORKS,
)
PROOF = (Phase.VERIFY, Phase.SMOKE)
ORDER = tuple(Phase)


@dataclass(frozen=True)
class Plan:
    """The phases that a run takes, in order."""

    phases: tuple[Phase, ...]

    @property
    def ansible(self) -> tuple[Phase, ...]:
        """Those that are playbooks."""
        return tuple(phase for phase in self.phases if phase in ANSIBLE)

    def __contains__(self, phase: object) -> bool:
        return phase in self.phases


def parse(name: str, option: str) -> Phase:
    """The phase called `name`, which the admin gave with `option`."""
    try:
        return Phase(name)
    except ValueError:
        raise UsageError(f"{option}: there is no phase {name!r}", hint="phases are " + ", ".join(ORDER)) from None


def plan(*, first: str | None, last: str | None, skip: Sequence[Phase] = ()) -> Plan:
    """The phases from `first` to `last` without `skip`; preparation is never skipped."""
    start = parse(first, "--from") if first else ORDER[0]
    end = parse(last, "--to") if last else ORDER[-1]
    if ORDER.index(start) > ORDER.index(end):
        raise UsageError(f"--from {start} comes after --to {end}", hint="phases are " + ", ".join(ORDER))
    chosen = ORDER[ORDER.index(start) : ORDER.index(end) + 1]
    return Plan(
        tuple(
            phase
            for phase in ORDER
            if (phase in chosen and phase not in skip)
            # "--to validate" stops before anything is touched
            or (phase in PREPARATION and ORDER.index(phase) <= ORDER.index(end))
        )
    )
