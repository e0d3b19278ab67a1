"""Ask a converged cluster what it is: versions and partitions, in one round trip."""

from __future__ import annotations

import shlex

import paramiko

from hpcprov.errors import HpcprovError
from hpcprov.remote.connection import Connection
from hpcprov.site import Site
from hpcprov.smoke import submit_host

# Each line KEY=VALUE; what is not there prints nothing.
PROBE = r"""
slurm=$(sinfo --version 2>/dev/null) && echo "version Slurm=${slurm#slurm-wlm }"
mpirun --version 2>/dev/null | sed -n 's/^mpirun (Open MPI) /version Open MPI=/p'
mpichversion 2>/dev/null | sed -n 's/^MPICH Version:[[:space:]]*/version MPICH=/p'
sinfo --noheader -o '%P|%D|%l|%N' 2>/dev/null | sed 's/^/partition /'
"""


def versions_and_partitions(site: Site) -> tuple[dict[str, str], list[str]]:
    """Versions by product, and a line for each partition. Empty when nobody answers: it is only a report."""
    try:
        with Connection(submit_host(site)) as connection:
            _, said, _ = connection.run(f"sh -c {shlex.quote(PROBE)}", timeout=30)
    except (HpcprovError, paramiko.SSHException, OSError, EOFError):
        return {}, []
    return parse(said)


def parse(said: str) -> tuple[dict[str, str], list[str]]:
    """The probe's output."""
    versions: dict[str, str] = {}
    partitions: list[str] = []
    for line in said.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "version" and "=" in rest:
            name, _, version = rest.partition("=")
            versions[name] = version.removeprefix("slurm ").strip()
        elif kind == "partition" and rest.count("|") == 3:
            partitions.append(_partition(*rest.split("|")))
    return versions, partitions


def _partition(name: str, count: str, limit: str, nodes: str) -> str:
    default = ", default" if name.endswith("*") else ""
    words = "node" if count == "1" else "nodes"
    return f"{name.rstrip('*')}: {count} {words} ({nodes}), time limit {limit}{default}"
