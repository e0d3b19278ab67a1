"""What a site should look like, host by host: pure functions of the site file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hpcprov import nfs
from hpcprov.site import Host, Site
from hpcprov.slurm import hostlist

DEFAULT_SMOKE_USER = "hpcsmoke"
MUNGE_KEY = "/etc/munge/munge.key"
DEFAULT_SPOOL = "/var/lib/slurm/slurmd"
MUNGE_NEIGHBOURS = 8  # hosts whose credentials a host decodes beside the controller's
MUNGE_GROUPS = ("controller", "database", "login", "compute")
DAEMONS = {"controller": "slurmctld", "compute": "slurmd", "database": "slurmdbd", "login": "sinfo"}
# Name of the module that a framework's environment is loaded with, and of the Python package in it.
FRAMEWORKS = {"pytorch": "torch", "tensorflow": "tensorflow", "scikit-learn": "sklearn"}


def smoke_user(site: Site) -> str:
    """The ordinary user whose jobs prove the cluster."""
    given = site.vars.get("cluster_smoke_user")
    return str(given.get("name", DEFAULT_SMOKE_USER)) if isinstance(given, Mapping) else DEFAULT_SMOKE_USER


def controller(site: Site) -> str | None:
    """The first controller."""
    names = site.groups.get("controller", [])
    return names[0] if names else None


def submit_host(site: Site) -> str | None:
    """Where users submit jobs."""
    names = site.groups.get("login") or site.groups.get("controller") or []
    return names[0] if names else None


def fixed_users(site: Site) -> list[str]:
    """Users that need one uid everywhere."""
    ordinary = [str(user["name"]) for user in site.vars.get("cluster_users") or [] if "name" in user]
    return ["munge", str(site.vars.get("slurm_user", "slurm")), smoke_user(site), *ordinary]


def names(site: Site) -> dict[str, str]:
    """All names of all hosts with the address that they must resolve to everywhere."""
    found = {}
    for host in site.cluster_hosts:
        if host.cluster_address:
            for name in {host.node_name, f"{host.node_name}.{site.cluster_domain}", host.name}:
                found[name] = host.cluster_address
    return found


def units(host: Host) -> dict[str, list[str]]:
    """What the host should run: purpose to the unit's possible names (they differ by system)."""
    wanted = {}
    if host.is_in(*MUNGE_GROUPS):
        wanted["munge"] = ["munge"]
    if host.is_in("database"):
        wanted["database server"] = ["mariadb", "mysql", "mysqld"]
        wanted["slurmdbd"] = ["slurmdbd"]
    if host.is_in("controller"):
        wanted["slurmctld"] = ["slurmctld"]
    if host.is_in("compute"):
        wanted["slurmd"] = ["slurmd"]
    return wanted


def restart(host: Host, unit: str) -> str:
    """The command that brings a daemon back. After munged slurmd, or slurmctld trusts the node only some time later."""
    return f"systemctl restart {unit}" + (" slurmd" if unit == "munge" and host.is_in("compute") else "")


def time_units(host: Host) -> list[str]:
    """Any of these keeps the clock; none is asked for where the site looks after time itself."""
    if host.vars.get("base_manage_time", True) is False:
        return []
    return ["chrony", "chronyd", "systemd-timesyncd", "ntpsec", "ntp", "ntpd"]


def shares(site: Site, host: Host) -> nfs.Shares:
    """What the host serves and uses, by the same function that role storage is driven by."""
    everyone = {other.name: other.vars for other in site.hosts.values()}
    return nfs.shares(host.name, site.groups, everyone, str(host.vars.get("nfs_backend") or "auto"))


def writable_paths(site: Site, host: Host) -> list[str]:
    """Shared paths that the site does not make read-only itself."""
    return [mount.path for mount in shares(site, host).mounts if "ro" not in mount.options.split(",")]


def seed_hosts(site: Site) -> dict[str, str]:
    """For each shared path the host that leaves the token: who serves it, else the controller, else any with it."""
    first = controller(site)
    able: dict[str, list[tuple[bool, bool, str]]] = {}
    for host in site.cluster_hosts:
        for mount in shares(site, host).mounts:
            if mount.path in writable_paths(site, host):
                able.setdefault(mount.path, []).append((mount.server != host.name, host.name != first, host.name))
    return {path: min(hosts)[2] for path, hosts in able.items()}


def frameworks(host: Host) -> dict[str, tuple[str, str]]:
    """Framework to its module and package, on hosts where jobs use them."""
    wanted = host.vars.get("dl_frameworks", ["pytorch"])
    if not host.is_in("compute") or not isinstance(wanted, list):
        return {}
    return {str(name): (str(name), FRAMEWORKS[str(name)]) for name in wanted if str(name) in FRAMEWORKS}


def mounted_paths(site: Site, host: Host) -> list[str]:
    """Shared paths that the host mounts from another one."""
    return [mount.path for mount in shares(site, host).mounts if mount.server != host.name]


def conf_dir(host: Host) -> str:
    """Directory of Slurm's files."""
    return str(host.vars.get("slurm_conf_dir", "/etc/slurm"))


def spool(config: Mapping[str, Any], host: Host) -> str | None:
    """slurmd's directory on a compute node, hpcprov's default where the controller cannot be asked."""
    if not host.is_in("compute"):
        return None
    path = str(config.get("SlurmdSpoolDir") or DEFAULT_SPOOL)
    return path.replace("%n", host.node_name).replace("%h", host.node_name)


def local_paths(config: Mapping[str, Any], host: Host) -> list[str]:
    """Where daemons and jobs of this host write on its own disks."""
    state = [str(config["StateSaveLocation"])] if host.is_in("controller") and "StateSaveLocation" in config else []
    own_spool = spool(config, host)
    return ["/", "/tmp", "/var/log", *([own_spool] if own_spool else []), *state]


def devices(gres_conf: str, host: Host) -> list[str]:
    """Device files that gres.conf promises on a host. A line that cannot be read promises nothing."""
    found: list[str] = []
    for line in gres_conf.splitlines():
        pairs = {key.lower(): value for key, value in re.findall(r"(\w+)=(\S+)", line.split("#", 1)[0])}
        try:
            nodes = hostlist.expand(pairs["nodename"]) if "nodename" in pairs else [host.node_name]
            if "file" in pairs and host.node_name in nodes and host.is_in("compute"):
                found += hostlist.expand(pairs["file"])
        except hostlist.HostlistError:
            continue
    return found


def munge_pairs(names: list[str], controller: str | None) -> dict[str, list[str]]:
    """Reader to the makers of the credentials that it decodes in the last round.

    The controller reads all. Each other host reads the next MUNGE_NEIGHBOURS around a ring: everybody on a small site,
    and on a large one a chain of trust through all hosts in one round trip each.
    """
    others = [name for name in names if name != controller]
    pairs = {}
    for position, name in enumerate(others):
        ring = [*others[position + 1 :], *others[:position]]
        pairs[name] = ring[:MUNGE_NEIGHBOURS]
    return pairs


def slurm_paths(config: Mapping[str, Any], host: Host) -> dict[str, str]:
    """State directories of the host's daemons, by purpose, from the running controller's configuration."""
    found = {}
    if host.is_in("controller") and "StateSaveLocation" in config:
        found["StateSaveLocation"] = str(config["StateSaveLocation"])
    own_spool = spool(config, host)
    if own_spool and "SlurmdSpoolDir" in config:
        found["SlurmdSpoolDir"] = own_spool
    if host.is_in("database"):
        found["slurmdbd.conf"] = f"{conf_dir(host)}/slurmdbd.conf"
    return found


def mpi_type(site: Site) -> str:
    """How `srun` starts the site's MPI programs."""
    return "pmi2" if site.vars.get("mpi_implementation") == "mpich" else "pmix"


def mpi_networks(site: Site) -> list[str]:
    """Networks that MPI may talk over, CIDR."""
    given = site.vars.get("mpi_networks") or [site.vars.get("cluster_network")]
    return [str(network) for network in given if network and "{{" not in str(network)] or [
        str(site.vars["cluster_network"])
    ]


def daemon(host: Host) -> str | None:
    """The Slurm program whose version counts on this host."""
    return next((program for group, program in DAEMONS.items() if host.is_in(group)), None)
