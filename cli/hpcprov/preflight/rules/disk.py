"""Is there room?"""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.preflight.facts import Room
from hpcprov.preflight.findings import Finding, Level
from hpcprov.preflight.look import Look
from hpcprov.preflight.rules.registry import rule

MIB = 1024  # in KiB
# With less than this daemons cannot write their state and package managers stop in the middle.
LEAST = 64 * MIB
SCARCE = 512 * MIB
# What the packages of a node take on the way and for good; MPI brings compilers.
FOR_PACKAGES = 1536 * MIB
PACKAGE_DIRECTORIES = ("/usr", "/var/cache", "/var/lib", "/")
LEAST_INODES, SCARCE_INODES, INODES_FOR_PACKAGES = 500, 5000, 40_000


@rule("disk")
def disk(look: Look) -> Iterator[Finding]:
    """A full disk fails in the middle of a package, and leaves it half-installed."""
    for host, facts in look.hosts:
        holds_packages = {facts.mount_of(directory) for directory in PACKAGE_DIRECTORIES}
        for room in facts.disk:
            installs = room.mount in holds_packages and not facts.has_slurm
            if level := _level(room, LEAST, SCARCE, FOR_PACKAGES if installs else 0):
                needed = FOR_PACKAGES if installs else SCARCE if level is Level.WARNING else LEAST
                wanted = f", needs {_mib(needed)}" if installs or needed < room.total else ""
                free = f"{_mib(room.free)} of {_mib(room.total)} free{wanted}"
                yield _finding(host.name, level, room, free, "du -xh --max-depth=3 {} | sort -h | tail -n 20")
        for room in facts.inodes:
            installs = room.mount in holds_packages and not facts.has_slurm
            if level := _level(room, LEAST_INODES, SCARCE_INODES, INODES_FOR_PACKAGES if installs else 0):
                free = f"{room.free} of {room.total} inodes free"
                yield _finding(host.name, level, room, free, "du -x --inodes --max-depth=3 {} | sort -n | tail -n 20")


def _level(room: Room, least: int, scarce: int, to_install: int) -> Level | None:
    """A file system that is small by nature (/run of a small node) counts as full when it nearly is."""
    if not room.total:  # it does not count
        return None
    full = min(least, room.total // 20)
    if room.free <= max(full, to_install):
        return Level.ERROR
    return Level.WARNING if room.free < min(scarce, room.total // 10) else None


def _finding(host: str, level: Level, room: Room, free: str, command: str) -> Finding:
    cause = "the file system is full" if level is Level.ERROR and not room.free else ""
    return Finding(host, "disk", level, f"{room.mount}: {free}", cause, f"there: {command.format(room.mount)}")


def _mib(kib: int) -> str:
    return f"{kib // MIB} MiB" if kib < 10 * 1024 * MIB else f"{kib // MIB // 1024} GiB"
