"""The parts of a cluster: which phase puts each in place, and whose hosts it needs for that."""

from __future__ import annotations

from dataclasses import dataclass

from hpcprov.phases import Phase


@dataclass(frozen=True)
class Part:
    """A part is in place when its phase is done on all hosts of `group`; None means every host of the site."""

    phase: Phase
    group: str | None
    title: str


# In the order in which a plan tells them.
PARTS = {
    "hosts": Part(Phase.BASE, None, "Hosts"),
    "nodes": Part(Phase.SCHEDULER, "controller", "Nodes"),
    "partitions": Part(Phase.SCHEDULER, "controller", "Partitions"),
    "slurm.conf": Part(Phase.SCHEDULER, "controller", "slurm.conf"),
    "cgroup.conf": Part(Phase.SCHEDULER, "controller", "cgroup.conf"),
    "gres.conf": Part(Phase.SCHEDULER, "controller", "gres.conf"),
    "users": Part(Phase.BASE, None, "Users"),
    "packages": Part(Phase.BASE, None, "Packages"),
    "munge": Part(Phase.BASE, None, "Munge"),
    "exports": Part(Phase.STORAGE, "storage", "Exports"),
    "mounts": Part(Phase.STORAGE, None, "Mounts"),
    "accounts": Part(Phase.ACCOUNTING, "database", "Accounts"),
    "qos": Part(Phase.ACCOUNTING, "database", "QOS"),
    "database": Part(Phase.ACCOUNTING, "database", "Database"),
    "mpi": Part(Phase.MPI, None, "MPI"),
    "frameworks": Part(Phase.FRAMEWORKS, None, "Frameworks"),
}
# These are read out of Slurm's files, which are kept as they were written.
SLURM = ("nodes", "partitions", "slurm.conf", "cgroup.conf", "gres.conf")
