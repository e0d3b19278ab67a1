"""Variables of hosts by Ansible's precedence: the inventory's, then group_vars/ and host_vars/ beside it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from hpcprov.site.document import read_document
from hpcprov.site.findings import Findings, Place
from hpcprov.site.tree import HostEntry, Layer, Tree

EXTENSIONS = ("", ".yml", ".yaml", ".json")


class Variables:
    """Layers of variables for every host of a tree, lowest precedence first."""

    def __init__(self, tree: Tree, folder: Path, findings: Findings) -> None:
        self.tree = tree
        self.folder = folder
        self.findings = findings
        self._depths = tree.depths()
        self._groups_of: dict[tuple[str, ...], tuple[str, ...]] = {}

    @cached_property
    def _group_files(self) -> dict[str, list[Layer]]:
        return self._folder_layers("group_vars", set(self.tree.groups))

    @cached_property
    def _host_files(self) -> dict[str, list[Layer]]:
        return self._folder_layers("host_vars", set(self.tree.hosts))

    def group_names(self, host: HostEntry) -> tuple[str, ...]:
        """All groups of a host, `all` and parents too, in the order in which Ansible applies them."""
        direct = tuple(host.groups)
        if direct not in self._groups_of:
            names = {"all", *direct}
            for name in direct:
                names.update(self.tree.ancestors(name))
            self._groups_of[direct] = tuple(sorted(names, key=self._order))
        return self._groups_of[direct]

    def _order(self, name: str) -> tuple[int, int, str]:
        return self._depths[name], self._priority(name), name

    def _priority(self, name: str) -> int:
        value: Any = 1
        for layer in self.tree.groups[name].layers:
            value = layer.values.get("ansible_group_priority", value)
        return value if isinstance(value, int) else 1

    def group_layers(self, names: tuple[str, ...]) -> list[Layer]:
        """Layers of these groups: those in the inventory file first, then the files of group_vars/."""
        inventory = [layer for name in names for layer in self.tree.groups[name].layers]
        return inventory + [layer for name in names for layer in self._group_files.get(name, [])]

    def host_layers(self, host: HostEntry) -> list[Layer]:
        return host.layers + self._host_files.get(host.name, [])

    def all_layers(self) -> Iterator[Layer]:
        """Every layer once, for rules that look at what is written rather than at what it comes to."""
        for group in self.tree.groups.values():
            yield from group.layers
        seen: set[int] = set()
        for host in self.tree.hosts.values():
            for layer in host.layers:
                if id(layer) not in seen:
                    seen.add(id(layer))
                    yield layer
        for layers in (*self._group_files.values(), *self._host_files.values()):
            yield from layers

    def _folder_layers(self, kind: str, names: set[str]) -> dict[str, list[Layer]]:
        folder = self.folder / kind
        if not folder.is_dir():
            return {}
        present = sorted({_name_of(entry) for entry in folder.iterdir()} & names)
        return {name: list(self._file_layers(folder, name)) for name in present}

    def _file_layers(self, folder: Path, name: str) -> Iterator[Layer]:
        for path in _variable_files(folder, name):
            layer = self._read(path)
            if layer is not None:
                yield layer

    def _read(self, path: Path) -> Layer | None:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            text = None
        if text is not None and text.startswith("$ANSIBLE_VAULT"):
            return None  # encrypted as a whole: Ansible opens it, here it stays closed
        document = read_document(path, self.findings, text=text)
        if document is None or document.data is None:
            return None
        if not isinstance(document.data, dict):
            self.findings.error(Place(path, 1, 1), "vars-not-mapping", "must hold variables, `name: value`")
            return None
        return Layer(document, (), document.data)


def _name_of(entry: Path) -> str:
    return entry.stem if entry.suffix in EXTENSIONS[1:] and not entry.is_dir() else entry.name


def _variable_files(folder: Path, name: str) -> list[Path]:
    """The first of NAME (file or directory), NAME.yml, NAME.yaml, NAME.json that exists, as Ansible does."""
    for extension in EXTENSIONS:
        path = folder / f"{name}{extension}"
        if path.is_dir():
            return list(_files_below(path))
        if path.exists():
            return [path]
    return []


def _files_below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name.endswith("~"):
            continue
        if path.is_dir() and not path.suffix:
            yield from _files_below(path)
        elif path.is_file() and path.suffix in EXTENSIONS:
            yield path
