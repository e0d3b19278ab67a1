"""dhcpd.conf and dhcpd.leases of ISC DHCP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hpcprov.importers.dhcp import network, reservation
from hpcprov.importers.draft import Draft
from hpcprov.importers.format import Format
from hpcprov.site.findings import Place

_SIGN = re.compile(r"^\s*(?:lease\s+[\d.]+\s*\{|subnet\s+[\d.]+\s+netmask\s|host\s+\S+\s*\{)", re.MULTILINE)
_TOKEN = re.compile(r"""\s*(?:(?P<comment>\#[^\n]*)|(?P<text>"[^"]*"|[^\s;{}"#]+)|(?P<mark>[;{}]))""")
# Statements inside a block that hold more hosts.
_BLOCKS = ("subnet", "group", "pool", "shared-network", "class", "if", "subnet6")


@dataclass
class Statement:
    """Words up to `;`, or up to the block that belongs to them."""

    words: list[str]
    place: Place
    inside: list[Statement] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.words[0].lower() if self.words else ""

    def argument(self, *words: str) -> str:
        """What the statement with these first words inside this one says."""
        for one in self.inside:
            if [word.lower() for word in one.words[: len(words)]] == list(words):
                return " ".join(one.words[len(words) :]).strip('"')
        return ""


def recognises(path: Path, text: str) -> bool:
    return bool(_SIGN.search(text))


def statements(text: str, path: Path) -> list[Statement]:
    """The statements of a file; an unfinished one at its end counts too."""
    stack: list[list[Statement]] = [[]]
    words: list[str] = []
    place = Place(path, 1, 1)
    position = 0
    while match := _TOKEN.match(text, position):
        position = match.end()
        if match.group("comment") is not None:
            continue
        start = match.start("text") if match.group("text") is not None else match.start("mark")
        if match.group("text") is not None:
            if not words:
                place = Place(path, text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start))
            words.append(match.group("text"))
            continue
        mark = match.group("mark")
        if mark == "{":
            block = Statement(words, place)
            stack[-1].append(block)
            stack.append(block.inside)
        else:
            if words:
                stack[-1].append(Statement(words, place))
            if mark == "}" and len(stack) > 1:
                stack.pop()
        words = []
    if words:
        stack[-1].append(Statement(words, place))
    return stack[0]


def read_into(draft: Draft, path: Path, text: str) -> None:
    """Reservations, then leases: the last lease of an address is the one that counts."""
    leases: dict[str, Statement] = {}
    for statement in _flat(statements(text, path)):
        if statement.name == "host":
            _host(draft, statement)
        elif statement.name == "lease" and statement.inside:
            address = statement.words[1] if len(statement.words) > 1 else ""
            before = leases.pop(address, None)
            if before is not None:
                parts = (address, before.argument("hardware", "ethernet"), before.argument("client-hostname"))
                result = f"line {statement.place.line} has a later one"
                draft.notes.changed(before.place, "lease", " ".join(parts).strip(), result)
            leases[address] = statement
        elif statement.name == "subnet" and len(statement.words) >= 4:
            network(draft, statement.place, f"{statement.words[1]}/{statement.words[3]}", "subnet")
        elif statement.words:
            _other(draft, statement)
    for address, statement in leases.items():
        _lease(draft, address, statement)


def _flat(found: list[Statement]) -> Iterator[Statement]:
    for statement in found:
        yield statement
        if statement.name in _BLOCKS:
            yield from _flat(statement.inside)


def _other(draft: Draft, statement: Statement) -> None:
    if statement.name in ("group", "pool", "shared-network", "class", "if"):
        draft.notes.mapped(statement.place, statement.name, None, "its statements are told by themselves")
    elif [word.lower() for word in statement.words[:2]] == ["option", "domain-name"] and len(statement.words) > 2:
        domain = statement.words[2].strip('"').lower()
        draft.domains.setdefault(domain, statement.place)
        draft.notes.mapped(statement.place, "domain-name", domain, "cluster_domain")
    else:
        value = " ".join(statement.words[1:])
        draft.notes.left(statement.place, statement.words[0], value, "a setting of the DHCP server")


def _host(draft: Draft, statement: Statement) -> None:
    name = statement.argument("option", "host-name") or (statement.words[1] if len(statement.words) > 1 else "")
    hardware, address = statement.argument("hardware", "ethernet"), statement.argument("fixed-address")
    # A fixed address may be a name.
    reservation(draft, statement.place, name.strip('"'), hardware, address.split(",")[0].strip())
    _tell_rest(draft, statement, ("hardware", "fixed-address"), ("host-name",))


def _lease(draft: Draft, address: str, statement: Statement) -> None:
    name = statement.argument("client-hostname")
    reservation(draft, statement.place, name, statement.argument("hardware", "ethernet"), address, lease=True)
    _tell_rest(draft, statement, ("hardware", "client-hostname"), ())


def _tell_rest(draft: Draft, statement: Statement, names: tuple[str, ...], options: tuple[str, ...]) -> None:
    for one in statement.inside:
        used = one.name in names or (one.name == "option" and len(one.words) > 1 and one.words[1] in options)
        if not used:
            key = one.words[0] if one.words else "{"
            draft.notes.left(one.place, key, " ".join(one.words[1:]), "a setting of the DHCP server")
        elif one.name == "hardware" and len(one.words) > 1 and one.words[1] != "ethernet":
            draft.notes.left(one.place, "hardware", " ".join(one.words[1:]), "is no Ethernet address")


FORMAT = Format("dhcp-isc", recognises, read_into, defines=False)
