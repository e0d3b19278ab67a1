"""Nodes, node sets and partitions that a read slurm.conf defines, with the values of its DEFAULT lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from hpcprov.slurm.hostlist import HostlistError, expand
from hpcprov.slurm.keys import table
from hpcprov.slurm.read import Line, Setting

# Second names of one option.
_SAME = {"Feature": "Features", "Procs": "CPUs"}


@dataclass(frozen=True)
class Definition:
    """One record line. `settings` has Slurm's spelling of each key and what DEFAULT lines before it said.

    `names` are expanded; none when Slurm cannot read the hostlist, and `problem` then says why.
    """

    line: Line
    names: tuple[str, ...]
    settings: Mapping[str, Setting]
    problem: str | None = None

    @property
    def name(self) -> Setting:
        return self.line.settings[0]

    def value(self, key: str) -> str | None:
        return self.settings[key].value if key in self.settings else None

    def values(self) -> dict[str, str]:
        return {key: setting.value for key, setting in self.settings.items()}


def definitions(lines: Iterable[Line], record: str) -> list[Definition]:
    """The definitions of one kind, such as `NodeName`; DEFAULT lines hand their values on to those after them."""
    keys = table(f"slurm.conf {record}")
    defaults: dict[str, Setting] = {}
    found = []
    for line in lines:
        if line.key != record.lower():
            continue
        own = {}
        for setting in line.settings[1:]:
            key = keys.find(setting.key)
            name = key.name if key else setting.key
            own[_SAME.get(name, name)] = setting
        if line.settings[0].value.upper() == "DEFAULT":
            defaults.update(own)
            continue
        found.append(_definition(line, {**defaults, **own}))
    return found


def _definition(line: Line, settings: dict[str, Setting]) -> Definition:
    try:
        return Definition(line, tuple(expand(line.settings[0].value)), settings)
    except HostlistError as error:
        return Definition(line, (), settings, str(error))


def features_of(definition: Definition) -> set[str]:
    return {part.strip().lower() for part in (definition.value("Features") or "").split(",") if part.strip()}


def set_members(sets: Sequence[Definition], nodes: Sequence[Definition]) -> dict[str, list[str]]:
    """Nodes of each NodeSet, by name, by feature or both. Raises HostlistError."""
    members: dict[str, list[str]] = {}
    for one in sets:
        named = expand(one.value("Nodes") or "")
        feature = (one.value("Features") or "").lower()
        by_feature = [name for node in nodes if feature and feature in features_of(node) for name in node.names]
        members[one.name.value] = list(dict.fromkeys([*named, *by_feature]))
    return members


def all_names(nodes: Iterable[Definition]) -> Iterator[str]:
    for node in nodes:
        yield from node.names
