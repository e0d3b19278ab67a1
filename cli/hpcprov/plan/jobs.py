"""Which jobs a plan touches, and what becomes of them. Pure functions of its changes and the controller's words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hpcprov.plan.diff import Change
from hpcprov.plan.effects import Effect
from hpcprov.plan.live import Job, Live
from hpcprov.slurm.limits import minutes

# stop: nothing is changed while the job is there, see hpcprov.leaving.
Fate = Literal["ends", "may end", "stops the deploy", "waits longer"]


@dataclass(frozen=True)
class Touched:
    """Jobs with one fate for one reason."""

    fate: Fate
    jobs: tuple[str, ...]
    where: str
    why: str

    def as_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {"fate": self.fate, "jobs": list(self.jobs), "where": self.where, "why": self.why}


def in_words(ids: Sequence[str]) -> str:
    """`job 7`, `jobs 7, 8`, the first few of many."""
    shown = ", ".join(ids[:8]) + (f" and {len(ids) - 8} more" if len(ids) > 8 else "")
    return f"job {shown}" if len(ids) == 1 else f"jobs {shown}"


def touched(changes: Iterable[Change], live: Live | None, *, drop: bool) -> list[Touched]:
    """`drop` is slurm_drop_busy_nodes: jobs of nodes and partitions that leave are ended instead of waited for."""
    if live is None or not live.jobs:
        return []
    found = []
    for change in changes:
        jobs, fate, why = _of(change, live, drop=drop)
        if jobs:
            ids = sorted((job.id for job in jobs), key=lambda one: (len(one), one))
            found.append(Touched(fate, tuple(ids), _where(change), why))
    return found


def _of(change: Change, live: Live, *, drop: bool) -> tuple[Sequence[Job], Fate, str]:
    leaves: Fate = "ends" if drop else "stops the deploy"
    match change.part, change.action:
        case "nodes", "removed":
            return (
                [job for job in live.running if change.name in job.nodes],
                leaves,
                f"{change.name} leaves the cluster",
            )
        case "partitions", "removed":
            jobs = [job for job in live.jobs if change.name in job.partitions]
            return jobs, leaves, f"partition {change.name} goes, and pending jobs in it too"
        case "partitions", "changed":
            return _beyond(change, live), "waits longer", "asks for more than the new limit of the partition"
    if change.effect is Effect.EMPTY:
        return live.jobs, "ends", change.cost.why
    if change.effect is Effect.DRAINED:
        on_node = change.part == "nodes"
        jobs = [job for job in live.running if not on_node or change.name in job.nodes]
        return jobs, "ends" if _surely(change) else "may end", change.cost.why
    return [], "ends", ""


def _surely(change: Change) -> bool:
    """Whether any job ends there, not only one that uses what changes, which squeue does not tell for certain."""
    costly = {detail.key for detail in change.details if detail.cost.effect is Effect.DRAINED}
    return change.part not in ("exports", "mounts") and costly != {"Gres"}


def _beyond(change: Change, live: Live) -> list[Job]:
    """Pending jobs that a lower limit keeps from starting. Running ones go on: slurmctld looks at a job's start."""
    new = {detail.key: detail.new for detail in change.details}
    most_minutes = minutes(new.get("MaxTime")) if new.get("MaxTime") else None
    nodes = new.get("MaxNodes") or ""
    most_nodes = int(nodes) if nodes.isdecimal() else None
    return [
        job
        for job in live.jobs
        if job.waits
        and job.partitions == (change.name,)
        and (
            (most_minutes is not None and (minutes(job.limit) or 0) > most_minutes)
            or (most_nodes is not None and job.count > most_nodes)
        )
    ]


def _where(change: Change) -> str:
    return {"nodes": change.name, "partitions": f"partition {change.name}"}.get(
        change.part, f"{change.part} {change.name}"
    )
