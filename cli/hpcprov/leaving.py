"""Nodes and partitions that the running controller has and the site file has not. Their jobs must be over first.

Role slurmctld asks the same (module hpc_slurm_leaving) before it writes slurm.conf. This is for what comes earlier in a
deploy: the hosts file loses the name, and a lab its container. `hpcprov.plan` says what the plan has to do with it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import paramiko

from hpcprov.errors import ConvergeError, HpcprovError
from hpcprov.plan.live import Live
from hpcprov.remote.connection import Connection
from hpcprov.site import Site
from hpcprov.slurm import hostlist
from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.partitions import partitions_of
from hpcprov.slurm.site import compute_groups

REASON = "hpcprov: leaves the cluster"


def empty_first(site: Site, live: Live | None, *, change: bool = True) -> None:
    """Raise ConvergeError while jobs run on nodes that leave, or are in a partition that does.

    Such nodes are drained then, unless `change` is false. Of a partition slurmctld ends pending jobs too.

    A controller that cannot be asked has nothing to lose by this; whether it must answer is for others to say.
    """
    if live is None or site.vars.get("slurm_drop_busy_nodes") is True:
        return
    if jobs := jobs_of_leaving(live, {host.node_name for host in site.group("compute")}):
        raise _busy(jobs, live.controller, drained=change and _drain(site, jobs))
    if queued := jobs_of_lost_partitions(live, _partitions(site)):
        raise _queued(queued, live.controller)


def _drain(site: Site, nodes: Iterable[str]) -> bool:
    """Whether they take no new jobs now."""
    words = ["scontrol", "update", f"nodename={hostlist.fold(nodes)}", "state=drain", f"reason={REASON}"]
    try:
        with Connection(site.group("controller")[0], timeout=5.0) as connection:
            status, _, _ = connection.run(connection.as_root(shlex.join(words)), timeout=30)
    except (HpcprovError, paramiko.SSHException, OSError, EOFError):
        return False
    return status == 0


def _partitions(site: Site) -> list[str]:
    """Names of the partitions that the site file has. What is wrong with them is told when slurm.conf is made."""
    compute = compute_groups(site.groups, site.children.get("compute", []))
    with suppress(SlurmConfigError):
        return [partition.name for partition in partitions_of(site.vars.get("slurm_partitions") or [], compute)]
    return []


def jobs_of_leaving(live: Live, staying: Iterable[str]) -> dict[str, list[str]]:
    """Ids of running jobs by node that leaves and is busy."""
    leaving = set(live.nodes) - set(staying)
    jobs: dict[str, list[str]] = {}
    for job in live.running:
        for node in leaving & job.nodes:
            jobs.setdefault(node, []).append(job.id)
    return dict(sorted(jobs.items()))


def jobs_of_lost_partitions(live: Live, staying: Sequence[str]) -> dict[str, list[str]]:
    """Ids of pending and running jobs by partition that leaves; none if none is to stay."""
    leaving = set(live.partitions) - set(staying) if staying else set()
    jobs: dict[str, list[str]] = {}
    for job in live.jobs:
        for partition in leaving & set(job.partitions):
            jobs.setdefault(partition, []).append(job.id)
    return dict(sorted(jobs.items()))


def _queued(jobs: Mapping[str, list[str]], controller: str) -> ConvergeError:
    names = ",".join(jobs)
    lines = [f"{partition}: job {_some(ids)}" for partition, ids in jobs.items()]
    return ConvergeError(
        f"jobs are in partition {names}, which the site file no longer has, and slurmctld would end them, "
        "pending ones too; nothing was changed",
        host=controller,
        why="\n".join(lines),
        hint=f"take no new ones: scontrol update partitionname={next(iter(jobs))} state=drain\n"
        f"deploy again when they are done: squeue -p {names}\n"
        "a pending one can move: scontrol update jobid=… partition=…\n"
        "or let them end: set slurm_drop_busy_nodes: true in the site file",
    )


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:8]) + (f" and {len(ids) - 8} more" if len(ids) > 8 else "")


def _busy(jobs: Mapping[str, list[str]], controller: str, *, drained: bool) -> ConvergeError:
    names = hostlist.fold(jobs)
    lines = [f"{node}: job {', '.join(ids)}" for node, ids in jobs.items()]
    more = [f"and {len(lines) - 8} more nodes"] if len(lines) > 8 else []
    return ConvergeError(
        f"jobs run on {names}, which the site file no longer has, and slurmctld would end them; nothing was changed"
        + (f", and {names} takes no new jobs now" if drained else ""),
        host=controller,
        why="\n".join([*lines[:8], *more]),
        hint=f"deploy again when they are done: squeue -w {names}\n"
        "or let them end: set slurm_drop_busy_nodes: true in the site file",
    )
