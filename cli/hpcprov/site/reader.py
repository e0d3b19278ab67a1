"""Reads the groups and hosts of an inventory as Ansible's YAML plugin does, and tells every slip."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from hpcprov.site.document import Document
from hpcprov.site.findings import Findings, Place, did_you_mean
from hpcprov.site.ranges import RangeError, expand
from hpcprov.site.tree import GroupEntry, HostEntry, Layer, Tree

SECTIONS = ("hosts", "children", "vars")


def read_tree(document: Document, findings: Findings) -> Tree:
    """Groups and hosts of a parsed inventory."""
    tree = Tree(document, {"all": GroupEntry("all", Place(document.path))})
    if not isinstance(document.data, dict):
        return tree
    reader = _Reader(document, tree, findings)
    for name in document.data:
        reader.group(name, document.data[name], (name,))
    return tree


class _Reader:
    def __init__(self, document: Document, tree: Tree, findings: Findings) -> None:
        self.document = document
        self.tree = tree
        self.findings = findings

    def group(self, name: Any, data: Any, keys: tuple[Hashable, ...]) -> GroupEntry | None:
        place = self.document.place(*keys)
        if not self._usable(name, place, "group"):
            return None
        entry = self.tree.groups.setdefault(name, GroupEntry(name, place))
        if entry.place.line == 0:
            entry.place = place
        if data is None:
            return entry
        if not isinstance(data, dict):
            self.findings.error(
                place,
                "group-not-mapping",
                f'group "{name}" must hold {", ".join(SECTIONS)}, not {_kind(data)}',
                f'write "{name}:" and below it "hosts:"',
            )
            return entry
        for section, content in data.items():
            self._section(entry, section, content, (*keys, section))
        return entry

    def _section(self, entry: GroupEntry, section: Any, content: Any, keys: tuple[Hashable, ...]) -> None:
        place = self.document.place(*keys)
        if section not in SECTIONS:
            hint = did_you_mean(str(section), SECTIONS) or f"a group holds {', '.join(SECTIONS)}"
            if isinstance(content, dict | type(None)) and hint.startswith("a group"):
                hint = f'put subgroups under "children:" and hosts under "hosts:" of "{entry.name}"'
            self.findings.error(place, "unknown-group-key", f'unknown key "{section}" in group "{entry.name}"', hint)
            return
        if content is None:
            return
        if isinstance(content, str) and section != "vars":
            content = self._bare_text(section, content, place)
        if not isinstance(content, dict):
            if content is not None:
                self.findings.error(place, f"{section}-not-mapping", *_not_a_mapping(section, entry.name, content))
            return
        if section == "vars":
            self._vars(entry, content, keys)
        elif section == "children":
            for name, data in content.items():
                self._child(entry, name, data, (*keys, name))
        else:
            for pattern, data in content.items():
                self._host(entry, pattern, data, (*keys, pattern))

    def _bare_text(self, section: str, text: str, place: Place) -> dict[str, None] | None:
        """`hosts: head` is one name for Ansible, and so are two names on two bare lines."""
        words = text.split()
        if len(words) == 1:
            return {words[0]: None}
        self.findings.error(
            place,
            "host-name-whitespace" if section == "hosts" else "group-name",
            f"{', '.join(words)}: these would become the one name {text!r}",
            "write one entry a line, each with a colon: " + " / ".join(f'"{word}:"' for word in words[:3]),
        )
        return None

    def _vars(self, entry: GroupEntry, content: dict[Any, Any], keys: tuple[Hashable, ...]) -> None:
        entry.layers.append(Layer(self.document, keys, content))

    def _child(self, parent: GroupEntry, name: Any, data: Any, keys: tuple[Hashable, ...]) -> None:
        if name == "all":
            message = f'group "all" holds every group and cannot be a child of "{parent.name}"'
            self.findings.error(self.document.place(*keys), "group-loop", message, "name the groups that you mean")
            return
        child = self.group(name, data, keys)
        if child is None:
            return
        above = {parent.name, *self.tree.ancestors(parent.name)}
        if child.name in above:
            self.findings.error(
                self.document.place(*keys),
                "group-loop",
                f'group "{child.name}" would be its own child, by way of "{parent.name}"',
            )
            return
        if parent.name == "all":
            return
        parent.children[child.name] = None
        child.parents[parent.name] = None

    def _host(self, group: GroupEntry, pattern: Any, data: Any, keys: tuple[Hashable, ...]) -> None:
        place = self.document.place(*keys)
        if not self._usable(pattern, place, "host"):
            return
        try:
            names, port = expand(pattern)
        except RangeError as error:
            self.findings.error(place, "host-range", str(error), error.hint)
            return
        if data is not None and not isinstance(data, dict):
            self.findings.error(
                place,
                "host-vars-not-mapping",
                f'host "{pattern}" must hold variables, not {_kind(data)}',
                f'write "{pattern}: {{ansible_host: {data}}}"' if isinstance(data, str) else None,
            )
            data = None
        layers = [Layer(self.document, keys, data)] if data else []
        if port is not None:
            layers.insert(0, Layer(self.document, keys, {"ansible_port": port}))
        for name in names:
            host = self.tree.hosts.setdefault(name, HostEntry(name, place))
            host.layers.extend(layers)
            host.groups[group.name] = None
            group.hosts[name] = None

    def _usable(self, name: Any, place: Place, what: str) -> bool:
        if not isinstance(name, str) or not name:
            hint = f'quote it: "{name}"' if name not in (None, "") else "give it a name"
            self.findings.error(place, f"{what}-name-not-text", f"{what} name {name!r} is not text", hint)
            return False
        if what == "host" and name.split() != [name]:
            self.findings.error(
                place, "host-name-whitespace", f'host name "{name}" holds whitespace', "write one host a line"
            )
            return False
        return True


def _kind(value: Any) -> str:
    kinds = {list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    return kinds.get(type(value), "a single value")


def _not_a_mapping(section: str, group: str, content: Any) -> tuple[str, str]:
    first = next((str(item) for item in content if isinstance(item, str)), "name") if content else "name"
    message = f'"{section}" of group "{group}" must be a mapping, not {_kind(content)}'
    if section == "vars":
        return message, 'write "name: value" below it'
    return message, f'write "{first}:", with a colon and without a dash'
