"""YAML inventories."""

from __future__ import annotations

import re
from pathlib import Path

from hpcprov.importers.draft import Draft
from hpcprov.importers.inventory import Inventory, Variable, add_folder_variables, take_over
from hpcprov.site.document import read_document
from hpcprov.site.findings import Findings, Place
from hpcprov.site.reader import read_tree
from hpcprov.site.tree import Layer

_SIGN = re.compile(r"^\s*(?:hosts|children)\s*:", re.MULTILINE)


def recognises(path: Path, text: str) -> bool:
    return path.suffix in (".yaml", ".yml", ".json") or bool(_SIGN.search(text))


def read_into(draft: Draft, path: Path, text: str) -> None:
    findings = Findings()
    document = read_document(path, findings, text=text)
    if document is not None:
        tree = read_tree(document, findings)
        inventory = Inventory(path)
        for name, entry in tree.groups.items():
            if name == "all" and not entry.layers and not entry.hosts:
                continue
            group = inventory.group(name, entry.place)
            group.children = {child: tree.groups[child].place for child in entry.children}
            group.hosts = {host: tree.hosts[host].place for host in entry.hosts}
            group.variables = [variable for layer in entry.layers for variable in _of(layer)]
        for name, host in tree.hosts.items():
            inventory.hosts[name] = host.place
            inventory.host_variables[name] = [variable for layer in host.layers for variable in _of(layer)]
        add_folder_variables(inventory, findings)
        take_over(draft, inventory)
    for finding in findings.items:
        place = Place(finding.file, finding.line, finding.column)
        draft.notes.left(place, finding.rule, None, finding.message, finding.hint)


def _of(layer: Layer) -> list[Variable]:
    return [Variable(str(name), value, layer.place(name)) for name, value in layer.values.items()]
