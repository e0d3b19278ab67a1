"""Can the roles write where they must?"""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.preflight.findings import Finding, Level
from hpcprov.preflight.look import Look
from hpcprov.preflight.rules.registry import rule


@rule("read-only")
def read_only(look: Look) -> Iterator[Finding]:
    """A disk with errors is remounted read-only by the kernel, and the first role that writes fails."""
    for host, facts in look.hosts:
        if not facts.privileged:
            continue
        closed: dict[str, list[str]] = {}
        for directory, writable in facts.writable.items():
            if not writable:
                closed.setdefault(facts.mount_of(directory), []).append(directory)
        for mount, directories in closed.items():
            options = facts.mounts.get(mount, "").split(",")
            listed = ", ".join(directories)
            if "ro" not in options:
                yield Finding(
                    host.name,
                    "read-only",
                    Level.ERROR,
                    f"root cannot write in {listed}",
                    fix=f"there: lsattr -d {directories[0]}",
                )
                continue
            cause = f"{mount} is mounted read-only"
            if "errors=remount-ro" in options:
                cause += ", perhaps by the kernel because of errors of the disk"
            fix = f"there: dmesg | tail; when the disk is good: mount -o remount,rw {mount}"
            yield Finding(host.name, "read-only", Level.ERROR, f"root cannot write in {listed}", cause, fix)
