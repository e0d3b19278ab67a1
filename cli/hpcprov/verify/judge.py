"""Judgements of what hosts said: pure functions, each answer a text or None."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import Any

from hpcprov.slurm.hardware import parse_slurmd_c

# Slurm's releases in order. slurmdbd and slurmctld understand programs of the two before (slurm.schedmd.com, Upgrades).
RELEASES = ("20.02", "20.11", "21.08", "22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11")
APART = 2
UPGRADE_ORDER = "upgrade slurmdbd first, then slurmctld, then slurmd, then login hosts"
# A local disk with less than this cannot take a log, a job script or a socket.
MIN_FREE_MIB = 64
MIN_FREE_INODES = 500


def release(version: str) -> str:
    """`22.05` of `22.05.8`."""
    return ".".join(version.split(".")[:2])


def version_order(older: str, newer: str) -> str | None:
    """What is wrong with a program of version `older` that talks to one of `newer`, which must not be behind it."""
    low, high = release(older), release(newer)
    if _number(low) > _number(high):
        return f"{older} is newer than {newer}"
    if low in RELEASES and high in RELEASES and RELEASES.index(high) - RELEASES.index(low) > APART:
        return f"{older} is more than {APART} releases behind {newer}"
    return None


def _number(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))


def over_promised(promised: Mapping[str, Any], slurmd_c: str) -> list[str]:
    """What slurm.conf promises beyond what `slurmd -C` measured. Less than present is a choice, more never is.

    Raises ValueError when `slurmd -C` said nothing usable.
    """
    real = parse_slurmd_c(slurmd_c)
    pairs = {
        "CPUs": (promised["cpus"], real.cpus),
        "RealMemory": (promised["memory"], real.memory_mib),
        "cores (Sockets x CoresPerSocket)": (promised.get("cores", 0), max(real.cores, real.cpus)),
    }
    return [f"{name}={wanted}, {present} are there" for name, (wanted, present) in pairs.items() if wanted > present]


def full(disk: Mapping[str, Any]) -> str | None:
    """Why nothing can be written on a local file system."""
    if disk["read_only"]:
        return "read-only"
    if disk["free_mib"] < min(MIN_FREE_MIB, disk["size_mib"] // 20):
        return f"{disk['free_mib']} of {disk['size_mib']} MiB free"
    if disk["free_inodes"] is not None and disk["free_inodes"] < MIN_FREE_INODES:
        return f"{disk['free_inodes']} inodes free"
    return None


def outside(addresses: Iterable[str], networks: Iterable[str]) -> list[str]:
    """The addresses that lie in none of the networks."""
    allowed = [ipaddress.ip_network(network, strict=False) for network in networks]
    return sorted({a for a in addresses if not any(ipaddress.ip_address(a) in network for network in allowed)})


def names_controller(known_host: str, addresses: Iterable[str]) -> bool:
    """The controller that slurmdbd has is one of these names or addresses."""
    return known_host in addresses or known_host.split(".", maxsplit=1)[0] in addresses


def in_ports(port: str, configured: str) -> bool:
    """`port` is one of SlurmctldPort, a number or a range such as `6817-6820`."""
    first, _, last = configured.partition("-")
    return port.isdecimal() and int(first) <= int(port) <= int(last or first)
