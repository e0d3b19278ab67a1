"""The groups and hosts of an inventory file, and where their variables are written."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hpcprov.site.document import Document
from hpcprov.site.findings import Place


@dataclass(frozen=True)
class Layer:
    """Variables from one mapping of one file."""

    document: Document
    keys: tuple[Hashable, ...]
    values: dict[str, Any]

    def place(self, *keys: Hashable) -> Place:
        return self.document.place(*self.keys, *keys)

    def texts(self) -> Iterator[tuple[tuple[Hashable, ...], str]]:
        """Every text within the variables, with the keys that lead to it."""
        return _texts(self.values)


def _texts(value: Any, path: tuple[Hashable, ...] = ()) -> Iterator[tuple[tuple[Hashable, ...], str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, (*path, index))
    elif isinstance(value, str):
        yield path, value


@dataclass
class GroupEntry:
    name: str
    place: Place
    layers: list[Layer] = field(default_factory=list)
    hosts: dict[str, None] = field(default_factory=dict)
    parents: dict[str, None] = field(default_factory=dict)
    children: dict[str, None] = field(default_factory=dict)


@dataclass
class HostEntry:
    name: str
    place: Place
    layers: list[Layer] = field(default_factory=list)
    groups: dict[str, None] = field(default_factory=dict)


@dataclass
class Tree:
    """All groups and hosts by name, in file order. `all` is always there."""

    document: Document
    groups: dict[str, GroupEntry] = field(default_factory=dict)
    hosts: dict[str, HostEntry] = field(default_factory=dict)

    def ancestors(self, group: str) -> Iterator[str]:
        """The groups above `group`, without `all`."""
        seen: set[str] = set()
        queue = list(self.groups[group].parents)
        while queue:
            name = queue.pop()
            if name not in seen:
                seen.add(name)
                yield name
                queue.extend(self.groups[name].parents)

    def depths(self) -> dict[str, int]:
        """Distance from `all`, the longest way: Ansible applies deeper groups later."""
        known: dict[str, int] = {"all": 0}

        def depth(name: str) -> int:
            if name not in known:
                parents = self.groups[name].parents
                known[name] = 1 + max((depth(parent) for parent in parents), default=0)
            return known[name]

        return {name: depth(name) for name in self.groups}

    def members(self) -> dict[str, dict[str, None]]:
        """Hosts of each group with those of its children, in file order."""
        below: dict[str, set[str]] = {name: set(entry.hosts) for name, entry in self.groups.items()}
        for name, entry in self.groups.items():
            for ancestor in self.ancestors(name):
                below[ancestor].update(entry.hosts)
        below["all"] = set(self.hosts)
        order = {name: index for index, name in enumerate(self.hosts)}
        return {name: dict.fromkeys(sorted(hosts, key=order.__getitem__)) for name, hosts in below.items()}
