"""The files of one cluster as the rules see them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hpcprov.site.findings import Place
from hpcprov.slurm.definitions import Definition, all_names, definitions
from hpcprov.slurm.keys import Key, KeyTable, table
from hpcprov.slurm.read import Line, Setting

# Kind of file: its name. The name of a kind is that of its key table.
KINDS = ("slurm.conf", "gres.conf", "cgroup.conf", "slurmdbd.conf", "topology.conf", "topology.yaml")
# Key that begins a record: the table of its options.
_RECORDS: dict[str, dict[str, str]] = {
    "slurm.conf": {
        name.lower(): f"slurm.conf {name}"
        for name in ("NodeName", "PartitionName", "DownNodes", "FrontendName", "NodeSet", "PowerAction")
    },
    "gres.conf": {"name": "gres.conf NodeName", "nodename": "gres.conf NodeName"},
    "topology.conf": {
        "switchname": "topology.conf SwitchName",
        "blockname": "topology.conf BlockName",
        "ringname": "topology.conf RingName",
    },
}
_TOPOLOGY_KEYS = {
    **{name.lower(): Key(name, "records") for name in ("SwitchName", "RingName")},
    "blockname": Key("BlockName", "records", since="23.11"),
    "blocksizes": Key("BlockSizes", "string", since="24.05"),
    "blocklevels": Key("BlockLevels", "string", since="23.11", last="23.11"),
}


def main_table(kind: str) -> KeyTable:
    """The keys that may begin a line of a file."""
    return KeyTable("topology.conf", _TOPOLOGY_KEYS) if kind == "topology.conf" else table(kind)


def record_table(kind: str, line: Line) -> KeyTable | None:
    """The keys that may follow the first one of this line; None where nothing may."""
    name = _RECORDS.get(kind, {}).get(line.key)
    return table(name) if name else None


@dataclass(frozen=True)
class Configuration:
    """Lines of each kind of file that was read. `release` is the Slurm to judge by; None judges by no version.

    `folder_files` are the names of files that lie beside slurm.conf, `modes` the permission bits of files.
    """

    files: Mapping[str, list[Line]]
    release: str | None = None
    documents: Mapping[str, Any] = field(default_factory=dict)
    paths: Mapping[str, Path] = field(default_factory=dict)
    folder_files: frozenset[str] = frozenset()
    modes: Mapping[str, int] = field(default_factory=dict)

    def lines(self, kind: str) -> list[Line]:
        return self.files.get(kind, [])

    def has(self, kind: str) -> bool:
        return kind in self.files or kind in self.documents

    def place(self, kind: str) -> Place:
        """The file as a whole."""
        return Place(self.paths.get(kind, Path(kind)))

    def option(self, kind: str, key: str) -> Setting | None:
        """The last setting of a plain option, which is the one that counts."""
        found = [line.settings[0] for line in self.lines(kind) if line.key == key.lower()]
        return found[-1] if found else None

    def options(self, kind: str, key: str) -> list[Setting]:
        return [line.settings[0] for line in self.lines(kind) if line.key == key.lower()]

    @property
    def is_whole(self) -> bool:
        """Whether slurm.conf is a whole one, not only a part that another file includes."""
        return any(self.option("slurm.conf", key) for key in ("ClusterName", "SlurmctldHost", "ControlMachine"))

    @cached_property
    def nodes(self) -> list[Definition]:
        return definitions(self.lines("slurm.conf"), "NodeName")

    @cached_property
    def partitions(self) -> list[Definition]:
        return definitions(self.lines("slurm.conf"), "PartitionName")

    @cached_property
    def node_sets(self) -> list[Definition]:
        return definitions(self.lines("slurm.conf"), "NodeSet")

    @cached_property
    def node_names(self) -> frozenset[str]:
        return frozenset(all_names(self.nodes))

    @property
    def node_list_is_complete(self) -> bool:
        """Whether a name that is not defined is wrong: not in a part of a file, not where a hostlist is unreadable."""
        unread = next(self._missing_includes(), None) is not None
        return bool(self.nodes) and not unread and all(node.problem is None for node in self.nodes)

    def _missing_includes(self) -> Iterator[Line]:
        """Include lines behind which nothing was read."""
        lines = self.lines("slurm.conf")
        for number, line in enumerate(lines):
            if line.include is None:
                continue
            after = lines[number + 1] if number + 1 < len(lines) else None
            if after is None or after.place.file == line.place.file:
                yield line
