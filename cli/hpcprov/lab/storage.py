"""Shared paths of the lab: real kernel NFS where the host has it, else volumes that the containers share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hpcprov.errors import LabError
from hpcprov.lab.host import HostFacts
from hpcprov.lab.podman import Podman, labels
from hpcprov.site import Host, Site


@dataclass(frozen=True)
class Mount:
    """A podman volume at a path of one node."""

    volume: str
    path: str


def uses_kernel_nfs(site: Site, facts: HostFacts) -> bool:
    """Will the nodes mount over NFS? Needs client and server in the kernel that all containers share."""
    backend = str(site.vars.get("nfs_backend", "auto"))
    if backend == "external" or not facts.kernel_offers("nfs"):
        return False
    return backend == "ganesha" or facts.kernel_offers("nfsd")


def mounts_of(site: Site, host: Host, *, kernel_nfs: bool) -> list[Mount]:
    """The volumes of one node.

    With kernel NFS only storage hosts get one, because the kernel cannot export a container's overlay file system.
    Without it every node gets the shared volume at its mount path, and storage hosts at the export path too.
    """
    shared = {path: volume_name(site, export) for path, export in _mount_paths(site).items()}
    exported = {path: volume_name(site, path) for path in _export_paths(site)} if host.is_in("storage") else {}
    wanted = exported if kernel_nfs else {**shared, **exported}
    return [Mount(volume, path) for path, volume in sorted(wanted.items())]


def volume_name(site: Site, path: str) -> str:
    """One volume for each exported path."""
    return f"hpcprov-{site.cluster_name}-{re.sub(r'[^A-Za-z0-9]+', '-', path).strip('-') or 'root'}"


def ensure(podman: Podman, mounts: list[Mount], marks: Mapping[str, str]) -> None:
    """Create the volumes before the nodes start side by side, or podman makes them twice."""
    for volume in sorted({mount.volume for mount in mounts}):
        if not podman.exists("volume", volume):
            podman.run("volume", "create", *labels(marks), volume)


def _export_paths(site: Site) -> list[str]:
    return [_path(item, "nfs_exports") for item in site.vars.get("nfs_exports") or []]


def _mount_paths(site: Site) -> dict[str, str]:
    """Mount path to exported path. A site without nfs_mounts mounts each export under its own path."""
    mounts = site.vars.get("nfs_mounts") or site.vars.get("nfs_exports") or []
    return {_path(item, "nfs_mounts"): str(item.get("export") or _path(item, "nfs_mounts")) for item in mounts}


def _path(item: Any, variable: str) -> str:
    path = str(item.get("path", "")) if isinstance(item, Mapping) else ""
    if not path.startswith("/") or path.rstrip("/") == "":
        raise LabError(f"{variable} needs an absolute path in each entry, not {item!r}")
    return path.rstrip("/")
