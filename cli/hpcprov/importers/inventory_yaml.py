"""YAML inventories."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hpcprov.importers.draft import Draft
from hpcprov.importers.format import Format
from hpcprov.importers.inventory import Inventory, Variable, add_folder_variables, take_over
from hpcprov.site.document import Document, read_document
from hpcprov.site.findings import Findings, Place
from hpcprov.site.ranges import RangeError, expand
from hpcprov.site.reader import read_tree
from hpcprov.site.tree import Layer, Tree

_SIGN = re.compile(r"^\s*(?:hosts|children)\s*:", re.MULTILINE)


def recognises(path: Path, text: str) -> bool:
    return path.suffix in (".yaml", ".yml", ".json") or bool(_SIGN.search(text))


def read_into(draft: Draft, path: Path, text: str) -> None:
    """Read as the site file is read: every slip is told, and what is right is taken over."""
    findings = Findings()
    document = read_document(path, findings, text=text)
    if document is not None:
        tree = read_tree(document, findings)
        mentions = _mentions(document)
        inventory = _inventory(path, tree, mentions)
        for name, place in mentions.groups:
            if name in tree.groups and place.line != tree.groups[name].place.line:
                draft.notes.mapped(place, name, None, f"more of group {name}")
        add_folder_variables(inventory, findings)
        take_over(draft, inventory)
    for finding in findings.items:
        place = Place(finding.file, finding.line, finding.column)
        draft.notes.left(place, finding.rule, None, finding.message, finding.hint)


@dataclass
class _Mentions:
    """Where groups stand, and where each is named as a child and each host in a group."""

    groups: list[tuple[str, Place]] = field(default_factory=list)
    children: dict[tuple[str, str], Place] = field(default_factory=dict)
    hosts: dict[tuple[str, str], Place] = field(default_factory=dict)


def _mentions(document: Document) -> _Mentions:
    found = _Mentions()
    _look(document, document.data, (), found)
    return found


def _look(document: Document, groups: Any, above: tuple[Hashable, ...], found: _Mentions) -> None:
    for name, content in groups.items() if isinstance(groups, dict) else ():
        if not above:
            found.groups.append((str(name), document.place(name)))
        if not isinstance(content, dict):
            continue
        children, hosts = content.get("children"), content.get("hosts")
        for child in children if isinstance(children, dict) else ():
            place = document.place(*above, name, "children", child)
            found.children.setdefault((str(name), str(child)), place)
            found.groups.append((str(child), place))
        for pattern in hosts if isinstance(hosts, dict) else ():
            place = document.place(*above, name, "hosts", pattern)
            for host in _expanded(pattern):
                found.hosts.setdefault((str(name), host), place)
        _look(document, children, (*above, name, "children"), found)


def _expanded(pattern: object) -> tuple[str, ...]:
    try:
        return expand(pattern)[0] if isinstance(pattern, str) else ()
    except RangeError:
        return ()


def _inventory(path: Path, tree: Tree, mentions: _Mentions) -> Inventory:
    inventory = Inventory(path)
    for name, entry in tree.groups.items():
        if name == "all" and not entry.layers and not entry.hosts:
            continue
        group = inventory.group(name, entry.place)
        group.children = {child: mentions.children.get((name, child), entry.place) for child in entry.children}
        group.hosts = {host: mentions.hosts.get((name, host), tree.hosts[host].place) for host in entry.hosts}
        group.variables = [variable for layer in entry.layers for variable in _of(layer)]
    for name, host in tree.hosts.items():
        inventory.hosts[name] = host.place
        inventory.host_variables[name] = [variable for layer in host.layers for variable in _of(layer)]
    return inventory


def _of(layer: Layer) -> Iterator[Variable]:
    return (Variable(str(name), value, layer.place(name)) for name, value in layer.values.items())


FORMAT = Format("inventory-yaml", recognises, read_into, defines=True)
