"""PartitionName and NodeSet lines."""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.errors import Finding
from hpcprov.slurm.definitions import Definition, features_of
from hpcprov.slurm.hostlist import HostlistError, expand, fold
from hpcprov.slurm.lint.configuration import Configuration
from hpcprov.slurm.lint.registry import rule
from hpcprov.slurm.lint.rules.syntax import hint_for
from hpcprov.slurm.read import Setting


@rule("partition-twice")
def twice(configuration: Configuration) -> Iterator[Finding]:
    """slurmctld ends when a PartitionName stands on two lines."""
    owners: dict[str, Definition] = {}
    for partition in configuration.partitions:
        first = owners.setdefault(partition.name.value, partition)
        if first is not partition:
            message = f"partition {partition.name.value} stands already in line {first.line.place.line}"
            yield partition.name.value_place.finding("partition-twice", message, hint="put its keys on one line")


@rule("partition-nodes")
def nodes(configuration: Configuration) -> Iterator[Finding]:
    """A partition or node set that names an unknown node keeps slurmctld from starting."""
    known = {*configuration.node_names, *(one.name.value for one in configuration.node_sets)}
    for owner in (*configuration.partitions, *configuration.node_sets):
        setting = owner.settings.get("Nodes")
        if setting is None or setting.value in ("ALL", "") or _swallowed(setting):
            continue
        try:
            named = expand(setting.value)
        except HostlistError as error:
            yield setting.value_place.finding("partition-nodes", str(error), hint=hint_for(setting.value))
            continue
        if configuration.node_list_is_complete:
            yield from _unknown(owner, setting, [name for name in named if name not in known and name != "ALL"], known)


def _unknown(owner: Definition, setting: Setting, names: list[str], known: set[str]) -> Iterator[Finding]:
    if not names:
        return
    lower = {name.lower(): name for name in known}
    near = [lower[name.lower()] for name in names if name.lower() in lower]
    hint = f"names differ by case: {fold(near)}" if near else "define it with NodeName, or remove it here"
    message = f"{owner.name.value}: no NodeName or NodeSet defines {fold(names)}"
    yield setting.value_place.finding("partition-nodes", message, hint=hint)


@rule("partition-empty")
def empty(configuration: Configuration) -> Iterator[Finding]:
    """A partition without nodes never starts a job."""
    for partition in configuration.partitions:
        setting = partition.settings.get("Nodes")
        if setting is not None and _swallowed(setting):
            message = f'Nodes= has no value of its own, so "{setting.value}" became its value'
            yield setting.place.finding("partition-empty", message, hint='write Nodes="" for no nodes, or name some')
        elif setting is None:
            message = f"partition {partition.name.value} names no nodes"
            yield partition.name.value_place.finding("partition-empty", message, level="warning", hint="add Nodes=")


def _swallowed(setting: Setting) -> bool:
    """Whether the value was empty, so that Slurm took the next key=value for it."""
    return "=" in setting.value


@rule("partition-default")
def default(configuration: Configuration) -> Iterator[Finding]:
    """One partition takes the jobs that name none; of several the last one does."""
    chosen = [
        partition
        for partition in configuration.partitions
        if (partition.value("Default") or "").lower() in ("yes", "true", "1", "up")
    ]
    for partition in chosen[1:]:
        message = f"partitions {chosen[0].name.value} and {partition.name.value} are both the default"
        place = partition.settings["Default"].place
        yield place.finding("partition-default", message, level="warning", hint="the last one wins; leave one")
    if configuration.partitions and not chosen and configuration.is_whole:
        message = "no partition is the default; sbatch without -p is refused"
        place = configuration.partitions[0].name.value_place
        yield place.finding("partition-default", message, level="warning", hint="add Default=YES to one")


@rule("node-set")
def node_sets(configuration: Configuration) -> Iterator[Finding]:
    """A node set without nodes."""
    have = {feature for node in configuration.nodes for feature in features_of(node)}
    for one in configuration.node_sets:
        feature = one.settings.get("Features")
        if feature is not None and configuration.node_list_is_complete and feature.value.lower() not in have:
            message = f'node set {one.name.value}: no node has the feature "{feature.value}"'
            yield feature.value_place.finding("node-set", message, level="warning")
        elif feature is None and "Nodes" not in one.settings:
            message = f"node set {one.name.value} has neither Feature nor Nodes"
            yield one.name.value_place.finding("node-set", message, hint="add one of them")
