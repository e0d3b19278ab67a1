"""Network interfaces with their addresses, by sysfs and `ip`."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import replace

from hpcprov.discovery.facts.model import Interface
from hpcprov.site.model import is_address

# ARPHRD numbers of the kernel.
_LAYERS = {"1": "ethernet", "32": "infiniband", "772": "loopback"}
# Bridges, tunnels and cards that container engines and hypervisors make; sysfs calls most of them virtual already.
_OURS = re.compile(r"^(?:docker|virbr|br-|cni|flannel|cali|veth|vnet|tap|tun|ifb|podman|dummy|wg|kube)")
_ADDRESS = re.compile(r"\d+:\s+(\S+?)(?:@\S+)?\s+inet6?\s+(\S+)(?:\s+peer\s+\S+)?.*?\sscope\s+(\S+)")


def parse(
    links: Iterable[str], addresses: Iterable[str], bare: Iterable[str] = (), *, container: bool = False
) -> tuple[Interface, ...]:
    """`links` come from sysfs by the probe, `addresses` are `ip -o addr show`; `bare` is `hostname -I` where no ip is.

    In a container the pairs of veth are the way out, so they count there as real.
    """
    owned = _addresses(addresses)
    found = [_interface(line, owned, container=container) for line in links if "mac=" in line]
    if not owned and len(real := [one for one in found if one.is_real and one.up]) == 1:
        # Without `ip` nobody says whose the addresses are; with one interface that is no question.
        known = tuple(
            f"{word}/{'128' if ':' in word else '32'}" for line in bare for word in line.split() if is_address(word)
        )
        found[found.index(real[0])] = _with(real[0], known)
    return tuple(found)


def default_interface(route: Iterable[str]) -> str:
    """The interface of the default route with the lowest metric."""
    found = []
    for line in route:
        device, metric = re.search(r"\sdev\s+(\S+)", line), re.search(r"\smetric\s+(\d+)", line)
        if line.startswith("default") and device:
            found.append((int(metric.group(1)) if metric else 0, device.group(1)))
    return min(found)[1] if found else ""


def _addresses(lines: Iterable[str]) -> dict[str, list[str]]:
    """Global addresses by interface; link-local ones lead nowhere, and a management controller has such on USB."""
    owned: dict[str, list[str]] = {}
    for match in filter(None, map(_ADDRESS.match, lines)):
        name, text, scope = match.groups()
        if scope == "link" or not _usable(text):
            continue
        owned.setdefault(name, []).append(text if "/" in text else f"{text}/32")
    return owned


def _usable(text: str) -> bool:
    try:
        address = ipaddress.ip_interface(text).ip
    except ValueError:
        return False
    return not (address.is_loopback or address.is_link_local)


def _interface(line: str, owned: dict[str, list[str]], *, container: bool) -> Interface:
    name, _, rest = line.partition(" ")
    fields = dict(word.partition("=")[::2] for word in rest.split())
    kind = fields.get("kind", "")
    layer = _LAYERS.get(fields.get("type", ""), "other")
    if layer == "ethernet" and kind == "virtual" and container and not _OURS.match(name):
        kind = "physical"
    elif kind == "physical" and _OURS.match(name):
        kind = "virtual"
    speed, mtu = fields.get("speed", ""), fields.get("mtu", "")
    return Interface(
        name=name,
        mac=fields.get("permanent") or fields.get("mac", ""),
        kind=kind,
        layer=layer,
        up=fields.get("state") == "up",
        speed=int(speed) if speed.isdecimal() and 0 < int(speed) < 2**32 - 1 else None,
        mtu=int(mtu) if mtu.isdecimal() else None,
        addresses=tuple(owned.get(name, ())),
        master=fields.get("master", ""),
    )


def _with(interface: Interface, addresses: tuple[str, ...]) -> Interface:
    return replace(interface, addresses=addresses)
