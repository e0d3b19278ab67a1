"""What a site file says of a host, from its facts."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from hpcprov.discovery.cluster_network import Network
from hpcprov.discovery.connect import Target
from hpcprov.discovery.facts import HostFacts
from hpcprov.discovery.facts.model import Interface
from hpcprov.importers.addresses import mac
from hpcprov.site.model import is_address


def host_variables(name: str, target: Target, facts: HostFacts, network: Network | None) -> dict[str, Any]:
    """Address, MAC, management controller. `ansible_host` only where SSH does not go by the host's name."""
    variables: dict[str, Any] = {}
    asked = target.route.address
    inside = facts.address_in(network) if network else None
    address = inside[1] if inside else None
    # An address that is no interface's own (a forwarded port, a NAT) is only the way for SSH.
    if is_address(asked) and network and ipaddress.ip_address(asked) in network:
        address = asked
    if address and asked in (address, name):
        variables["ansible_host" if asked == address else "cluster_address"] = address
    else:
        variables["ansible_host"] = asked
        if address:
            variables["cluster_address"] = address
    interface = _interface(facts, address)
    if interface and interface.layer == "ethernet" and (written := mac(interface.mac)) and not facts.container:
        variables["cluster_mac"] = written
    if facts.bmc and facts.bmc.address:
        variables["bmc_address"] = facts.bmc.address
    return variables


def gres(facts: HostFacts) -> str | None:
    """`gpu:a100:4` for GPUs whose driver works; what the driver does not know yet would keep Slurm from the node."""
    counts: dict[str, int] = {}
    for gpu in facts.gpus:
        if gpu.ready and gpu.vendor == "nvidia":
            counts[gpu.type] = counts.get(gpu.type, 0) + 1
    items = [":".join(part for part in ("gpu", kind, str(count)) if part) for kind, count in counts.items()]
    return ",".join(items) or None


def remarks(facts: HostFacts) -> list[str]:
    """What an admin should know of a host, in words for a comment."""
    said = []
    silent = [gpu for gpu in facts.gpus if not gpu.ready]
    if silent:
        vendors = "/".join(sorted({gpu.vendor for gpu in silent}))
        said.append(f"{len(silent)} {vendors} GPU{'s' * (len(silent) > 1)} without a working driver")
    if facts.bmc and not facts.bmc.address:
        why = "its address needs ipmitool and root there" if not facts.bmc.mac else "it has no address"
        said.append(f"a management controller: {why}")
    return said


def same_gres(hosts: Mapping[str, HostFacts]) -> str | None:
    """What all hosts of a group have; None where they differ."""
    kinds = {gres(facts) for facts in hosts.values()}
    return kinds.pop() if len(kinds) == 1 else None


def _interface(facts: HostFacts, address: str | None) -> Interface | None:
    for interface in facts.interfaces:
        if address and any(str(ipaddress.ip_interface(text).ip) == address for text in interface.addresses):
            return interface
    return None
