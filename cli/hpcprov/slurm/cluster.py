"""The description of a cluster that all of Slurm's files are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hpcprov.slurm.cgroup import CgroupFacts
from hpcprov.slurm.keys import release_of
from hpcprov.slurm.nodes import Node
from hpcprov.slurm.partitions import Partition


@dataclass(frozen=True)
class Daemons:
    """Where the daemons keep what is theirs, as which user they run, where they listen."""

    user: str = "slurm"
    state_dir: str = "/var/lib/slurm/slurmctld"
    spool_dir: str = "/var/lib/slurm/slurmd"
    log_dir: str = "/var/log/slurm"
    slurmctld_port: int = 6817
    slurmdbd_port: int = 6819


@dataclass(frozen=True)
class Cluster:
    """A cluster. `controllers` are (short name, address) pairs, the first one is the primary."""

    name: str
    controllers: Sequence[tuple[str, str]]
    databases: Sequence[str]
    nodes: Sequence[Node]
    partitions: Sequence[Partition]
    version: str | None = None
    cgroups: Mapping[str, CgroupFacts] = field(default_factory=dict)
    pmix: bool = False
    nvml: frozenset[str] = frozenset()
    enforce_accounts: bool = False
    daemons: Daemons = field(default_factory=Daemons)
    config: Mapping[str, Any] = field(default_factory=dict)
    cgroup_config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def release(self) -> str:
        """The release of Slurm whose options may be written."""
        return release_of(self.version)


@dataclass(frozen=True)
class SlurmFiles:
    """The files of a cluster, and what the admin should be told about them.

    `at_start` and `at_start_by_node` are the parts that slurmd reads only when it starts, see `startup`.
    """

    slurm_conf: str
    cgroup_conf: str
    gres_conf: str
    at_start: str
    at_start_by_node: Mapping[str, str]
    nodes: list[str]
    partitions: list[str]
    notices: list[str]
