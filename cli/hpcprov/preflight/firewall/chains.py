"""Chains of rules, and the way of one packet through them.

What a rule tests may be beyond us (a set filled elsewhere, a mark, a rate). Then both ways are followed, and a packet
counts as closed out only where every way ends so: a firewall that we cannot read is never accused.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

MAX_STEPS = 20_000  # rules on all ways of one packet
MAX_DEPTH = 32


@dataclass(frozen=True)
class Packet:
    """The first packet of a TCP connection. `interface` is where it comes in, None when that is not known."""

    source: str
    target: str
    port: int
    interface: str | None = None

    @property
    def version(self) -> int:
        """4 or 6."""
        return _ip(self.source).version


@dataclass(frozen=True)
class Rule:
    """`tests` say True, False or None (who knows) about a packet; `verdict` is what follows when all say True.

    A verdict is accept, drop, reject, return, continue, unknown (perhaps any of these), `jump CHAIN` or `goto CHAIN`.
    """

    text: str
    verdict: str
    tests: tuple[Test, ...] = ()

    def matches(self, packet: Packet) -> bool | None:
        """All tests together."""
        answers = [test(packet) for test in self.tests]
        if False in answers:
            return False
        return None if None in answers else True


@dataclass(frozen=True)
class Test:
    """One condition, `kind` of a packet against `values`."""

    kind: str
    values: tuple[str, ...] = ()
    negated: bool = False

    def __call__(self, packet: Packet) -> bool | None:
        answer = self._plain(packet)
        return answer if answer is None or not self.negated else not answer

    def _plain(self, packet: Packet) -> bool | None:
        tells = TESTS.get(self.kind)
        return tells(packet, self.values) if tells else None


@dataclass
class Chain:
    """`policy` is set on base chains; `hook` is where the kernel enters, in the order of `priority`."""

    name: str
    hook: str | None = None
    priority: int = 0
    policy: str = "accept"
    rules: list[Rule] = field(default_factory=list)


@dataclass
class Ruleset:
    """One table: its chains by name. `label` is how an admin calls it, `versions` are those of IP that it sees."""

    label: str
    versions: tuple[int, ...] = (4, 6)
    chains: dict[str, Chain] = field(default_factory=dict)


# Stands for rules that are too many to be told.
UNREADABLE = Ruleset("unreadable", chains={"input": Chain("input", "input", rules=[Rule("too many rules", "unknown")])})


@dataclass(frozen=True)
class Outcome:
    """What closes a packet out: the table and chain, and the rule (or the policy)."""

    where: str
    rule: str


def outcome(tables: Iterable[Ruleset], packet: Packet, hook: str = "input") -> Outcome | None:
    """Why a packet certainly does not pass; None when it does, or may.

    Each base chain of a hook has its say, and a drop in any of them is final.
    """
    seeing = [table for table in tables if packet.version in table.versions]
    chains = [(table, chain) for table in seeing for chain in table.chains.values() if chain.hook == hook]
    for table, chain in sorted(chains, key=lambda pair: pair[1].priority):
        walk = _Walk(table.chains, packet)
        endings = walk.through(chain)
        if walk.lost:
            continue
        if endings and None not in endings:
            # The last one is what decides where rules before it may or may not match.
            return Outcome(f"{table.label}, chain {chain.name}", endings[-1] or f"policy {chain.policy}")
    return None


Likeness = tuple[bool | None, ...]


class Filter:
    """All packet filters of a host. Addresses that no rule tells apart are judged once."""

    def __init__(self, tables: Sequence[Ruleset]) -> None:
        self.tables = tables
        rules = [rule for table in tables for chain in table.chains.values() for rule in chain.rules]
        self._tests = {
            kind: tuple(dict.fromkeys(test for rule in rules for test in rule.tests if test.kind == kind))
            for kind in ("source", "target")
        }
        self._likeness: dict[tuple[str, str], Likeness] = {}
        self._known: dict[object, Outcome | None] = {}

    def likeness(self, kind: str, address: str) -> Likeness:
        """What all rules make of an address as the `source` or `target`; those alike end alike."""
        key = (kind, address)
        if key not in self._likeness:
            packet = Packet(address, address, 0)
            self._likeness[key] = (packet.version == 4, *(test(packet) for test in self._tests[kind]))
        return self._likeness[key]

    @property
    def active(self) -> bool:
        """Whether there is a rule or a policy at all; empty chains are left behind by tools that look."""
        chains = (chain for table in self.tables for chain in table.chains.values())
        return any(chain.rules or chain.policy != "accept" for chain in chains)

    def closes(self, packet: Packet, *hooks: str) -> Outcome | None:
        """The first outcome of these hooks."""
        ends = self.likeness("source", packet.source), self.likeness("target", packet.target)
        key = (hooks, packet.port, packet.interface, *ends)
        if key not in self._known:
            found = (outcome(self.tables, packet, hook) for hook in hooks)
            self._known[key] = next(filter(None, found), None)
        return self._known[key]


class _Walk:
    """All ways of a packet through a base chain. An ending is None (passes) or the text of the rule that closes."""

    def __init__(self, chains: Mapping[str, Chain], packet: Packet) -> None:
        self.chains = chains
        self.packet = packet
        self.steps = 0
        self.lost = False

    def through(self, base: Chain) -> list[str | None]:
        endings, falls_through = self._chain(base, depth=0)
        if falls_through:
            endings.append(None if base.policy == "accept" else "")
        return endings

    def _chain(self, chain: Chain, depth: int) -> tuple[list[str | None], bool]:
        """The endings inside, and whether the packet may come out at the end."""
        endings: list[str | None] = []
        comes_out = False
        for rule in chain.rules:
            self.steps += 1
            if self.steps > MAX_STEPS or depth > MAX_DEPTH:
                self.lost = True
                return [None], False
            answer = rule.matches(self.packet)
            if answer is False:
                continue
            inside, goes_on, returns = self._verdict(rule, depth)
            endings += inside
            comes_out |= returns
            if answer and not goes_on:
                return endings, comes_out
        return endings, True

    def _verdict(self, rule: Rule, depth: int) -> tuple[list[str | None], bool, bool]:
        """Endings, whether the next rule of this chain may be asked, whether the packet may leave this chain."""
        kind, _, name = rule.verdict.partition(" ")
        match kind:
            case "accept":
                return [None], False, False
            case "drop" | "reject":
                return [rule.text], False, False
            case "return":
                return [], False, True
            case "jump" | "goto" if name in self.chains:
                endings, comes_out = self._chain(self.chains[name], depth + 1)
                return (endings, comes_out, False) if kind == "jump" else (endings, False, comes_out)
            case "continue":
                return [], True, False
            case _:  # a verdict map, a queue, a target of a module
                return [None], True, False


@lru_cache(maxsize=65536)
def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(text)


@lru_cache(maxsize=4096)
def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(text, strict=False)


def _address_in(address: str, values: Sequence[str]) -> bool | None:
    found = _ip(address)
    unknown = False
    for value in values:
        first, dash, last = value.partition("-")
        try:
            if dash:
                low, high = _ip(first), _ip(last)
                if low.version == found.version and int(low) <= int(found) <= int(high):
                    return True
                continue
            network = _network(value)
        except ValueError:  # a name, or a set
            unknown = True
            continue
        if network.version == found.version and found in network:
            return True
    return None if unknown else False


def _port_in(port: int, values: Sequence[str]) -> bool | None:
    unknown = False
    for value in values:
        first, dash, last = value.replace(":", "-").partition("-")
        first, last = first or "0", last or ("65535" if dash else first)
        if not (first.isdecimal() and last.isdecimal()):
            unknown = True
        elif int(first) <= port <= int(last):
            return True
    return None if unknown else False


def _interface_in(name: str | None, values: Sequence[str]) -> bool | None:
    if name is None or any(value.startswith("@") for value in values):
        return None
    return any(name == value or (value[-1:] in "+*" and name.startswith(value[:-1])) for value in values)


# What the kinds of tests say about a packet and the values of a rule; kinds that are not here say nothing.
TESTS: Mapping[str, Callable[[Packet, Sequence[str]], bool | None]] = {
    "source": lambda packet, values: _address_in(packet.source, values),
    "target": lambda packet, values: _address_in(packet.target, values),
    "port": lambda packet, values: _port_in(packet.port, values),
    "protocol": lambda packet, values: not {"tcp", "6", "all"}.isdisjoint(values),
    "state": lambda packet, values: not {"new", "untracked"}.isdisjoint(value.lower() for value in values),
    "interface": lambda packet, values: _interface_in(packet.interface, values),
    "family": lambda packet, values: f"ipv{packet.version}" in values,
    "never": lambda packet, values: False,
}
