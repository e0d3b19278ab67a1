"""The lab's own bridge network, with the static addresses of the site."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, ip_network
from typing import Any

from hpcprov.errors import LabError
from hpcprov.lab.host import HostFacts
from hpcprov.lab.podman import Podman, labels

Network = IPv4Network


@dataclass(frozen=True)
class Plan:
    """Addresses of one lab network. `dynamic` is the range for containers without a static address."""

    name: str
    subnet: Network
    gateway: IPv4Address
    cache: IPv4Address
    dynamic: Network


def plan(name: str, subnet: str, addresses: Mapping[str, str]) -> Plan:
    """Place gateway, cache and dynamic range beside the hosts' static addresses. Raises LabError on a collision."""
    network = IPv4Network(subnet)
    if network.prefixlen > 28:
        raise LabError(f"cluster_network {subnet} is too small for a lab", hint="use a /28 or larger, such as a /24")
    taken = _static_addresses(network, addresses)
    free = (address for address in network.hosts() if address not in taken)
    gateway = next(free)
    # The upper eighth is left to podman, so that it never hands out an address of the site.
    ranges = [part for part in network.subnets(prefixlen_diff=3) if not any(address in part for address in taken)]
    if not ranges:
        raise LabError(
            f"the hosts' addresses are spread over all of {subnet}",
            hint="keep one eighth of cluster_network free of hosts: podman numbers its own containers there",
        )
    dynamic = ranges[-1]
    cache = next(address for address in reversed(list(network.hosts())) if address in dynamic)
    return Plan(name, network, gateway, cache, dynamic)


def _static_addresses(network: Network, addresses: Mapping[str, str]) -> dict[IPv4Address, str]:
    taken: dict[IPv4Address, str] = {}
    for host, text in addresses.items():
        try:
            address = IPv4Address(text)
        except ValueError:
            raise LabError(f"no address: {text!r}", host=host, hint="give ansible_host an IPv4 address") from None
        if address not in network or address in (network.network_address, network.broadcast_address):
            raise LabError(f"{address} is not a host address of cluster_network {network}", host=host)
        if address in taken:
            raise LabError(f"{address} belongs to {taken[address]} already", host=host)
        taken[address] = host
    return taken


def conflicts(wanted: Network, used: Iterable[tuple[str, str]]) -> list[str]:
    """What already uses addresses of `wanted`: (description, CIDR) pairs in, sentences out."""
    found = []
    for owner, cidr in used:
        other = ip_network(cidr, strict=False)
        if isinstance(other, IPv4Network) and other.prefixlen and other.overlaps(wanted):
            found.append(f"{owner} uses {other}")
    return found


def networks_in_use(podman: Podman, facts: HostFacts, own: str) -> list[tuple[str, str]]:
    """Subnets of podman's other networks, and of the host's interfaces that are not podman's bridges."""
    used, bridges = [], set()
    for network in podman.query("network", "ls", "--format", "json"):
        bridges.add(str(network.get("network_interface", "")))
        if network["name"] != own:
            used += [(f"podman network {network['name']}", s["subnet"]) for s in network.get("subnets") or []]
    used += [(f"interface {name}", cidr) for name, cidr in _host_routes(facts) if name not in bridges]
    return used


def _host_routes(facts: HostFacts) -> list[tuple[str, str]]:
    if not facts.has("ip"):
        return []
    output = subprocess.run(
        [facts.tools["ip"], "-json", "-4", "route", "show"], capture_output=True, text=True, check=False
    ).stdout
    routes: list[dict[str, Any]] = json.loads(output or "[]")
    return [(str(r.get("dev", "?")), str(r["dst"])) for r in routes if r.get("dst") not in {None, "default"}]


def ensure(podman: Podman, facts: HostFacts, wanted: Plan, marks: Mapping[str, str]) -> None:
    """Create the network, or keep the one that fits. One with another subnet and no container left is replaced."""
    if podman.exists("network", wanted.name):
        present = podman.query("network", "inspect", wanted.name)[0]
        if [s["subnet"] for s in present.get("subnets") or []] == [str(wanted.subnet)]:
            return
        if podman.try_run("network", "rm", wanted.name).returncode:
            raise LabError(
                f"network {wanted.name} exists with another subnet and is in use",
                hint="hpcprov lab down, then lab up again",
            )
    taken = conflicts(wanted.subnet, networks_in_use(podman, facts, wanted.name))
    if taken:
        raise LabError(
            f"cluster_network {wanted.subnet} is in use on this machine", why="; ".join(taken),
            hint="choose another cluster_network in the site file, or remove what uses it",
        )  # fmt: skip
    podman.run("network", "create", *create_arguments(wanted, facts, marks), wanted.name)


def create_arguments(wanted: Plan, facts: HostFacts, marks: Mapping[str, str]) -> list[str]:
    """Arguments of `podman network create`. Names come from the hosts file, as on a real cluster.

    podman's own name server is used only where the host's is one that a container cannot reach.
    """
    dns = [] if facts.loopback_resolver else ["--disable-dns"]
    return [
        "--driver=bridge", f"--subnet={wanted.subnet}", f"--gateway={wanted.gateway}", f"--ip-range={wanted.dynamic}",
        *dns, *labels(marks),
    ]  # fmt: skip
