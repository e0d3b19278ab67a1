"""The plan of a deploy: from what is there to what the site file asks for. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hpcprov.plan.description import Description
from hpcprov.plan.diff import Change, diff, drift
from hpcprov.plan.effects import Effect
from hpcprov.plan.jobs import Touched, in_words, touched
from hpcprov.plan.live import Live
from hpcprov.plan.parts import PARTS, SLURM
from hpcprov.preflight.report import hostlist
from hpcprov.site import Site
from hpcprov.slurm import startup
from hpcprov.slurm.hostlist import HostlistError, expand

_MACHINE = {*startup.NODE_KEYS}
_AT_START = {*startup.OPTIONS}


@dataclass(frozen=True)
class Plan:
    """What a deploy would do. `losses` is what it asks about before it does it."""

    cluster: str
    first: bool = False
    since: str | None = None
    release: str = ""
    changes: tuple[Change, ...] = ()
    drift: tuple[Change, ...] = ()
    jobs: tuple[Touched, ...] = ()
    losses: tuple[str, ...] = ()
    restarts: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    live: Live | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing would change."""
        return not self.changes

    def as_dict(self) -> dict[str, Any]:
        """As `--json` prints it, see docs/plan.md."""
        live = self.live
        return {
            "cluster": self.cluster,
            "first_deploy": self.first,
            "deployed": self.since,
            "slurm": self.release,
            "controller": None
            if live is None
            else {
                "host": live.controller,
                "answers": live.answers,
                "running": len(live.running),
                "pending": len(live.jobs) - len(live.running),
            },
            "changes": [change.as_dict() for change in self.changes],
            "drift": [change.as_dict() for change in self.drift],
            "jobs": [entry.as_dict() for entry in self.jobs],
            "asks": list(self.losses),
            "restarts": self.restarts,
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Run:
    """Which part of a deploy is meant: its phases, and its hosts."""

    phases: Collection[str]
    hosts: Collection[str]

    def touches(self, part: str, site: Site) -> bool:
        """Whether the run comes to a host on which this part is put in place."""
        rule = PARTS[part]
        wanted = site.cluster_hosts if rule.group is None else site.group(rule.group)
        return rule.phase in self.phases and any(host.name in self.hosts for host in wanted)


def compare(site: Site, saved: Description | None, wanted: Description, live: Live | None, run: Run) -> Plan:
    """The plan of one run. `saved` is the last deploy, `live` the controller now; both may be missing."""
    there = base(saved, wanted, live)
    first = there.is_empty
    parts = [part for part in PARTS if run.touches(part, site) and (first or saved or part in SLURM)]
    changes = diff(there, wanted, parts)
    drop = site.vars.get("slurm_drop_busy_nodes") is True
    jobs = touched(changes, live, drop=drop)
    return Plan(
        cluster=site.cluster_name,
        first=first,
        since=saved.saved if saved else None,
        release=wanted.release,
        changes=tuple(changes),
        drift=tuple(drift(saved, there, changes)) if saved else (),
        jobs=tuple(jobs),
        losses=() if first else tuple(_losses(changes, jobs, live)),
        restarts={} if first else restarts(changes, site),
        notes=tuple(_notes(site, run, live, saved=saved, there=there, wanted=wanted)),
        live=live,
    )


def base(saved: Description | None, wanted: Description, live: Live | None) -> Description:
    """What is there: Slurm's files as the controller has them, else as they were deployed; the rest as deployed."""
    files = live.files if live and "slurm.conf" in live.files else saved.files if saved else {}
    parts = saved.parts if saved else {}
    release = saved.release if saved else wanted.release
    return Description(cluster=wanted.cluster, release=release, files=files, parts=parts)


def restarts(changes: Sequence[Change], site: Site) -> dict[str, str]:
    """Which of Slurm's daemons a deploy restarts, and where: more than Slurm needs, never a job's end."""
    found: dict[str, str] = {}
    munge = any(change.part == "munge" for change in changes)
    if munge or any(change.part in SLURM for change in changes):
        found["slurmctld"] = hostlist([host.name for host in site.group("controller")])
    everywhere = any(
        change.part == "cgroup.conf" or (change.part == "slurm.conf" and change.name in _AT_START) for change in changes
    )
    changed = {name for change in changes for name in _restarted_nodes(change)}
    compute = site.group("compute")
    restarted = [host.name for host in compute if munge or everywhere or host.node_name in changed]
    if restarted:
        found["slurmd"] = hostlist(restarted)
    return found


def _restarted_nodes(change: Change) -> list[str]:
    """The nodes whose slurmd reads something else when it starts; none for what is new."""
    if change.part == "nodes" and change.action == "changed":
        return [change.name] if any(detail.key in _MACHINE for detail in change.details) else []
    if change.part == "gres.conf" and (named := re.match(r"NodeName=(\S+)", change.name)):
        with suppress(HostlistError):
            return expand(named.group(1))
    return []


def _losses(changes: Sequence[Change], jobs: Sequence[Touched], live: Live | None) -> list[str]:
    fatal = [entry for entry in jobs if entry.fate in ("ends", "may end")]
    words = {"ends": "would end"}
    found = [
        f"{in_words(entry.jobs)} ({entry.where}) {words.get(entry.fate, entry.fate)}: {entry.why}" for entry in fatal
    ]
    silent = live is None or not live.answers
    for change in changes:
        told = any(entry.where.endswith(change.name) for entry in fatal)
        if change.effect is Effect.EMPTY and not told:
            found.append(f"{change.part} {change.name}: {change.cost.why}")
        elif change.effect is Effect.DRAINED and silent and change.action == "changed":
            found.append(
                f"{change.part} {change.name}: {change.cost.why}, and slurmctld does not answer, so nobody knows which"
            )
    return found


def _notes(
    site: Site, run: Run, live: Live | None, *, saved: Description | None, there: Description, wanted: Description
) -> list[str]:
    found = []
    if there.is_empty:
        found.append("first deploy: nothing is saved of an earlier one, and no controller answers with a slurm.conf")
    elif saved is None:
        found.append(
            "nothing is saved of an earlier deploy: only Slurm's files are compared, with those of "
            f"{live.controller if live else 'the controller'}"
        )
    elif live is None:
        found.append("the controller cannot be reached: compared with what was deployed, jobs are not known")
    elif not live.answers:
        found.append(f"slurmctld does not answer on {live.controller}: jobs are not known")
    if saved and live and saved.files and "slurm.conf" not in live.files:
        found.append(f"no slurm.conf can be read on {live.controller}: compared with the one that was deployed")
    if wanted.unmeasured:
        found.append(f"not measured yet, so without hardware here: {hostlist(list(wanted.unmeasured))}")
    if saved and saved.hpcprov != wanted.hpcprov:
        found.append(
            f"hpcprov {saved.hpcprov} deployed this, now it is {wanted.hpcprov}: packages and files of its roles may "
            "change too; hpcprov deploy --check --diff tells"
        )
    controllers = {host.name for host in site.group("controller")}
    if not controllers & set(run.hosts) and PARTS["slurm.conf"].phase in run.phases:
        found.append("no controller is part of the run: Slurm's files stay as they are")
    return found
