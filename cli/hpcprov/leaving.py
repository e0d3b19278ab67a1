"""Nodes that the running controller has and the site file has not. Their jobs must be over before anything changes.

Role slurmctld asks the same (module hpc_slurm_leaving) before it writes slurm.conf. This is for what comes earlier in a
deploy: the hosts file loses the name, and a lab its container.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

import paramiko

from hpcprov.errors import ConvergeError, HpcprovError
from hpcprov.remote.connection import Connection
from hpcprov.site import Site
from hpcprov.slurm import hostlist

REASON = "hpcprov: leaves the cluster"
# Each line KEY VALUE…; a controller without Slurm, or with a dead one, prints none.
PROBE = r"""
sinfo -a -N -h -o '%N' 2>/dev/null | sort -u | sed 's/^/node /'
squeue -a -h -t running,suspended -o '%A %N' 2>/dev/null | sed 's/^/job /'
"""


def empty_first(site: Site, *, change: bool = True) -> None:
    """Raise ConvergeError while jobs run on nodes that leave; they are drained then, unless `change` is false.

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
