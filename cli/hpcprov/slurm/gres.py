"""Generic resources (GPUs above all): what a node offers, and gres.conf."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.hostlist import HostlistError, expand, fold
from hpcprov.slurm.values import as_list, record

_WORD = re.compile(r"^[A-Za-z][\w.-]*$")
_COUNT = re.compile(r"^\d+[KMGTP]?$", re.IGNORECASE)


@dataclass(frozen=True)
class Gres:
    """One resource of a node. `files` are its device files; without them it is a number only."""

    name: str
    count: str
    type: str | None = None
    files: tuple[str, ...] = ()
    flags: str | None = None

    def __str__(self) -> str:
        """As in a NodeName line: `gpu:a100:4`."""
        return ":".join(part for part in (self.name, self.type, self.count) if part)


def parse_gres(item: Any) -> Gres:
    """`gpu:4`, `gpu:a100:4` or a mapping with name, type, count, file. Raises SlurmConfigError."""
    if isinstance(item, Mapping):
        return _from_mapping(item)
    parts = re.sub(r"\(.*\)$", "", str(item).strip()).split(":")
    # `gpu:8` is a count and never the type "8".
    count = parts.pop() if len(parts) > 1 and _COUNT.match(parts[-1]) else "1"
    if len(parts) not in (1, 2) or not all(_WORD.match(part) for part in parts[:1]) or not all(parts):
        raise SlurmConfigError([f'slurm_gres "{item}" is not name[:type]:count, such as gpu:a100:4'])
    return Gres(parts[0], count, parts[1] if len(parts) == 2 else None)


def _from_mapping(item: Mapping[str, Any]) -> Gres:
    unknown = set(item) - {"name", "type", "count", "file", "files", "flags"}
    if unknown or "name" not in item:
        wrong = f"unknown key {sorted(unknown)[0]}" if unknown else "name is missing"
        raise SlurmConfigError([f"slurm_gres {dict(item)}: {wrong}; known are name, type, count, file, flags"])
    try:
        files = tuple(path for text in as_list(item.get("file", item.get("files"))) for path in expand(str(text)))
    except HostlistError as error:
        raise SlurmConfigError([f"slurm_gres {dict(item)}: {error}"]) from error
    count = str(item.get("count", len(files) or 1))
    kind = str(item["type"]) if item.get("type") else None
    return Gres(str(item["name"]), count, kind, files, str(item["flags"]) if item.get("flags") else None)


def gpu_gres(gpus: Iterable[Mapping[str, Any]]) -> list[Gres]:
    """The GPUs that a node reported, one resource for each type."""
    by_type: dict[str | None, list[str]] = {}
    for gpu in gpus:
        by_type.setdefault(gpu.get("type") or None, []).append(str(gpu["file"]))
    return [Gres("gpu", str(len(files)), kind, tuple(files)) for kind, files in by_type.items()]


def node_gres(wanted: Any, gpus: Iterable[Mapping[str, Any]] | None) -> list[Gres]:
    """The resources of a node: what the site says, with the device files that the node reported.

    Without a word from the site, what the node reported. Raises SlurmConfigError when the site promises GPUs
    that are not there: Slurm drains such a node ("gres/gpu count reported lower than configured").
    """
    reported = None if gpus is None else list(gpus)
    if wanted is None or wanted == "":
        return gpu_gres(reported or [])
    items = [part for item in as_list(wanted) for part in (str(item).split(",") if isinstance(item, str) else [item])]
    free = [str(gpu["file"]) for gpu in reported or []]
    return [_with_files(parse_gres(item), free, reported) for item in items if item != ""]


def _with_files(gres: Gres, free: list[str], reported: list[Mapping[str, Any]] | None) -> Gres:
    if gres.name != "gpu" or gres.files or reported is None:
        return gres
    count = int(gres.count)
    if count > len(free):
        raise SlurmConfigError(
            [f"slurm_gres promises {gres}, but the node shows {len(reported)} GPU device files (/dev/nvidia*)"]
        )
    files = tuple(free[:count])
    del free[:count]
    return Gres(gres.name, gres.count, gres.type, files, gres.flags)


def gres_conf(nodes: Mapping[str, Iterable[Gres]], autodetect: Iterable[str] = ()) -> str:
    """gres.conf for the whole cluster: each line names its nodes, alike nodes share a line.

    Nodes in `autodetect` have Slurm's NVML plugin and find their GPUs, cores and links by themselves.
    """
    by_itself = set(autodetect)
    lines: dict[str, list[str]] = {}
    for node, resources in nodes.items():
        for gres in resources:
            lines.setdefault(_line(gres, node in by_itself), []).append(node)
    return "".join(f"NodeName={fold(names)} {line}\n" for line, names in lines.items())


def _line(gres: Gres, autodetect: bool) -> str:
    if autodetect and gres.name == "gpu":
        return "AutoDetect=nvml"
    return record(
        {
            "Name": gres.name,
            "Type": gres.type,
            "File": fold(gres.files) if gres.files else None,
            "Count": None if gres.files else gres.count,
            "Flags": gres.flags,
        }
    )
