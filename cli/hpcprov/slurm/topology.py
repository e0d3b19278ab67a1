"""Network topology: topology.conf (tree and block) and topology.yaml, read and written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.hostlist import HostlistError, expand, fold
from hpcprov.slurm.read import Line
from hpcprov.slurm.values import as_list, record


@dataclass(frozen=True)
class Switch:
    """A switch with the nodes or the switches below it. `link_speed` is a relative number."""

    name: str
    nodes: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    link_speed: int | None = None


@dataclass(frozen=True)
class Block:
    """Nodes that share one fast network."""

    name: str
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Topology:
    """A tree of switches, or blocks with the sizes in which jobs may be placed (nodes, the smallest first)."""

    switches: tuple[Switch, ...] = ()
    blocks: tuple[Block, ...] = ()
    block_sizes: tuple[int, ...] = ()

    @property
    def holders(self) -> list[Switch | Block]:
        """All that nodes hang on."""
        return [*self.switches, *self.blocks]

    @property
    def nodes(self) -> list[str]:
        """Every node that has a place, once."""
        return list(dict.fromkeys(node for holder in self.holders for node in holder.nodes))

    @property
    def roots(self) -> list[str]:
        """Switches that are below no other one."""
        below = {name for switch in self.switches for name in switch.switches}
        return [switch.name for switch in self.switches if switch.name not in below]

    def unknown_switches(self) -> Iterator[tuple[Switch, str]]:
        """Switches that are named below another one and nowhere defined."""
        known = {switch.name for switch in self.switches}
        for switch in self.switches:
            for name in switch.switches:
                if name not in known:
                    yield switch, name

    def loop(self) -> list[str]:
        """The names of switches of which each is below the one before it, the last one above the first; or none."""
        below = {switch.name: switch.switches for switch in self.switches}
        done: set[str] = set()
        for start in below:
            found = _loop_from(start, below, [], done)
            if found:
                return found
        return []

    def connected_roots(self) -> list[list[str]]:
        """The roots in groups of which each reaches some of the same leaves; more than one group is no single tree."""
        leaves = {switch.name: self._leaves(switch.name, frozenset()) for switch in self.switches}
        groups: list[tuple[list[str], set[str]]] = []
        for root in self.roots:
            joined: tuple[list[str], set[str]] = ([root], set(leaves[root]) | {root})
            apart = []
            for group in groups:
                if group[1] & joined[1]:
                    joined = (group[0] + joined[0], group[1] | joined[1])
                else:
                    apart.append(group)
            groups = [*apart, joined]
        return [names for names, _ in groups]

    def _leaves(self, name: str, inside: frozenset[str]) -> set[str]:
        switch = next((one for one in self.switches if one.name == name), None)
        if switch is None or name in inside:
            return set()
        own = {name} if switch.nodes else set()
        return own.union(*(self._leaves(below, inside | {name}) for below in switch.switches))


def _loop_from(name: str, below: Mapping[str, Sequence[str]], path: list[str], done: set[str]) -> list[str]:
    if name in path:
        return path[path.index(name) :]
    if name in done:
        return []
    for child in below.get(name, ()):
        found = _loop_from(child, below, [*path, name], done)
        if found:
            return found
    done.add(name)
    return []


def topology_conf(topology: Topology) -> str:
    """The text of topology.conf, one line for each switch or block."""
    lines = [
        record(
            {
                "SwitchName": switch.name,
                "Nodes": fold(switch.nodes) if switch.nodes else None,
                "Switches": fold(switch.switches) if switch.switches else None,
                "LinkSpeed": switch.link_speed,
            }
        )
        for switch in topology.switches
    ]
    lines += [record({"BlockName": block.name, "Nodes": fold(block.nodes)}) for block in topology.blocks]
    if topology.block_sizes:
        lines.append(record({"BlockSizes": list(topology.block_sizes)}))
    return "".join(f"{line}\n" for line in lines)


def read_topology_conf(lines: Iterable[Line]) -> Topology:
    """The topology of a read topology.conf. Raises SlurmConfigError with every hostlist that Slurm cannot read."""
    switches: list[Switch] = []
    blocks: list[Block] = []
    sizes: tuple[int, ...] = ()
    problems: list[str] = []

    def names(line: Line, key: str) -> tuple[str, ...]:
        setting = line.get(key)
        try:
            return tuple(expand(setting.value)) if setting else ()
        except HostlistError as error:
            problems.append(str(error))
            return ()

    for line in lines:
        if line.key == "switchname":
            speed = line.get("LinkSpeed")
            number = int(speed.value) if speed and speed.value.isdecimal() else None
            name = line.settings[0].value
            switches.append(Switch(name, names(line, "Nodes"), names(line, "Switches"), number))
        elif line.key == "blockname":
            blocks.append(Block(line.settings[0].value, names(line, "Nodes")))
        elif line.key == "blocksizes":
            sizes = tuple(int(part) for part in line.settings[0].value.split(",") if part.strip().isdecimal())
    if problems:
        raise SlurmConfigError(problems)
    return Topology(tuple(switches), tuple(blocks), sizes)


def topology_yaml(topologies: Mapping[str, Topology]) -> list[dict[str, Any]]:
    """The content of topology.yaml (Slurm 25.05 and later), ready for a YAML writer; the first one is the default."""
    entries: list[dict[str, Any]] = []
    for name, topology in topologies.items():
        entry: dict[str, Any] = {"topology": name, "cluster_default": not entries}
        if topology.switches:
            entry["tree"] = {"switches": [_switch_entry(switch) for switch in topology.switches]}
        if topology.blocks:
            blocks = [{"block": block.name, "nodes": fold(block.nodes)} for block in topology.blocks]
            entry["block"] = {"block_sizes": list(topology.block_sizes), "blocks": blocks}
        if not topology.switches and not topology.blocks:
            entry["flat"] = True
        entries.append(entry)
    return entries


def _switch_entry(switch: Switch) -> dict[str, Any]:
    entry: dict[str, Any] = {"switch": switch.name}
    if switch.switches:
        entry["children"] = fold(switch.switches)
    if switch.nodes:
        entry["nodes"] = fold(switch.nodes)
    return entry


def read_topology_yaml(data: Any) -> dict[str, Topology]:
    """The topologies of a parsed topology.yaml, by name. Raises SlurmConfigError."""
    if not isinstance(data, list) or not all(isinstance(entry, Mapping) and "topology" in entry for entry in data):
        raise SlurmConfigError(["must be a list of entries, each with a topology"])
    found: dict[str, Topology] = {}
    for entry in data:
        name = str(entry["topology"])
        if name in found:
            raise SlurmConfigError([f"topology {name} stands twice"])
        try:
            found[name] = _topology_of(entry)
        except HostlistError as error:
            raise SlurmConfigError([f"topology {name}: {error}"]) from error
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise SlurmConfigError([f"topology {name}: a part of it has another form ({error})"]) from error
    return found


def _topology_of(entry: Mapping[str, Any]) -> Topology:
    tree, block = entry.get("tree") or {}, entry.get("block") or {}
    switches = tuple(
        Switch(
            str(item["switch"]),
            tuple(expand(str(item.get("nodes") or ""))),
            tuple(expand(str(item.get("children") or ""))),
        )
        for item in as_list(tree.get("switches"))
    )
    blocks = tuple(
        Block(str(item["block"]), tuple(expand(str(item.get("nodes") or "")))) for item in as_list(block.get("blocks"))
    )
    return Topology(switches, blocks, tuple(int(size) for size in as_list(block.get("block_sizes"))))
