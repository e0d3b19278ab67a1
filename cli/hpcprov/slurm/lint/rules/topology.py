"""topology.conf and topology.yaml, and how they fit the nodes."""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.errors import Finding
from hpcprov.site.findings import Place, did_you_mean
from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.hostlist import HostlistError, expand, fold
from hpcprov.slurm.lint.configuration import Configuration
from hpcprov.slurm.lint.registry import rule
from hpcprov.slurm.lint.rules.syntax import hint_for
from hpcprov.slurm.read import Line
from hpcprov.slurm.topology import Topology, read_topology_conf, read_topology_yaml

_NEEDS_FILE = ("topology/tree", "topology/block", "topology/ring")


def _topologies(configuration: Configuration) -> Iterator[tuple[Topology, dict[str, Line], Place]]:
    """Each topology that could be read, with the line of each switch or block, and its file."""
    if configuration.lines("topology.conf"):
        lines = configuration.lines("topology.conf")
        try:
            topology = read_topology_conf(lines)
        except SlurmConfigError:
            return  # told by the rule for hostlists
        places = {line.settings[0].value: line for line in lines if line.key in ("switchname", "blockname")}
        yield topology, places, configuration.place("topology.conf")
    document = configuration.documents.get("topology.yaml")
    if document is not None and document.data is not None:
        try:
            for topology in read_topology_yaml(document.data).values():
                yield topology, {}, configuration.place("topology.yaml")
        except SlurmConfigError:
            return


def _place(places: dict[str, Line], name: str, key: str, file: Place) -> Place:
    """Where the key of a switch or block is written, else the switch, else the file."""
    line = places.get(name)
    if line is None:
        return file
    setting = line.get(key)
    return setting.value_place if setting else line.place


@rule("topology-hostlist")
def hostlists(configuration: Configuration) -> Iterator[Finding]:
    """Nodes and Switches are hostlists."""
    for line in configuration.lines("topology.conf"):
        for setting in line.settings[1:]:
            if setting.key.lower() not in ("nodes", "switches"):
                continue
            try:
                expand(setting.value)
            except HostlistError as error:
                yield setting.value_place.finding("topology-hostlist", str(error), hint=hint_for(setting.value))
    document = configuration.documents.get("topology.yaml")
    if document is not None and document.data is not None:
        try:
            read_topology_yaml(document.data)
        except SlurmConfigError as error:
            for problem in error.problems:
                hint = "see topology.yaml(5)"
                yield configuration.place("topology.yaml").finding("topology-hostlist", problem, hint=hint)


@rule("topology-twice")
def twice(configuration: Configuration) -> Iterator[Finding]:
    """A switch or block is defined once, and a node hangs on one switch."""
    seen: dict[str, Line] = {}
    for line in configuration.lines("topology.conf"):
        if line.key not in ("switchname", "blockname", "ringname"):
            continue
        name = line.settings[0]
        first = seen.setdefault(name.value, line)
        if first is not line:
            message = f"{name.value} stands already in line {first.place.line}"
            yield name.value_place.finding("topology-twice", message, hint="put its nodes on one line")
    for topology, places, file in _topologies(configuration):
        owners: dict[str, str] = {}
        for item in topology.holders:
            again = [node for node in item.nodes if owners.setdefault(node, item.name) != item.name]
            if again:
                message = f"{fold(again)} hangs on {owners[again[0]]} too"
                yield _place(places, item.name, "Nodes", file).finding("topology-twice", message, level="warning")


@rule("topology-nodes")
def nodes(configuration: Configuration) -> Iterator[Finding]:
    """Nodes that slurm.conf does not have, and nodes that no switch has."""
    if not configuration.node_list_is_complete:
        return
    for topology, places, file in _topologies(configuration):
        for item in topology.holders:
            unknown = [node for node in item.nodes if node not in configuration.node_names and node != "ALL"]
            if unknown:
                message = f"{item.name}: slurm.conf defines no node {fold(unknown)}"
                hint = "remove it here, or define it with NodeName"
                yield _place(places, item.name, "Nodes", file).finding("topology-nodes", message, hint=hint)
        if "ALL" in topology.nodes or not topology.nodes:
            continue
        lost = sorted(configuration.node_names - set(topology.nodes))
        if lost:
            message = f"{fold(lost)} hangs on no switch; jobs do not get it together with others"
            yield file.finding("topology-nodes", message, level="warning", hint="add it to the Nodes of a switch")


@rule("topology-switches")
def switches(configuration: Configuration) -> Iterator[Finding]:
    """Switches below each other make a tree: each is defined, none is below itself."""
    for topology, places, file in _topologies(configuration):
        for switch, name in topology.unknown_switches():
            message = f"{switch.name}: no SwitchName defines {name}"
            hint = (
                did_you_mean(name, {one.name for one in topology.switches} - {switch.name}) or "define it, or remove it"
            )
            yield _place(places, switch.name, "Switches", file).finding("topology-switches", message, hint=hint)
        for switch in topology.switches:
            if switch.nodes and switch.switches:
                message = f"{switch.name} has both Nodes and Switches"
                hint = "a switch has nodes below it or switches; make a switch for the nodes"
                yield _place(places, switch.name, "Switches", file).finding("topology-switches", message, hint=hint)
            elif not switch.nodes and not switch.switches:
                message = f"{switch.name} has neither Nodes nor Switches"
                yield _place(places, switch.name, "", file).finding("topology-switches", message, hint="add one")
        loop = topology.loop()
        if loop:
            message = f"switches go round in a circle: {' > '.join([*loop, loop[0]])}"
            hint = "take one of them out of the Switches of the one above"
            yield _place(places, loop[0], "Switches", file).finding("topology-switches", message, hint=hint)


@rule("topology-apart")
def apart(configuration: Configuration) -> Iterator[Finding]:
    """Several trees are allowed; no job runs across them."""
    for topology, places, file in _topologies(configuration):
        if topology.loop():
            continue
        groups = topology.connected_roots()
        if len(groups) > 1:
            names = ", ".join(fold(group) for group in groups)
            message = f"{len(groups)} networks that are not connected, below {names}; no job runs across them"
            hint = "right if they are apart on purpose; else add a switch above them"
            yield _place(places, groups[1][0], "", file).finding("topology-apart", message, level="warning", hint=hint)


@rule("topology-blocks")
def blocks(configuration: Configuration) -> Iterator[Finding]:
    """Block sizes: each the smallest one, doubled some times, and no larger than all blocks together."""
    for topology, _, file in _topologies(configuration):
        setting = configuration.option("topology.conf", "BlockSizes")
        place = setting.value_place if setting else file
        sizes = topology.block_sizes
        for size in sizes[1:]:
            ratio = size // sizes[0] if sizes[0] else 0
            if not ratio or size % sizes[0] or ratio & (ratio - 1):
                message = f"block size {size} is not {sizes[0]} times a power of two"
                yield place.finding("topology-blocks", message, hint="for example 4,8,16")
        if topology.switches and topology.blocks:
            yield place.finding("topology-blocks", "holds both switches and blocks", hint="one of them is a topology")


@rule("topology-missing")
def missing(configuration: Configuration) -> Iterator[Finding]:
    """A topology plugin without its file keeps slurmctld from starting; a file without the plugin is not read."""
    plugin = configuration.option("slurm.conf", "TopologyPlugin")
    files = {"topology.conf", "topology.yaml"} & {*configuration.files, *configuration.documents}
    beside = {"topology.conf", "topology.yaml"} & configuration.folder_files
    if plugin and plugin.value.lower() in _NEEDS_FILE and not files and not beside and configuration.is_whole:
        message = f"{plugin.value} needs topology.conf, and there is none beside slurm.conf"
        yield plugin.value_place.finding("topology-missing", message, hint="write it, or remove TopologyPlugin")
    if "topology.conf" in files and configuration.is_whole and (not plugin or plugin.value.lower() not in _NEEDS_FILE):
        message = "slurm.conf has no TopologyPlugin that reads this file"
        hint = "write TopologyPlugin=topology/tree, or topology/block"
        yield configuration.place("topology.conf").finding("topology-missing", message, level="warning", hint=hint)
