"""Nodes and partitions that the running controller has and the site file has not. Their jobs must be over first.

Role slurmctld asks the same (module hpc_slurm_leaving) before it writes slurm.conf. This is for what comes earlier in a
deploy: the hosts file loses the name, and a lab its container.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

import paramiko

from hpcprov.errors import ConvergeError, HpcprovError
from hpcprov.remote.connection import Connection
from hpcprov.site import Site
from hpcprov.slurm import hostlist
from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.partitions import partitions_of
from hpcprov.slurm.site import compute_groups

REASON = "hpcprov: leaves the cluster"
# Each line KEY VALUE…; a controller without Slurm, or with a dead one, prints none.
PROBE = r"""
sinfo -a -N -h -o '%N' 2>/dev/null | sort -u | sed 's/^/node /'
squeue -a -h -t running,suspended -o '%A %N' 2>/dev/null | sed 's/^/job /'
sinfo -a -h -o '%R' 2>/dev/null | sort -u | sed 's/^/partition /'
squeue -a -h -t pending,running,suspended -o '%A %P' 2>/dev/null | sed 's/^/queued /'
"""


def empty_first(site: Site, *, change: bool = True) -> None:
    """Raise ConvergeError while jobs run on nodes that leave, or are in a partition that does.

    Such nodes are drained then, unless `change` is false. Of a partition slurmctld ends pending jobs too.

    A controller that cannot be asked has nothing to lose by this; whether it must answer is for others to say.
    """
    controllers = site.group("controller")
    if not controllers or site.vars.get("slurm_drop_busy_nodes") is True:
        return
    try:
        with Connection(controllers[0], timeout=5.0) as connection:
            _, said, _ = connection.run(f"sh -c {shlex.quote(PROBE)}", timeout=30)
            jobs = jobs_of_leaving(said, {host.node_name for host in site.group("compute")})
            if jobs and change:
                words = ["scontrol", "update", f"nodename={hostlist.fold(jobs)}", "state=drain", f"reason={REASON}"]
                connection.run(connection.as_root(shlex.join(words)), timeout=30)
    except (HpcprovError, paramiko.SSHException, OSError, EOFError):
        return
    if jobs:
        raise _busy(jobs, controllers[0].name, drained=change)
    if queued := jobs_of_lost_partitions(said, _partitions(site)):
        raise _queued(queued, controllers[0].name)


def _partitions(site: Site) -> list[str]:
    """Names of the partitions that the site file has. What is wrong with them is told when slurm.conf is made."""
    compute = compute_groups(site.groups, site.children.get("compute", []))
    with suppress(SlurmConfigError):
        return [partition.name for partition in partitions_of(site.vars.get("slurm_partitions") or [], compute)]
    return []


def jobs_of_leaving(said: str, staying: Iterable[str]) -> dict[str, list[str]]:
    """Job ids by node that leaves and is busy, out of the probe's lines."""
    lines = [line.split() for line in said.splitlines()]
    leaving = {words[1] for words in lines if words[:1] == ["node"] and len(words) > 1} - set(staying)
    jobs: dict[str, list[str]] = {}
    for words in lines:
        if words[:1] == ["job"] and len(words) > 2 and leaving:
            for node in leaving & set(hostlist.expand(words[2])):
                jobs.setdefault(node, []).append(words[1])
    return dict(sorted(jobs.items()))


def jobs_of_lost_partitions(said: str, staying: Sequence[str]) -> dict[str, list[str]]:
    """Ids of pending and running jobs by partition that leaves, out of the probe's lines; none if none is to stay."""
    lines = [line.split() for line in said.splitlines()]
    leaving = {words[1] for words in lines if words[:1] == ["partition"] and len(words) > 1} - set(staying)
    jobs: dict[str, list[str]] = {}
    for words in lines:
        if words[:1] == ["queued"] and len(words) > 2 and staying:
            for partition in leaving & set(words[2].split(",")):
                jobs.setdefault(partition, []).append(words[1])
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
