"""Configuration (reservations) and CSV leases of Kea."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hpcprov.importers.dhcp import network, reservation
from hpcprov.importers.draft import Draft
from hpcprov.importers.format import Format
from hpcprov.site.findings import Place

_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|\#[^\n]*|/\*.*?\*/', re.DOTALL)
_KNOWN = ("hw-address", "ip-address", "hostname", "ip-addresses")
_LEASE_HEADER = "address,hwaddr,"


def recognises(path: Path, text: str) -> bool:
    return text.startswith(_LEASE_HEADER) or bool(re.search(r'"Dhcp[46]"\s*:', text))


def read_into(draft: Draft, path: Path, text: str) -> None:
    if text.startswith(_LEASE_HEADER):
        _leases(draft, path, text)
        return
    try:
        data = json.loads(_without_comments(text))
    except ValueError as error:
        draft.notes.left(Place(path), "file", path, f"is no JSON: {error}", "Kea itself would refuse it")
        return
    for version in ("Dhcp4", "Dhcp6"):
        part = data.get(version) if isinstance(data, Mapping) else None
        if isinstance(part, Mapping):
            _server(draft, path, text, version, part)
    for key in data if isinstance(data, Mapping) else ():
        if key not in ("Dhcp4", "Dhcp6"):
            draft.notes.left(_place(path, text, key), key, None, "a setting of the DHCP server")


def _without_comments(text: str) -> str:
    """The text with blanks for comments, so that places stay."""
    return _COMMENT.sub(lambda match: match.group(1) or re.sub(r"[^\n]", " ", match.group(0)), text)


def _place(path: Path, text: str, word: str) -> Place:
    """Where a word stands first, in quotes."""
    found = text.find(f'"{word}"')
    if found < 0:
        return Place(path)
    return Place(path, text.count("\n", 0, found) + 1, found - text.rfind("\n", 0, found))


def _server(draft: Draft, path: Path, text: str, version: str, part: Mapping[str, Any]) -> None:
    subnets = _mappings(part.get(f"subnet{version[-1]}"))
    for shared in _mappings(part.get("shared-networks")):
        subnets += _mappings(shared.get(f"subnet{version[-1]}"))
    for one in _mappings(part.get("reservations")):
        _reservation(draft, path, text, one)
    for subnet in subnets:
        if subnet.get("subnet"):
            network(draft, _place(path, text, str(subnet["subnet"])), str(subnet["subnet"]), "subnet")
        for one in _mappings(subnet.get("reservations")):
            _reservation(draft, path, text, one)
        for key in subnet:
            if key == "pools":
                ranges = ", ".join(str(pool.get("pool")) for pool in _mappings(subnet[key]))
                draft.notes.left(_place(path, text, key), key, ranges, "a setting of the DHCP server")
            elif key not in ("subnet", "reservations"):
                draft.notes.left(_place(path, text, key), key, None, "a setting of the DHCP server")
    for key in part:
        if key not in (f"subnet{version[-1]}", "shared-networks", "reservations"):
            draft.notes.left(_place(path, text, key), key, None, "a setting of the DHCP server")


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    """The parts of a list that have parts themselves; Kea refuses any other form."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _reservation(draft: Draft, path: Path, text: str, one: Mapping[str, Any]) -> None:
    hardware, name = str(one.get("hw-address") or ""), str(one.get("hostname") or "")
    several = one.get("ip-addresses")
    first = several[0] if isinstance(several, list) and several else ""
    address = str(one.get("ip-address") or first)
    place = _place(path, text, hardware or name or address)
    reservation(draft, place, name, hardware, address)
    for key, value in one.items():
        if key not in _KNOWN:
            draft.notes.left(place, key, value, "a setting of the DHCP server")


def _leases(draft: Draft, path: Path, text: str) -> None:
    """The last line of an address counts; state 0 is a lease that holds."""
    rows = csv.DictReader(io.StringIO(text))
    last: dict[str, tuple[Place, dict[str, str]]] = {}
    for row in rows:
        place = Place(path, rows.line_num, 1)
        address = row.get("address") or ""
        if address in last:
            before = last.pop(address)[0]
            draft.notes.changed(before, "lease", address, f"line {place.line} has a later one")
        last[address] = (place, {key: value for key, value in row.items() if isinstance(key, str) and value})
    for address, (place, row) in last.items():
        if row.get("state", "0") != "0":
            draft.notes.left(place, "lease", " ".join(row.values()), "was declined, released or has expired")
            continue
        reservation(draft, place, row.get("hostname", "").rstrip("."), row.get("hwaddr", ""), address, lease=True)


FORMAT = Format("dhcp-kea", recognises, read_into, defines=False)
