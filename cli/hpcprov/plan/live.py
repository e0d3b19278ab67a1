"""What the running controller says: its nodes, partitions, jobs and the files on its disk. One round trip."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field

import paramiko

from hpcprov.errors import HpcprovError
from hpcprov.plan.conf import without_secrets
from hpcprov.remote.connection import Connection
from hpcprov.site import Site
from hpcprov.slurm.hostlist import HostlistError, expand

FILES = ("slurm.conf", "cgroup.conf", "gres.conf")
# Each line KEY VALUE…; a controller without Slurm, or with a dead one, prints none of the first three.
PROBE = r"""
sinfo -a -N -h -o '%N' 2>/dev/null | sort -u | sed 's/^/node /'
sinfo -a -h -o '%R' 2>/dev/null | sort -u | sed 's/^/partition /'
squeue -a -h -t pending,running,suspended -o '%A|%T|%P|%l|%D|%N' 2>/dev/null | sed 's/^/job /'
for name in FILES; do
  [ -r "DIR/$name" ] && echo "has $name" && sed "s/^/$name /" "DIR/$name"
done
true
"""


@dataclass(frozen=True)
class Job:
    """A job that is not over. `nodes` is empty while it waits; `limit` is as squeue writes it."""

    id: str
    state: str
    partitions: tuple[str, ...] = ()
    limit: str = ""
    count: int = 0
    nodes: frozenset[str] = frozenset()

    @property
    def waits(self) -> bool:
        return self.state == "PENDING"


@dataclass(frozen=True)
class Live:
    """`answers` is whether slurmctld does; the files may be there without it."""

    controller: str
    nodes: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    jobs: tuple[Job, ...] = ()
    files: dict[str, str] = field(default_factory=dict)

    @property
    def answers(self) -> bool:
        return bool(self.nodes or self.partitions)

    @property
    def running(self) -> list[Job]:
        """Jobs that hold nodes, suspended ones too."""
        return [job for job in self.jobs if not job.waits]


def ask(site: Site) -> Live | None:
    """The controller's own words; None when there is no way to it, which is for others to say."""
    controllers = site.group("controller")
    if not controllers:
        return None
    folder = str(controllers[0].vars.get("slurm_conf_dir") or "/etc/slurm")
    probe = PROBE.replace("FILES", " ".join(FILES)).replace("DIR", folder)
    try:
        with Connection(controllers[0], timeout=5.0) as connection:
            _, said, _ = connection.run(f"sh -c {shlex.quote(probe)}", timeout=30)
    except (HpcprovError, paramiko.SSHException, OSError, EOFError):
        return None
    return parse(controllers[0].name, said)


def parse(controller: str, said: str) -> Live:
    """The probe's lines. Passwords in files become digests here, before anybody can keep or show them."""
    words: dict[str, list[str]] = {"node": [], "partition": [], "job": [], "has": []}
    texts: dict[str, list[str]] = {name: [] for name in FILES}
    for line in said.splitlines():
        kind, _, rest = line.partition(" ")
        if kind in texts:
            texts[kind].append(rest)
        elif kind in words and rest.strip():
            words[kind].append(rest.strip())
    return Live(
        controller,
        nodes=tuple(dict.fromkeys(words["node"])),
        partitions=tuple(dict.fromkeys(words["partition"])),
        jobs=tuple(_jobs(words["job"])),
        files={name: without_secrets("\n".join(texts[name]) + "\n") for name in words["has"] if name in texts},
    )


def _jobs(lines: Iterable[str]) -> Iterable[Job]:
    for line in lines:
        parts = line.split("|")
        if len(parts) != 6:
            continue
        number, state, partitions, limit, count, nodes = parts
        try:
            names = frozenset(expand(nodes)) if state != "PENDING" else frozenset()
        except HostlistError:
            names = frozenset()
        yield Job(number, state, tuple(partitions.split(",")), limit, int(count) if count.isdecimal() else 0, names)
