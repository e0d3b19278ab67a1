"""What this machine knows about a cluster that is still to be described: names, addresses, networks, key, user."""

from __future__ import annotations

import getpass
import ipaddress
import json
import shutil
import socket
import subprocess
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface

_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")
# One name takes a moment where a server answers; where none does, nobody should wait for all of them.
_PATIENCE_S = 3.0
_AT_ONCE = 64


@dataclass(frozen=True)
class Surroundings:
    """`interfaces` are this machine's own addresses with their networks, without loopback."""

    hostname: str
    domain: str | None
    user: str
    key: str | None
    interfaces: Sequence[Interface] = ()
    addresses: dict[str, str] = field(default_factory=dict)


def look(names: Iterable[str]) -> Surroundings:
    """Find out what can be found out. Names that nothing resolves have no address."""
    hostname, _, domain = socket.gethostname().partition(".")
    interfaces = _interfaces()
    addresses = _resolved([name for name in names if name != hostname])
    if hostname in names and interfaces:
        # The own name often means 127.0.1.1 here.
        addresses[hostname] = str(interfaces[0].ip)
    key = next((name for name in _KEYS if (Path.home() / ".ssh" / name).is_file()), None)
    return Surroundings(
        hostname=hostname,
        domain=domain or None,
        user=getpass.getuser(),
        key=f"~/.ssh/{key}" if key else None,
        interfaces=interfaces,
        addresses=addresses,
    )


def network_of(addresses: Iterable[str], interfaces: Iterable[Interface]) -> str | None:
    """The network that holds all addresses: one of this machine's own, else the smallest of the usual sizes."""
    known = [ipaddress.ip_address(address) for address in addresses]
    if not known or len({address.version for address in known}) > 1:
        return None
    for interface in interfaces:
        if all(address in interface.network for address in known):
            return str(interface.network)
    for size in (24, 16, 8) if known[0].version == 4 else (64, 48, 32):
        network = ipaddress.ip_network(f"{known[0]}/{size}", strict=False)
        if all(address in network for address in known):
            return str(network)
    return None


def _interfaces() -> list[Interface]:
    if shutil.which("ip") is None:
        return []
    done = subprocess.run(
        ["ip", "-json", "address", "show", "up"], capture_output=True, text=True, check=False, timeout=10
    )
    try:
        listed = json.loads(done.stdout)
    except ValueError:
        return []
    found = [
        ipaddress.ip_interface(f"{entry['local']}/{entry['prefixlen']}")
        for link in listed
        for entry in link.get("addr_info", [])
        if entry.get("scope") == "global"
    ]
    return sorted(found, key=lambda one: one.version)


def _resolved(names: Sequence[str]) -> dict[str, str]:
    pool = ThreadPoolExecutor(min(_AT_ONCE, len(names) or 1))
    asked = {pool.submit(_address_of, name): name for name in names}
    done, _ = wait(asked, timeout=_PATIENCE_S)
    pool.shutdown(wait=False, cancel_futures=True)
    found = {asked[future]: future.result() for future in done}
    return {name: address for name in names if (address := found.get(name))}


def _address_of(name: str) -> str | None:
    try:
        answers = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return None
    usable = [str(answer[4][0]) for answer in answers if not ipaddress.ip_address(answer[4][0]).is_loopback]
    return min(usable, key=lambda text: ":" in text, default=None)
