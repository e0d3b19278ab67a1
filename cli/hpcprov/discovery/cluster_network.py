"""Which network is the one between the hosts, guessed from the addresses that they have."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

from hpcprov.discovery.facts import HostFacts
from hpcprov.site.model import is_address

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_WIDEST = 8  # a network wider than this is no guess but an admission


@dataclass(frozen=True)
class NetworkGuess:
    """`network` is None where nothing fits. `reason` is for a comment, `others` are networks that hosts share, too."""

    network: Network | None
    reason: str
    others: tuple[str, ...] = ()


@dataclass
class _Candidate:
    hosts: set[str]
    speeds: list[int]
    ethernet: bool = True
    asked: int = 0


def guess_network(found: Mapping[str, HostFacts], asked: Mapping[str, str]) -> NetworkGuess:
    """`asked` has the address or name by which each host was reached.

    The network in which most hosts have an address of an interface of their own; among equals Ethernet before
    InfiniBand, then the fastest, then the one we came by. Where no network has all, the smallest one around their
    addresses: racks often have a network each.
    """
    candidates = _candidates(found, asked)
    if not candidates:
        return _around(found, asked, None)
    ranked = sorted(candidates.items(), key=lambda item: _rank(*item), reverse=True)
    best, chosen = ranked[0]
    if len(chosen.hosts) < len(found):
        return _around(found, asked, best)
    others = tuple(str(network) for network, one in ranked[1:] if len(one.hosts) > 1)
    speed = min(chosen.speeds, default=0)
    words = "every host has an address in it" if len(found) > 1 else "the host has its address in it"
    return NetworkGuess(best, words + (f", at {_speed(speed)} or more" if speed else ""), others)


def _candidates(found: Mapping[str, HostFacts], asked: Mapping[str, str]) -> dict[Network, _Candidate]:
    candidates: dict[Network, _Candidate] = {}
    for name, facts in found.items():
        for interface in facts.interfaces:
            for text in interface.addresses if interface.is_real else ():
                own = ipaddress.ip_interface(text)
                if own.network.num_addresses <= 2:
                    continue
                one = candidates.setdefault(own.network, _Candidate(set(), []))
                one.hosts.add(name)
                one.speeds.append(interface.speed or 0)
                one.ethernet = one.ethernet and interface.layer == "ethernet"
                one.asked += str(own.ip) == asked.get(name)
    return candidates


def _rank(network: Network, one: _Candidate) -> tuple[int, bool, bool, int, int, int]:
    return (
        len(one.hosts), network.version == 4, one.ethernet, min(one.speeds, default=0), one.asked, network.prefixlen
    )  # fmt: skip


def _around(found: Mapping[str, HostFacts], asked: Mapping[str, str], best: Network | None) -> NetworkGuess:
    """The smallest network around one address of each host, at least a /24."""
    addresses = [address for name, facts in found.items() if (address := _one_address(facts, asked.get(name), best))]
    v4 = [address for address in addresses if address.version == 4]
    if len(v4) < len(found) or not v4:
        return NetworkGuess(best, "some hosts have no address in it: set their cluster_address" if best else "")
    around = ipaddress.ip_network(f"{min(v4)}/24", strict=False)
    while not all(address in around for address in v4) and around.prefixlen > _WIDEST:
        around = around.supernet()
    if not all(address in around for address in v4):
        return NetworkGuess(best, "some hosts have no address in it: set their cluster_address" if best else "")
    return NetworkGuess(around, "the hosts share no network; this is the smallest around all of them")


def _one_address(
    facts: HostFacts, asked: str | None, best: Network | None
) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    if best is not None and (inside := facts.address_in(best)):
        return ipaddress.ip_address(inside[1])
    if asked and is_address(asked):
        return ipaddress.ip_address(asked)
    own = [ipaddress.ip_interface(text).ip for one in facts.interfaces if one.is_real for text in one.addresses]
    return min((address for address in own if address.version == 4), default=None, key=int)


def _speed(mbit: int) -> str:
    return f"{mbit // 1000} Gbit/s" if mbit >= 1000 else f"{mbit} Mbit/s"
