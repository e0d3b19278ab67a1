"""What is known to be wrong on a host, so that what follows from it names it and guesses nothing else."""

from __future__ import annotations

from typing import Any

from hpcprov.verify.cluster import Cluster, Probe

MAX_OFFSET = 1.0  # seconds; munge and logs suffer beyond
MUNGE_OFFSET = 300.0  # seconds; munge refuses credentials that are older
LOCAL = ("slurm.conf", "cgroup.conf", "gres.conf")


def offset(probe: Probe) -> float:
    """Seconds that the host's clock is ahead for certain, negative when behind, 0 within what cannot be told."""
    low, high = probe.clock_bounds
    return low if low > 0 else min(high, 0.0)


def stopped(probe: Probe | None, unit: str) -> str | None:
    """A daemon that should run on a host does not."""
    state: dict[str, Any] = ((probe.get("services") if probe else None) or {}).get(unit) or {}
    if not probe or not state or state["active"] == "active" or state["load"] not in ("loaded", "masked"):
        return None
    return f"{unit} does not run on {probe.host.name}"


def bad_key(probe: Probe) -> str | None:
    """Owner and mode of a munge key that munged refuses to start with."""
    key = probe.get("munge_key") or {}
    if "mode" not in key:
        return None
    found = f"{key['owner']}:{key['group']} {key['mode']}"
    return None if found in ("munge:munge 0400", "munge:munge 0600") else f"{found} on {key['path']}"


def of_munge(cluster: Cluster, name: str | None) -> str | None:
    """Why credentials to and from this host are refused."""
    probe = cluster.probes.get(name or "")
    if probe is None or probe.error:
        return None
    mine = (probe.get("munge_key") or {}).get("digest")
    reference = cluster.known("munge_key")
    theirs = reference.get("munge_key").get("digest") if reference else None
    if stopped(probe, "munge"):
        return stopped(probe, "munge")
    if reference and mine and theirs and mine != theirs:
        return f"the munge key of {name} is not that of {reference.host.name}"
    if abs(offset(probe)) > MUNGE_OFFSET:
        return f"the clock of {name} is wrong by {abs(offset(probe)):.0f} s"
    return None


def local_file(cluster: Cluster, name: str | None) -> str | None:
    """A file of Slurm on this host that its programs read in place of the controller's."""
    probe = cluster.probes.get(name or "")
    found = (probe.get("configuration") if probe else None) or {}
    if not probe or "local" not in found:
        return None
    for place, path in found["variable"].items():
        if path.rstrip("/") != f"{cluster.conf_dir(probe.host)}/slurm.conf":
            return f"{place} on {name} sets SLURM_CONF={path}"
    for file in LOCAL:
        mine, theirs = found["local"][file], cluster.files.get(file)
        if mine and theirs and mine != theirs:
            return f"a stale local {cluster.conf_dir(probe.host)}/{file} on {name}, it is not the controller's"
    return None


def of_controller(cluster: Cluster) -> str | None:
    """Why nobody reaches slurmctld."""
    name = cluster.controller
    if name in cluster.unreachable:
        return f"the controller {name} does not answer"
    return stopped(cluster.probes.get(name or ""), "slurmctld") or of_munge(cluster, name)


def unread(cluster: Cluster) -> str | None:
    """Why nodes have another slurm.conf than lies on the controller's disk."""
    if str(cluster.config.get("HASH_VAL", "Match")).startswith("Match"):
        return None
    return f"slurmctld on {cluster.controller} was not told of the changed slurm.conf"


def of_client(cluster: Cluster, name: str | None) -> str | None:
    """Why Slurm's commands fail on this host."""
    return of_controller(cluster) or local_file(cluster, name) or of_munge(cluster, name)


def of_node(cluster: Cluster, name: str) -> str | None:
    """Why no job runs on this node."""
    probe = cluster.probes.get(name)
    if probe is None or probe.error:
        return None
    return of_munge(cluster, name) or stopped(probe, "slurmd") or local_file(cluster, name) or of_controller(cluster)


def of_accounting(cluster: Cluster) -> str | None:
    """Why nothing is written down."""
    for host in cluster.site.group("database"):
        probe = cluster.probes.get(host.name)
        for unit in ("mariadb", "slurmdbd"):
            if found := stopped(probe, unit):
                return found
        if found := of_munge(cluster, host.name):
            return found
    return of_controller(cluster)


def of_storage(cluster: Cluster, name: str) -> str | None:
    """A shared path that cannot be used on this host."""
    probe = cluster.probes.get(name)
    for path, answer in ((probe.get("shared") if probe else None) or {}).items():
        if isinstance(answer, dict) and answer.get("error"):
            return f"{path} cannot be used on {name}: {answer['error']}"
    return None
