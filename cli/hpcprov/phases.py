"""The phases of a deploy, in their order, and which of them a run takes."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from hpcprov.errors import UsageError


class Phase(StrEnum):
    """One step of a deploy. The value is what the admin types and what stands in the results."""

    VALIDATE = "validate"
    LAB = "lab"
    PREFLIGHT = "preflight"
    BASE = "base"
    STORAGE = "storage"
    ACCOUNTING = "accounting"
    SCHEDULER = "scheduler"
    MPI = "mpi"
    FRAMEWORKS = "frameworks"
    VERIFY = "verify"
    SMOKE = "smoke"

    @property
    def is_playbook(self) -> bool:
        """Whether Ansible has a part in it. Smoke has: its job must be put in place first."""
        return self in PLAYBOOKS


# Always done: what comes later needs the parsed site, running hosts and a checked way to them.
PREPARATION = (Phase.VALIDATE, Phase.LAB, Phase.PREFLIGHT)
PROOF = (Phase.VERIFY, Phase.SMOKE)
PLAYBOOKS = tuple(phase for phase in Phase if phase not in (*PREPARATION, Phase.VERIFY))
ORDER = tuple(Phase)


def parse(name: str, option: str) -> Phase:
    """The phase called `name`, which the admin gave with `option`."""
    try:
        return Phase(name)
    except ValueError:
        raise UsageError(f"{option}: there is no phase {name!r}", hint="phases are " + ", ".join(ORDER)) from None


def choose(*, first: str | None, last: str | None, skip: Sequence[Phase] = ()) -> tuple[Phase, ...]:
    """The phases from `first` to `last` without `skip`; preparation is never skipped."""
    start = ORDER.index(parse(first, "--from")) if first else 0
    end = ORDER.index(parse(last, "--to")) if last else len(ORDER) - 1
    if start > end:
        raise UsageError(f"--from {first} comes after --to {last}", hint="phases are " + ", ".join(ORDER))
    return tuple(
        phase
        for number, phase in enumerate(ORDER)
        # "--to validate" stops before anything is touched
        if number <= end and phase not in skip and (number >= start or phase in PREPARATION)
    )
