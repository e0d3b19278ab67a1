"""INI inventories, read as Ansible's ini plugin reads them, with the place of everything.

Ansible's own parser is not used: it forgets where things stand, and it begins by loading all of Ansible. The tests
compare the two.
"""

from __future__ import annotations

import ast
import re
import shlex
import warnings
from pathlib import Path
from typing import Any

from hpcprov.importers.draft import Draft
from hpcprov.importers.format import Format
from hpcprov.importers.inventory import Inventory, Variable, add_folder_variables, take_over
from hpcprov.site.findings import Findings, Place
from hpcprov.site.ranges import RangeError, expand

_SECTION = re.compile(r"^\[([^:\]\s]+)(?::(\w+))?\]\s*(?:#.*)?$")
_CHILD = re.compile(r"^([^:\]\s]+)\s*(?:#.*)?$")
_HOST_LINE = re.compile(r"^[A-Za-z0-9_.\[\]:-]+(?:\s+[A-Za-z_]\w*=\S*.*)?$")


def recognises(path: Path, text: str) -> bool:
    """A section alone on the first line that says something, or hosts with ansible variables before one."""
    for line in text.splitlines():
        said = line.strip()
        if not said or said.startswith(("#", ";")):
            continue
        if _SECTION.match(said):
            return True
        return bool(_HOST_LINE.match(said)) and ("ansible_" in said or bool(re.search(r"^\[.+\]", text, re.MULTILINE)))
    return False


def read_into(draft: Draft, path: Path, text: str) -> None:
    inventory = read_ini(draft, path, text)
    findings = Findings()
    add_folder_variables(inventory, findings)
    for finding in findings.items:
        draft.notes.left(Place(finding.file, finding.line), "file", finding.file, finding.message, finding.hint)
    take_over(draft, inventory)


def read_ini(draft: Draft, path: Path, text: str) -> Inventory:
    """The inventory of a text; what cannot be read is told in the draft's notes."""
    inventory = Inventory(path)
    group, section = "ungrouped", "hosts"
    for number, line in enumerate(text.splitlines(), 1):
        said = line.strip()
        place = Place(path, number, len(line) - len(line.lstrip()) + 1)
        if not said or said.startswith(("#", ";")):
            continue
        match = _SECTION.match(said)
        if match:
            group, section = match.group(1), match.group(2) or "hosts"
            if section in ("hosts", "children", "vars"):
                known = inventory.group(group, place)
                if known.place.line != number:
                    draft.notes.mapped(place, said, None, f"more of group {group}")
            else:
                hint = "hosts, children or vars"
                draft.notes.left(place, said, None, f'"{section}" is no part of a group', hint)
        elif section == "vars":
            _variable(draft, inventory, group, said, place)
        elif section == "children":
            _child(draft, inventory, group, said, place)
        elif section == "hosts":
            _host(draft, inventory, group, said, place)
        else:
            draft.notes.left(place, said, None, "stands in a section that Ansible does not know")
    return inventory


def _variable(draft: Draft, inventory: Inventory, group: str, said: str, place: Place) -> None:
    name, equals, value = (part.strip() for part in said.partition("="))
    if not equals or not name:
        draft.notes.left(place, said, None, "is no key=value")
        return
    inventory.group(group, place).variables.append(Variable(name, parse_value(value), place))


def _child(draft: Draft, inventory: Inventory, group: str, said: str, place: Place) -> None:
    match = _CHILD.match(said)
    if match is None:
        draft.notes.left(place, said, None, "is no name of a group")
        return
    inventory.group(group, place).children.setdefault(match.group(1), place)
    inventory.group(match.group(1), place)


def _host(draft: Draft, inventory: Inventory, group: str, said: str, place: Place) -> None:
    try:
        tokens = shlex.split(said, comments=True)
    except ValueError as error:
        draft.notes.left(place, said.split(maxsplit=1)[0], None, f"cannot be read: {error}")
        return
    if not tokens:
        return
    try:
        names, port = expand(tokens[0])
    except RangeError as error:
        draft.notes.left(place, tokens[0], None, str(error), error.hint)
        return
    variables = [Variable("ansible_port", port, place)] if port else []
    for token in tokens[1:]:
        name, equals, value = token.partition("=")
        if equals and name:
            variables.append(Variable(name, parse_value(value), place))
        else:
            draft.notes.left(place, token, None, "is no key=value", "write one host a line")
    for name in names:
        inventory.add_host(group, name, place, variables)


def parse_value(text: str) -> Any:
    """A value as Ansible takes it from an INI file: a Python literal where it is one, else text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a stray backslash, which is no matter here
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float | str | list | dict | tuple | type(None)) else text


FORMAT = Format("inventory-ini", recognises, read_into, defines=True)
