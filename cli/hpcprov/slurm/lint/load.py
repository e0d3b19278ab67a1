"""From files on disk to findings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hpcprov.errors import Finding
from hpcprov.site.document import Document, read_document
from hpcprov.site.findings import Findings, Place
from hpcprov.slurm.include import load_text, read_with_includes
from hpcprov.slurm.lint.configuration import KINDS, Configuration
from hpcprov.slurm.lint.registry import load_rules
from hpcprov.slurm.read import Line

# What slurmctld reads beside slurm.conf.
BESIDE = ("gres.conf", "cgroup.conf", "topology.conf", "topology.yaml")
_SIGNS = {
    "slurmdbd.conf": r"^\s*(?:DbdHost|DbdAddr|StoragePass|StorageLoc|PurgeJobAfter)\s*=",
    "slurm.conf": r"^\s*(?:ClusterName|ControlMachine|SlurmctldHost|NodeName\s*=\S+\s+.*(?:CPUs|Sockets|RealMemory)"
    r"|PartitionName)\s*=",
    "topology.conf": r"^\s*(?:SwitchName|BlockName|RingName)\s*=",
    "cgroup.conf": r"^\s*(?:Constrain\w+|Cgroup\w+)\s*=",
    "gres.conf": r"^\s*(?:AutoDetect|(?:NodeName=\S+\s+)?Name)\s*=",
    "topology.yaml": r"^-?\s*topology\s*:",
}


@dataclass
class Loaded:
    """Configurations that were read (one for each folder), and what could not be."""

    configurations: list[Configuration] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def kind_of(path: Path, text: str) -> str | None:
    """The kind of a file by its name, else by what it says; None when neither tells."""
    if path.name in KINDS:
        return path.name
    return next((kind for kind, sign in _SIGNS.items() if re.search(sign, text, re.MULTILINE | re.IGNORECASE)), None)


def load(paths: Iterable[Path], kind: str | None = None, release: str | None = None) -> Loaded:
    """Read the named files, and beside a slurm.conf what slurmctld would read too. A folder stands for its files.

    `kind` names the kind of all of them; otherwise name and content tell it.
    """
    loaded = Loaded()
    by_folder: dict[Path, _Folder] = {}
    for path in _files(paths):
        folder = by_folder.setdefault(path.resolve().parent, _Folder())
        found = folder.add(path, kind, loaded.findings)
        if found == "slurm.conf":
            for name in BESIDE:
                beside = path.parent / name
                if beside.is_file():
                    folder.add(beside, name, loaded.findings)
    loaded.configurations = [replace(folder.configuration(), release=release) for folder in by_folder.values()]
    return loaded


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        known = [path / name for name in KINDS if (path / name).is_file()] if path.is_dir() else []
        yield from known or [path]


def lint(paths: Iterable[Path], kind: str | None = None, release: str | None = None) -> list[Finding]:
    """Every finding in these files, in file order."""
    loaded = load(paths, kind, release)
    findings = Findings(list(loaded.findings))
    for configuration in loaded.configurations:
        findings.items += check(configuration)
    return findings.ordered()


def check(configuration: Configuration) -> list[Finding]:
    """What the rules say about a configuration that was read."""
    return [finding for rule in load_rules().values() for finding in rule.check(configuration)]


@dataclass
class _Folder:
    """What was read from one folder."""

    files: dict[str, list[Line]] = field(default_factory=dict)
    documents: dict[str, Any] = field(default_factory=dict)
    paths: dict[str, Path] = field(default_factory=dict)
    modes: dict[str, int] = field(default_factory=dict)
    beside: set[str] = field(default_factory=set)

    def add(self, path: Path, kind: str | None, findings: list[Finding]) -> str | None:
        """Read a file; its kind, or None when it could not be told or read."""
        if path in self.paths.values():
            return kind
        try:
            text = load_text(path)
            kind = kind or kind_of(path, text)
            if kind is None:
                hint = f"name it with --kind: {', '.join(KINDS)}"
                findings.append(Place(path).finding("file", "is none of Slurm's files, by name and content", hint=hint))
                return None
            self._read(path, kind, text, findings)
        except OSError as error:
            findings.append(Place(path).finding("file", f"cannot be read: {error.strerror}"))
            return None
        self.paths.setdefault(kind, path)
        self.modes[kind] = path.stat().st_mode & 0o777
        self.beside |= {entry.name for entry in path.parent.iterdir()}
        return kind

    def _read(self, path: Path, kind: str, text: str, findings: list[Finding]) -> None:
        if kind == "topology.yaml":
            collected = Findings()
            document = read_document(path, collected, text=text)
            findings += collected.items
            self.documents[kind] = document or Document(path)
            return
        lines, problems = read_with_includes(path)
        findings += problems
        self.files.setdefault(kind, []).extend(lines)

    def configuration(self) -> Configuration:
        return Configuration(
            files=self.files,
            documents=self.documents,
            paths=self.paths,
            folder_files=frozenset(self.beside),
            modes=self.modes,
        )
