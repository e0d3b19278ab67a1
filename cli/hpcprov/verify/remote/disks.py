"""A host's own disks, and the mounts that come back at boot."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hpcprov.verify.remote.host import command, read

NETWORK = ("nfs", "nfs4", "fuse", "lustre", "beegfs", "gpfs", "ceph", "autofs")


def mounts(text: str) -> dict[str, dict[str, str]]:
    """/proc/mounts by mount point; of several on one point the last one is seen."""
    found = {}
    for line in text.splitlines():
        source, at, kind, options = line.split()[:4]
        found[at.replace("\\040", " ")] = {"source": source, "type": kind, "options": options}
    return found


def mount_point(path: str, points: dict[str, dict[str, str]]) -> str:
    """The mount point that holds a path. Asked of the table: asking the file system could hang."""
    parents = [path, *(str(parent) for parent in Path(path).parents)]
    return next((parent for parent in parents if parent in points), "/")


def local(paths: list[str]) -> dict[str, dict[str, Any]]:
    """Room on the local file systems that hold these paths, by mount point. Network file systems are not touched."""
    points = mounts(read("/proc/mounts"))
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        at = mount_point(os.path.realpath(path), points)
        kind = points.get(at, {}).get("type", "")
        if kind.split(".")[0] in NETWORK or at in found:
            continue
        room = os.statvfs(at)
        found[at] = {
            "free_mib": room.f_bavail * room.f_frsize // 2**20,
            "size_mib": room.f_blocks * room.f_frsize // 2**20,
            "free_inodes": room.f_favail if room.f_files else None,
            "read_only": "ro" in points.get(at, {}).get("options", "").split(","),
        }
    return found


def fstab(text: str) -> dict[str, str]:
    """Mount point to options, of the lines of an fstab."""
    rows = (line.split() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    return {row[1].replace("\\040", " "): row[3] for row in rows if len(row) >= 4}


def boot_mounts(paths: list[str]) -> dict[str, dict[str, Any]]:
    """For each path how it is mounted now (None: not at all) and whether fstab or an enabled unit mounts it at boot."""
    points, table = mounts(read("/proc/mounts")), fstab(read("/etc/fstab"))
    automount = read("/etc/auto.master") + "".join(read(str(path)) for path in Path("/etc").glob("auto.*"))
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        by_automount = bool(re.search(rf"^{re.escape(path)}\s", automount, re.M))
        in_table = path in table and "noauto" not in table[path].replace("x-systemd.automount", "").split(",")
        by_unit = not in_table and unit_enabled(path)
        found[path] = {
            "now": points.get(path),
            "at_boot": in_table or by_unit or by_automount or "x-systemd.automount" in table.get(path, ""),
        }
    return found


def unit_enabled(path: str) -> bool:
    """A mount or automount unit of this path is enabled."""
    unit = command("systemd-escape", "--path", path)[1]
    states = command("systemctl", "is-enabled", f"{unit}.mount", f"{unit}.automount")[1].split()
    return bool(unit) and any(state in ("enabled", "enabled-runtime", "static") for state in states)
