"""PartitionName and NodeSet lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hpcprov.importers.draft import Draft, Value
from hpcprov.importers.slurm_nodes import suggestion, tell_defaults
from hpcprov.importers.slurm_options import plain_value
from hpcprov.slurm import limits
from hpcprov.slurm.definitions import set_members
from hpcprov.slurm.hostlist import HostlistError, expand, fold
from hpcprov.slurm.keys import table
from hpcprov.slurm.lint.configuration import Configuration
from hpcprov.slurm.partitions import TIMES
from hpcprov.slurm.read import Setting
from hpcprov.slurm.values import is_time, kind_problem

_RENAMED = {"Shared": "OverSubscribe"}


def read_partitions(draft: Draft, configuration: Configuration) -> None:
    """slurm_partitions, each name once (SLM-17), with DEFAULT lines and node sets written out."""
    notes = draft.notes
    for line in configuration.lines("slurm.conf"):
        if line.key in ("downnodes", "frontendname", "poweraction"):
            why = "the state of a node is kept by slurmctld" if line.key == "downnodes" else "hpcprov does not make it"
            for setting in line.settings:
                notes.left(setting.place, setting.key, setting.value, why)
    tell_defaults(draft, configuration, "partitionname", "partition")
    members = _members(draft, configuration)
    merged: dict[str, dict[str, Setting]] = {}
    for partition in configuration.partitions:
        name = partition.name
        if name.value in merged:
            notes.changed(name.place, name.key, name.value, "merged with the line above of the same partition")
        else:
            notes.mapped(name.place, name.key, name.value, "slurm_partitions")
        merged.setdefault(name.value, {}).update(partition.settings)
    entries = [_partition(draft, configuration, name, settings, members) for name, settings in merged.items()]
    kept = [entry for entry in entries if entry is not None]
    _one_default(draft, kept, configuration)
    if kept:
        draft.variables.setdefault("slurm_partitions", Value(kept, configuration.partitions[0].line.place))


def _members(draft: Draft, configuration: Configuration) -> dict[str, list[str]]:
    try:
        members = set_members(configuration.node_sets, configuration.nodes)
    except HostlistError as error:
        members = {}
        for one in configuration.node_sets:
            draft.notes.left(one.line.place, "NodeSet", one.name.value, str(error))
    for one in configuration.node_sets if members else ():
        names = members[one.name.value]
        for setting in one.line.settings:
            result = f"its {len(names)} nodes stand in the partitions"
            draft.notes.changed(setting.place, setting.key, setting.value, result)
    return members


def _partition(
    draft: Draft,
    configuration: Configuration,
    name: str,
    settings: Mapping[str, Setting],
    members: Mapping[str, list[str]],
) -> dict[str, Any] | None:
    entry: dict[str, Any] = {"name": name}
    nodes = settings.get("Nodes")
    names = _nodes_of(draft, configuration, nodes, members) if nodes else []
    if nodes is None or not names:
        places = nodes.place if nodes else next(iter(settings.values())).place if settings else None
        if places is not None:
            draft.notes.left(places, f"partition {name}", None, "it has no nodes", "add it once it has some")
        for setting in settings.values():
            draft.notes.left(setting.place, setting.key, setting.value, f"partition {name} has no nodes")
        return None
    entry["nodes"] = "ALL" if names == ["ALL"] else fold(names)
    draft.notes.mapped(nodes.place, nodes.key, nodes.value, f"nodes of partition {name}")
    for key, setting in settings.items():
        if key != "Nodes":
            _partition_key(draft, entry, key, setting)
    return entry


def _nodes_of(
    draft: Draft, configuration: Configuration, setting: Setting, members: Mapping[str, list[str]]
) -> list[str]:
    try:
        named = expand(setting.value)
    except HostlistError as error:
        draft.notes.left(setting.place, setting.key, setting.value, str(error))
        return []
    if "ALL" in named:
        return ["ALL"]
    names = list(dict.fromkeys(node for name in named for node in members.get(name, [name])))
    unknown = [name for name in names if name not in configuration.node_names]
    if unknown:
        hint = "define it with NodeName, or leave it out"
        draft.notes.left(setting.place, setting.key, fold(unknown), "no NodeName defines it", hint)
    return [name for name in names if name in configuration.node_names]


def _partition_key(draft: Draft, entry: dict[str, Any], key: str, setting: Setting) -> None:
    known = table("slurm.conf PartitionName").find(key)
    if known is None:
        hint = suggestion("slurm.conf PartitionName", key)
        draft.notes.left(setting.place, setting.key, setting.value, "PartitionName has no such option", hint)
        return
    problem = kind_problem(known.type, setting.value) or limits.partition_problem(key, setting.value)
    if key in TIMES and not is_time(setting.value):
        problem = f'"{setting.value}" is no time'
    if problem:
        draft.notes.left(setting.place, setting.key, setting.value, problem)
        return
    value = plain_value(known, setting.value)
    where = f"partition {entry['name']}"
    if key == "Priority":
        entry.setdefault("PriorityTier", value)
        entry.setdefault("PriorityJobFactor", value)
        draft.notes.changed(setting.place, setting.key, setting.value, f"{where}: PriorityTier and PriorityJobFactor")
        return
    if key == "State" and setting.value.upper() == "UP":
        draft.notes.mapped(setting.place, setting.key, setting.value, f"{where}: up, as hpcprov writes it")
        return
    written = {"Default": "default", "MaxTime": "max_time"}.get(key, _RENAMED.get(key, key))
    if key == "Default":
        value = setting.value.lower() in ("yes", "true", "1", "up")
    if key != "Default" or value:
        entry[written] = value
    tell = draft.notes.changed if key in _RENAMED else draft.notes.mapped
    tell(setting.place, setting.key, setting.value, f"{where}: {written}")


def _one_default(draft: Draft, entries: list[dict[str, Any]], configuration: Configuration) -> None:
    """Slurm takes the last of several defaults; the site has one."""
    chosen = [entry for entry in entries if entry.get("default")]
    for entry in chosen[:-1]:
        del entry["default"]
        partition = next(one for one in configuration.partitions if one.name.value == entry["name"])
        setting = partition.settings["Default"]
        result = f"dropped: {chosen[-1]['name']} is the default too, and the last one counts"
        draft.notes.changed(setting.place, setting.key, setting.value, result)
