"""What the hosts of a site need before roles work on them: pure functions of the site file.

Where the site says nothing, the defaults of the roles hold; a test keeps both equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hpcprov import nfs
from hpcprov.site import Host, Site
from hpcprov.slurm.site import daemons_of

SYSTEM_USERS: tuple[Mapping[str, Any], ...] = ({"name": "munge", "uid": 64031}, {"name": "slurm", "uid": 64030})
SMOKE_USER: Mapping[str, Any] = {"name": "hpcsmoke", "uid": 64100}
SLURMD_PORT = 6818
MYSQL_PORT = 3306
NFS_PORT = 2049
LOCK_TIMEOUT = 600
# Where programs get a port that they did not ask for: `srun`, MPI and Gloo talk on these.
ANY_PORT = 45678
DIRECTORIES = (
    "/", "/etc", "/usr", "/usr/local", "/var", "/var/cache", "/var/lib", "/var/log", "/var/spool", "/var/tmp",
    "/tmp", "/run",
)  # fmt: skip
# Programs that the roles start; a process of one of them is no stranger.
SLURMCTLD, SLURMD, SLURMDBD = ("slurmctld",), ("slurmd",), ("slurmdbd",)
MYSQL = ("mariadbd", "mysqld")
NFS = ("ganesha.nfsd", "")  # the kernel's server has no process


@dataclass(frozen=True)
class Account:
    """A user with a fixed id; `gid` is None where its group is another's."""

    name: str
    uid: int
    gid: int | None


@dataclass(frozen=True)
class Port:
    """A TCP port that a daemon of ours listens on. The hosts that connect to it, itself perhaps among them."""

    number: int
    purpose: str
    programs: tuple[str, ...]
    callers: tuple[str, ...] = ()


def switch(host: Host, name: str, default: bool) -> bool:
    """A yes or no of the site; templates count as the default."""
    value = host.vars.get(name, default)
    if isinstance(value, str) and value.strip().lower() in ("true", "yes", "on", "1", "false", "no", "off", "0"):
        return value.strip().lower() in ("true", "yes", "on", "1")
    return value if isinstance(value, bool) else default


def manages_hostname(host: Host) -> bool:
    """Whether the deploy sets the hostname."""
    return switch(host, "base_manage_hostname", True)


def manages_time(host: Host) -> bool:
    """Whether the deploy installs chrony."""
    return switch(host, "base_manage_time", True)


def lock_timeout(host: Host) -> int:
    """Seconds that role packages waits for another package manager."""
    return whole(host.vars.get("packages_lock_timeout")) or LOCK_TIMEOUT


def accounts(host: Host) -> list[Account]:
    """The users that role base makes."""
    system = host.vars.get("base_system_users")
    listed = [*(system if isinstance(system, list) else SYSTEM_USERS)]
    users = host.vars.get("cluster_users")
    listed += users if isinstance(users, list) else []
    smoke = host.vars.get("cluster_smoke_user")
    listed.append(smoke if isinstance(smoke, Mapping) else SMOKE_USER)
    return [account for entry in listed if isinstance(entry, Mapping) if (account := _account(entry))]


def site_names(site: Site) -> dict[str, str]:
    """Node names with the address that each must resolve to."""
    return {host.node_name: host.cluster_address for host in site.cluster_hosts if host.cluster_address}


def ports(site: Site, host: Host) -> list[Port]:
    """What listens on a host once it is deployed."""
    return list(_ports(site, host))


def _ports(site: Site, host: Host) -> Iterator[Port]:
    speaker = next(iter(site.group("controller")), host)
    config = {str(key).lower(): value for key, value in _mapping(speaker.vars.get("slurm_config")).items()}
    daemons = daemons_of(speaker.vars)
    if host.is_in("controller"):
        for number in _numbers(config.get("slurmctldport")) or [int(daemons.slurmctld_port)]:
            yield Port(number, "slurmctld", SLURMCTLD, site.names_in("controller", "compute", "login", "database"))
    if host.is_in("compute"):
        own = {str(key).lower(): value for key, value in _mapping(host.vars.get("slurm_node")).items()}
        for number in (_numbers(own.get("port")) or _numbers(config.get("slurmdport")) or [SLURMD_PORT])[:1]:
            yield Port(number, "slurmd", SLURMD, site.names_in("controller", "compute"))
    if host.is_in("database"):
        yield Port(int(daemons.slurmdbd_port), "slurmdbd", SLURMDBD, site.names_in("controller", "login"))
        if host.vars.get("slurm_dbd_storage_host", "localhost") in (
            "localhost",
            "127.0.0.1",
            host.node_name,
            host.name,
        ):
            settings = _mapping(host.vars.get("mariadb_config"))
            yield Port(whole(settings.get("port")) or MYSQL_PORT, "MariaDB", MYSQL)
    if clients := nfs_clients(site, host):
        yield Port(NFS_PORT, "NFS", NFS, clients)


def job_ports(site: Site, host: Host) -> Port | None:
    """Any port of a host where jobs and `srun` talk with the compute nodes."""
    if not host.is_in("compute", "login"):
        return None
    return Port(ANY_PORT, "jobs (srun, MPI and Gloo take any free port)", (), site.names_in("compute"))


def nfs_clients(site: Site, host: Host) -> tuple[str, ...]:
    """The hosts that mount from this one. An `external` site mounts from elsewhere; `auto` may come to that."""
    backend = str(host.vars.get("nfs_backend") or "auto")
    if not host.is_in("storage") or backend == "external":
        return ()
    everyone = {other.name: other.vars for other in site.hosts.values()}
    clients = []
    for other in site.cluster_hosts:
        try:
            mounts = nfs.shares(other.name, site.groups, everyone, "kernel" if backend == "auto" else backend).mounts
        except nfs.NfsError:  # said by `validate` and the role; not about this host's fitness
            continue
        if other.name != host.name and any(mount.server == host.name for mount in mounts):
            clients.append(other.name)
    return tuple(clients)


def _account(entry: Mapping[str, Any]) -> Account | None:
    name, uid = entry.get("name"), whole(entry.get("uid"))
    if not isinstance(name, str) or uid is None:
        return None
    gid = whole(entry.get("gid"))
    return Account(name, uid, None if entry.get("group") else uid if gid is None else gid)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def whole(value: object) -> int | None:
    """A whole number as YAML or a careful admin writes it; None for anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return int(value) if isinstance(value, str) and value.isdecimal() else None


def _numbers(value: object) -> list[int]:
    """A port or a range of ports such as 6820-6823."""
    first, dash, last = str(value or "").partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        return []
    return list(range(int(first), int(last or first) + 1))
