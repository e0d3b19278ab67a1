"""Partitions: their nodes, their names, their keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hpcprov.errors import Finding
from hpcprov.site.rules.registry import Draft, rule
from hpcprov.site.templating import holds_template
from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.keys import table
from hpcprov.slurm.partitions import TIMES, ComputeGroups, partition_nodes
from hpcprov.slurm.site import compute_groups
from hpcprov.slurm.values import is_time

_NAME = re.compile(r"^[A-Za-z0-9_][\w.+-]*$")
OURS = ("name", "nodes", "default")


def entries(draft: Draft) -> list[tuple[int, Mapping[str, Any]]]:
    """The entries of slurm_partitions that are mappings, with their index."""
    listed = draft.speaker.vars.get("slurm_partitions") if draft.speaker else None
    items = listed if isinstance(listed, list) else []
    return [(index, entry) for index, entry in enumerate(items) if isinstance(entry, Mapping)]


def _found(draft: Draft, name: str, message: str, *keys: str | int, hint: str | None = None) -> Finding:
    assert draft.speaker is not None, "entries() found some"
    return draft.place_of(draft.speaker, "slurm_partitions", *keys).finding(name, message, hint=hint)


def _compute(draft: Draft) -> ComputeGroups:
    return compute_groups(draft.site.groups, draft.site.children.get("compute", []))


@rule("partition-nodes")
def nodes(draft: Draft) -> Iterator[Finding]:
    """A partition that names an unknown node keeps slurmctld from starting."""
    compute = _compute(draft)
    for index, entry in entries(draft):
        wanted = entry.get("nodes")
        if wanted is None or holds_template(wanted):
            continue
        try:
            found = partition_nodes(wanted, compute)
        except SlurmConfigError as error:
            for problem in error.problems:
                yield _found(draft, "partition-nodes", f"partition {entry.get('name')}: {problem}", index, "nodes")
            continue
        if not found and compute.nodes:
            message = f"partition {entry.get('name')} has no nodes"
            yield _found(draft, "partition-nodes", message, index, "nodes", hint="name a group, a hostlist or ALL")


@rule("partition-twice")
def twice(draft: Draft) -> Iterator[Finding]:
    """Slurm refuses a PartitionName that stands on two lines."""
    first: dict[str, int] = {}
    for index, entry in entries(draft):
        name = str(entry.get("name"))
        before = first.setdefault(name, index)
        if before != index:
            message = f"partition {name} is defined twice"
            yield _found(draft, "partition-twice", message, index, "name", hint="merge the two entries")


@rule("partition-default")
def defaults(draft: Draft) -> Iterator[Finding]:
    """One partition takes the jobs that name none."""
    listed = [(index, entry) for index, entry in entries(draft) if entry.get("default") is True]
    for index, entry in listed[1:]:
        message = f"partitions {listed[0][1].get('name')} and {entry.get('name')} are both the default"
        yield _found(draft, "partition-default", message, index, "default", hint="leave default on one of them")


@rule("partition-name")
def names(draft: Draft) -> Iterator[Finding]:
    """A partition name is one word, and DEFAULT means something else to Slurm."""
    for index, entry in entries(draft):
        name = entry.get("name")
        if isinstance(name, str) and not holds_template(name) and not _usable(name):
            yield _found(draft, "partition-name", f'partition name "{name}" cannot be used', index, "name")
    if not entries(draft):
        for child in draft.site.children.get("compute", []):
            if not _usable(child):
                place = draft.tree.groups[child].place
                message = f'group "{child}" cannot become a partition of that name'
                yield place.finding("partition-name", message, hint="rename it, or list slurm_partitions")


def _usable(name: str) -> bool:
    return bool(_NAME.match(name)) and name.upper() != "DEFAULT"


@rule("partition-key")
def keys(draft: Draft) -> Iterator[Finding]:
    """A misspelt key of a partition keeps slurmctld from starting."""
    known = table("slurm.conf PartitionName")
    for index, entry in entries(draft):
        seen: dict[str, str] = {}
        for name in entry:
            key = known.find_loose(str(name))
            if str(name).lower() in OURS:
                continue
            if key is None:
                message = f'unknown key "{name}"{known.suggestion(str(name))}'
                yield _found(draft, "partition-key", message, index, name)
            elif seen.setdefault(key.name, name) != name:
                message = f"{name} and {seen[key.name]} both set {key.name}"
                yield _found(draft, "partition-key", message, index, name)


@rule("partition-time")
def times(draft: Draft) -> Iterator[Finding]:
    """Times as Slurm reads them."""
    known = table("slurm.conf PartitionName")
    for index, entry in entries(draft):
        for name, value in entry.items():
            key = known.find_loose(str(name))
            if key is None or key.name not in TIMES or value is None or holds_template(value):
                continue
            if not is_time(value):
                message = f'{name}: "{value}" is no time'
                hint = 'minutes, or quoted "1:30:00", "2-00:00:00", "UNLIMITED"'
                yield _found(draft, "partition-time", message, index, name, hint=hint)
