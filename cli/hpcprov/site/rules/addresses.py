"""The cluster network and the addresses of hosts."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from hpcprov.errors import Finding
from hpcprov.site.model import CLUSTER_GROUPS, Host, is_address
from hpcprov.site.rules.registry import Draft, rule
from hpcprov.site.templating import is_template

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def cluster_network_of(draft: Draft) -> Network | None:
    """The cluster network when it is a good one."""
    text = draft.site.cluster_network
    try:
        return ipaddress.ip_network(text) if "/" in text else None
    except ValueError:
        return None


@rule("cluster-network")
def cluster_network(draft: Draft) -> Iterator[Finding]:
    """The network between the hosts: exports, MPI and the choice of interface depend on it."""
    text, place = draft.site.cluster_network, draft.site_place("cluster_network")
    if not text:
        yield place.finding("cluster-network", "cluster_network is not set", hint='for example "10.1.0.0/16"')
    elif "/" not in text:
        yield place.finding(
            "cluster-network", f'cluster_network "{text}" has no prefix length', hint=f'for example "{text}/24"'
        )
    elif cluster_network_of(draft) is None:
        message, hint = _network_problem(text)
        yield place.finding("cluster-network", message, hint=hint)


def _network_problem(text: str) -> tuple[str, str]:
    try:
        whole = ipaddress.ip_network(text, strict=False)
    except ValueError:
        return f'cluster_network "{text}" is no network', 'for example "10.1.0.0/16"'
    return f'cluster_network "{text}" is an address inside a network', f'write "{whole}"'


@rule("address-missing")
def address_missing(draft: Draft) -> Iterator[Finding]:
    """Every host of the cluster needs an address that the others can write into their hosts file."""
    for host in draft.site.cluster_hosts:
        if not host.cluster_address and not _address_problem("ansible_host", host.address, in_cluster=True):
            yield draft.host_place(host.name).finding(
                "address-missing",
                f"{host.name} has no address in the cluster",
                hint="set ansible_host to its address, or cluster_address where SSH takes another way",
            )


@rule("address")
def address_valid(draft: Draft) -> Iterator[Finding]:
    """An address that is none, that is a range, or that means every machine itself."""
    network = cluster_network_of(draft)
    # A cluster that lies on one machine alone says so by its network.
    alone = network is not None and network.is_loopback
    for host in draft.site.hosts.values():
        for name, value in _addresses(host):
            in_cluster = host.is_in(*CLUSTER_GROUPS) and not (alone and name == "ansible_host")
            problem = _address_problem(name, value, in_cluster=in_cluster)
            if problem:
                yield draft.place_of(host, name).finding("address", f"{name}: {problem[0]}", hint=problem[1])


def _addresses(host: Host) -> Iterator[tuple[str, str]]:
    for name in ("ansible_host", "cluster_address", "bmc_address"):
        value = host.vars.get(name)
        if name == "ansible_host" and host.cluster_address != str(value) and is_address(str(value)):
            continue  # only the way for SSH, perhaps a forwarded port of this machine
        if value not in (None, "") and not is_template(value):
            yield name, str(value)


def _address_problem(name: str, value: str, *, in_cluster: bool) -> tuple[str, str | None] | None:
    if "[" in value:
        hint = "give each host its own address; {{ inventory_hostname[-3:] | int }} can be part of it"
        return f'"{value}" is not expanded; every host would get this text', hint
    looks_numeric = value.replace(".", "").isdecimal() and value.count(".") >= 2
    if not is_address(value):
        if name == "cluster_address" or looks_numeric:
            return f'"{value}" is no IP address', "for example 10.1.0.11"
        return None
    address = ipaddress.ip_address(value)
    if in_cluster and (address.is_loopback or address.is_unspecified):
        return f"{value} is every machine's own address; other hosts cannot reach it", None
    return None


@rule("address-outside")
def address_outside(draft: Draft) -> Iterator[Finding]:
    """The cluster address lies in the cluster network, and is neither its first nor its last."""
    network = cluster_network_of(draft)
    for host in draft.site.cluster_hosts if network else ():
        if network is None or not is_address(host.cluster_address):
            continue
        address = ipaddress.ip_address(host.cluster_address)
        name = "cluster_address" if "cluster_address" in host.vars else "ansible_host"
        problem = _outside_problem(address, network)
        if problem:
            hint = None
            if name == "ansible_host" and address not in network:
                hint = "set cluster_address to the host's address in the cluster network"
            yield draft.place_of(host, name).finding("address-outside", f"{host.name}: {address} {problem}", hint=hint)


def _outside_problem(address: ipaddress.IPv4Address | ipaddress.IPv6Address, network: Network) -> str | None:
    if address.is_loopback:
        return None  # said by the rule for addresses
    if address not in network:
        return f"is not in cluster_network {network}"
    if network.version == 4 and network.prefixlen < 31 and address in (network[0], network[-1]):
        return f"is {'the network itself' if address == network[0] else 'its broadcast address'} ({network})"
    return None


@rule("address-twice")
def address_twice(draft: Draft) -> Iterator[Finding]:
    """Two hosts with one address; slurmctld would accept it without a word."""
    yield from _twice(draft, "cluster_address", {h.name: h.cluster_address for h in draft.site.cluster_hosts})
    reached = {
        host.name: f"{host.address} port {host.port or 22}"
        for host in draft.site.cluster_hosts
        if "ansible_host" in host.vars and host.address != host.cluster_address
    }
    yield from _twice(draft, "ansible_host", reached)
    yield from _twice(
        draft, "bmc_address", {h.name: str(h.vars.get("bmc_address") or "") for h in draft.site.hosts.values()}
    )


def _twice(draft: Draft, variable: str, values: dict[str, str]) -> Iterator[Finding]:
    owners: dict[str, str] = {}
    for name, value in values.items():
        if not value or is_template(value) or "[" in value:
            continue
        key = str(ipaddress.ip_address(value)) if is_address(value) else value
        first = owners.setdefault(key, name)
        if first == name:
            continue
        host = draft.site.hosts[name]
        place = draft.place_of(host, variable if variable in host.vars else "ansible_host")
        line = draft.host_place(first).line
        yield place.finding("address-twice", f"{name} and {first} (line {line}) both have {value}")
