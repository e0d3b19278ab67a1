"""The text of a site file, with comments that tell where things came from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hpcprov.importers.draft import Draft, HostDraft, Value
from hpcprov.site.findings import Place
from hpcprov.site.flow import flow
from hpcprov.site.model import GROUPS
from hpcprov.site.ranges import patterns

_WIDTH = 110
# Variables that nodes of one kind share.
_KIND = ("slurm_gres", "slurm_features", "slurm_weight", "slurm_node")
_FIRST = ("cluster_name", "cluster_network", "cluster_domain", "ansible_user", "ansible_become")
_ORDER = ("ansible_host", "ansible_port", "cluster_address", "cluster_mac", "cluster_aliases")


def site_text(draft: Draft, sources: Sequence[Path]) -> str:
    """The site of a finished draft as YAML."""
    lines = [
        "# yaml-language-server: $schema=site.schema.json",
        "# Made by hpcprov import from:",
        *(f"#   {_printable(str(path))}" for path in sources),
        "# Check it with hpcprov validate; what could not be carried was told when it was made.",
        *_all(draft),
        *_roles(draft),
        *_groups(draft),
    ]
    return "".join(f"{line}\n" for line in lines)


def _all(draft: Draft) -> Iterator[str]:
    yield "all:"
    yield "  vars:"
    rank = {name: number for number, name in enumerate(_FIRST)}
    names = list(dict.fromkeys([*draft.variables, *draft.remarks]))
    for name in sorted(names, key=lambda one: (rank.get(one, len(rank)), _part(one))):
        yield from (f"    # {_printable(line)}" for line in draft.remarks.get(name, []))
        if name in draft.variables and draft.variables[name].value not in ({}, []):
            value = draft.variables[name]
            yield f"    # from {_where(value.place)}"
            yield from _block(name, value.value, 4)


def _printable(text: str) -> str:
    """A comment ends with its line, and YAML allows no control characters in it."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _part(name: str) -> int:
    """Slurm after everything else."""
    return int(name.startswith(("slurm_", "mariadb_")))


def _where(place: Place) -> str:
    name = _printable(place.file.name)
    return f"{name}:{place.line}" if place.line else name


def _block(name: str, value: Any, indent: int) -> Iterator[str]:
    """A variable, in one line where it fits."""
    pad = " " * indent
    line = f"{pad}{name}: {flow(value)}"
    if not isinstance(value, Mapping | list) or (len(line) <= _WIDTH and len(value) < 2):
        yield line
        return
    yield f"{pad}{name}:"
    if isinstance(value, list):
        for item in value:
            yield from _item(item, f"{pad}  ")
    else:
        yield from (f"{pad}  {flow(key)}: {flow(item)}" for key, item in value.items())


def _item(item: Any, pad: str) -> Iterator[str]:
    """An item of a list, with a line for each of its parts where one line is too short."""
    line = f"{pad}- {flow(item)}"
    if len(line) <= _WIDTH or not isinstance(item, Mapping):
        yield line
        return
    for number, (key, part) in enumerate(item.items()):
        yield f"{pad}{'  ' if number else '- '}{flow(key)}: {flow(part)}"


def host_variables(host: HostDraft) -> dict[str, Value]:
    """What is written for a host: one address unless SSH takes another way."""
    variables = dict(host.variables)
    address = variables.get("cluster_address")
    if address is not None and variables.get("ansible_host", address).value == address.value:
        variables["ansible_host"] = variables.pop("cluster_address")
    names = sorted(variables, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
    return {name: variables[name] for name in names}


class _Told:
    """Hosts whose variables stand already: they are written once."""

    def __init__(self) -> None:
        self.hosts: set[str] = set()

    def variables(self, host: HostDraft, without: Iterable[str] = ()) -> dict[str, Any]:
        if host.name in self.hosts:
            return {}
        self.hosts.add(host.name)
        hidden = set(without)
        return {name: value.value for name, value in host_variables(host).items() if name not in hidden}


def _roles(draft: Draft) -> Iterator[str]:
    told = _Told()
    for role in GROUPS:
        hosts = [host for host in draft.defined() if role in host.roles]
        if not hosts:
            continue
        yield ""
        yield f"{role}:"
        if role == "compute":
            yield from _compute(draft, hosts, told)
        else:
            yield "  hosts:"
            yield from _hosts([(host, told.variables(host)) for host in hosts], 4)


def _compute(draft: Draft, hosts: list[HostDraft], told: _Told) -> Iterator[str]:
    """Nodes that share what is said about them stand in a group of their own, if groups are not the partitions."""
    kinds: dict[str, list[HostDraft]] = {}
    for host in hosts:
        common = {name: host.variables[name].value for name in _KIND if name in host.variables}
        kinds.setdefault(flow(common), []).append(host)
    shared = {key: members for key, members in kinds.items() if key != "{}" and len(members) > 1}
    if "slurm_partitions" not in draft.variables:
        shared = {}
    grouped = {host.name for members in shared.values() for host in members}
    rest = [host for host in hosts if host.name not in grouped]
    if rest:
        yield "  hosts:"
        yield from _hosts([(host, told.variables(host)) for host in rest], 4)
    if not shared:
        return
    yield "  children:"
    taken = {*GROUPS, "all", *(group for host in hosts for group in host.groups), *draft.hosts}
    for members in shared.values():
        name = _free_name(members[0].name, taken)
        yield f"    {name}:"
        yield "      hosts:"
        written_before = members[0].name in told.hosts
        yield from _hosts([(host, told.variables(host, _KIND)) for host in members], 8)
        yield "      vars:"
        for variable in _KIND:
            if variable in members[0].variables and not written_before:
                yield from _block(variable, members[0].variables[variable].value, 8)


def _free_name(host: str, taken: set[str]) -> str:
    stem = re.sub(r"[^A-Za-z0-9]+", "_", host.rstrip("0123456789")).strip("_") or "n"
    name, number = f"{stem}_nodes", 2
    while name in taken:
        name, number = f"{stem}_nodes{number}", number + 1
    taken.add(name)
    return name


def _groups(draft: Draft) -> Iterator[str]:
    """Groups of the admin's own."""
    groups: dict[str, list[HostDraft]] = {}
    for host in draft.defined():
        for group in host.groups if host.roles else ():
            groups.setdefault(group, []).append(host)
    for name, hosts in groups.items():
        yield ""
        yield f"{flow(name)}:"
        yield "  hosts:"
        yield from _hosts([(host, {}) for host in hosts], 4)


def _hosts(hosts: list[tuple[HostDraft, dict[str, Any]]], indent: int) -> Iterator[str]:
    """Hosts with their variables; runs of hosts without any are written as ranges."""
    pad = " " * indent
    bare: list[HostDraft] = []
    place: Place | None = None
    for host, variables in hosts:
        if not variables:
            bare.append(host)
            continue
        yield from _ranges(bare, pad)
        bare = []
        if place is None or (place.file, place.line) != (host.place.file, host.place.line):
            if place is None or place.file != host.place.file:
                yield f"{pad}# from {_where(host.place)}"
            place = host.place
        line = f"{pad}{flow(host.name)}: {flow(variables)}"
        if len(line) <= _WIDTH:
            yield line
        else:
            yield f"{pad}{flow(host.name)}:"
            for name, value in variables.items():
                yield from _block(name, value, indent + 2)
    yield from _ranges(bare, pad)


def _ranges(hosts: list[HostDraft], pad: str) -> Iterator[str]:
    if not hosts:
        return
    yield from (f"{pad}{flow(pattern)}:" for pattern in patterns(host.name for host in hosts))
    hosts.clear()
