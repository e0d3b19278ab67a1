"""PartitionName lines: from the site's list, or from the child groups of `compute`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.hostlist import HostlistError, expand, fold
from hpcprov.slurm.keys import table
from hpcprov.slurm.values import as_list, is_time, record

# The partition of a site that says nothing about partitions.
ONLY_PARTITION = "batch"
TIMES = ("MaxTime", "DefaultTime", "OverTimeLimit")
_MEMORY = ("DefMemPerCPU", "DefMemPerNode", "DefMemPerGPU")


@dataclass(frozen=True)
class Partition:
    """A partition; `nodes` are NodeNames, `settings` any further keys in Slurm's spelling."""

    name: str
    nodes: tuple[str, ...]
    default: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ComputeGroups:
    """The compute nodes by NodeName, and every group of the site that holds some of them."""

    nodes: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]
    children: tuple[str, ...] = ()


def partitions_of(wanted: Sequence[Mapping[str, Any]], compute: ComputeGroups) -> list[Partition]:
    """The partitions of a site, exactly one of them the default. Raises SlurmConfigError."""
    found = [_partition(entry, compute) for entry in wanted] if wanted else _from_groups(compute)
    names = [partition.name for partition in found]
    problems = [f"partition {name} stands twice" for name in dict.fromkeys(names) if names.count(name) > 1]
    defaults = [partition.name for partition in found if partition.default]
    if len(defaults) > 1:
        problems.append(f"partitions {', '.join(defaults)} are all the default; Slurm has one")
    if problems:
        raise SlurmConfigError(problems)
    if found and not defaults:
        first = found[0]
        found[0] = Partition(first.name, first.nodes, True, first.settings)
    return found


def _from_groups(compute: ComputeGroups) -> list[Partition]:
    """Each child group of `compute` is a partition; nodes in none of them make one of their own."""
    found = [Partition(name, compute.groups[name]) for name in compute.children if compute.groups.get(name)]
    placed = {node for partition in found for node in partition.nodes}
    rest = tuple(node for node in compute.nodes if node not in placed)
    if rest:
        found.append(Partition(ONLY_PARTITION, rest))
    return found


def _partition(entry: Mapping[str, Any], compute: ComputeGroups) -> Partition:
    name = str(entry.get("name") or "")
    if not name:
        raise SlurmConfigError([f"slurm_partitions: {dict(entry)} has no name"])
    try:
        nodes = partition_nodes(entry.get("nodes", _default_nodes(name, compute)), compute)
    except SlurmConfigError as error:
        raise SlurmConfigError([f"partition {name}: {problem}" for problem in error.problems]) from error
    settings = partition_settings(entry)
    return Partition(name, nodes, entry.get("default") in (True, "yes", "YES", "true"), settings)


def _default_nodes(name: str, compute: ComputeGroups) -> str:
    return name if name in compute.groups else "ALL"


def partition_nodes(wanted: Any, compute: ComputeGroups) -> tuple[str, ...]:
    """NodeNames from a group, a Slurm hostlist, ALL, or a list of those. Raises SlurmConfigError."""
    named: dict[str, None] = {}
    for item in as_list(wanted):
        named.update(dict.fromkeys(_nodes_of(str(item).strip(), compute)))
    order = {node: index for index, node in enumerate(compute.nodes)}
    unknown = [node for node in named if node not in order]
    if unknown:
        lower = {node.lower(): node for node in compute.nodes}
        near = [lower[node.lower()] for node in unknown if node.lower() in lower]
        hint = f" (names differ by case: {fold(near)})" if near else ""
        raise SlurmConfigError([f"{fold(unknown)}: no such compute node or group{hint}"])
    return tuple(sorted(named, key=order.__getitem__))


def _nodes_of(text: str, compute: ComputeGroups) -> Sequence[str]:
    if text == "ALL":
        return compute.nodes
    if text in compute.groups:
        return compute.groups[text]
    try:
        parts = expand(text)
    except HostlistError as error:
        raise SlurmConfigError([str(error)]) from error
    if len(parts) > 1 and any(part in compute.groups and part not in compute.nodes for part in parts):
        return [node for part in parts for node in compute.groups.get(part, (part,))]
    return parts


def partition_settings(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The keys beside name, nodes and default, in Slurm's spelling. Raises SlurmConfigError."""
    keys = table("slurm.conf PartitionName")
    settings: dict[str, Any] = {}
    problems = []
    for name, value in entry.items():
        if str(name).lower() in ("name", "nodes", "default"):
            continue
        key = keys.find_loose(str(name))
        if key is None:
            problems.append(f'unknown key "{name}"{keys.suggestion(str(name))}')
        elif key.name in TIMES and not is_time(value):
            problems.append(f'{name}: "{value}" is not a time such as 90, 1:30:00 or 2-00:00:00')
        else:
            settings[key.name] = value
    if problems:
        raise SlurmConfigError([f"partition {entry.get('name')}: {problem}" for problem in problems])
    return settings


def memory_per_cpu(nodes: Sequence[Mapping[str, Any]]) -> int | None:
    """DefMemPerCPU that lets every CPU of the smallest node be used, MiB.

    Without it a job that asks for no memory takes the whole node. Source: slurm.conf(5), DefMemPerCPU.
    """
    shares = [
        int(str(keys["RealMemory"])) // int(str(keys["CPUs"]))
        for keys in nodes
        if "RealMemory" in keys and "CPUs" in keys
    ]
    return min(shares, default=None)


def partition_lines(
    partitions: Sequence[Partition],
    nodes: Mapping[str, Mapping[str, Any]],
    *,
    memory_is_set: bool = False,
) -> list[str]:
    """PartitionName lines. Nodes without a NodeName line are left out, so that slurmctld still starts."""
    lines = []
    for partition in partitions:
        present = [node for node in partition.nodes if node in nodes]
        keys: dict[str, Any] = {"Default": partition.default, "State": "UP"}
        if not memory_is_set and not any(name in partition.settings for name in _MEMORY):
            keys["DefMemPerCPU"] = memory_per_cpu([nodes[node] for node in present])
        # An empty partition needs the quotes: `Nodes=` alone is an error to Slurm.
        members = fold(present) if present else '""'
        lines.append(f"PartitionName={partition.name} Nodes={members} " + record({**keys, **partition.settings}))
    return lines
