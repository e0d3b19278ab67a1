"""What a slurm.conf says, in a form that can be compared: options, nodes and partitions by name."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from hpcprov.slurm.definitions import Definition, definitions
from hpcprov.slurm.hostlist import HostlistError, expand
from hpcprov.slurm.keys import table
from hpcprov.slurm.read import Line, read

Items = dict[str, dict[str, str]]
# Options whose value may be a password. What is kept and shown of one is a digest.
SECRET = ("AccountingStoragePass", "JobCompPass")
_SECRET_LINE = re.compile(
    rf"^(\s*(?:{'|'.join(SECRET)})\s*=\s*)(?!sha256:|\(vault\))(\S.*?)\s*$", re.IGNORECASE | re.MULTILINE
)
_SAME = {"Sockets": "SocketsPerBoard"}
_RECORDS = ("nodename", "partitionname")


@dataclass(frozen=True)
class Conf:
    """slurm.conf. An option that stands on several lines has its values joined by commas."""

    options: dict[str, str] = field(default_factory=dict)
    nodes: Items = field(default_factory=dict)
    partitions: Items = field(default_factory=dict)


def digest(secret: bytes) -> str:
    """What may be kept of a secret: enough to see that it changed."""
    return "sha256:" + hashlib.sha256(secret).hexdigest()[:16]


def without_secrets(text: str) -> str:
    """The text with a digest in place of each password. Doing it twice changes nothing more."""
    return _SECRET_LINE.sub(lambda found: found.group(1) + digest(found.group(2).encode()), text)


@lru_cache(maxsize=8)
def parse(text: str) -> Conf:
    """Read a slurm.conf. What Slurm could not read either is left out."""
    lines = read(text, Path("slurm.conf"))
    return Conf(
        options=options(lines),
        nodes=dict(_items(definitions(lines, "NodeName"))),
        partitions=dict(_items(definitions(lines, "PartitionName"))),
    )


def options(lines: list[Line], what: str = "slurm.conf") -> dict[str, str]:
    """The settings that are no nodes and partitions, in Slurm's spelling."""
    keys = table(what)
    found: dict[str, str] = {}
    for line in lines:
        if line.key in _RECORDS or not line.settings:
            continue
        known = keys.find(line.key)
        name = known.name if known else line.settings[0].key
        # The further words of a record such as NodeSet belong to its name.
        value = " ".join([line.settings[0].value, *(f"{item.key}={item.value}" for item in line.settings[1:])])
        found[name] = f"{found[name]},{value}" if name in found else value
    return found


def key_values(text: str, what: str) -> dict[str, str]:
    """The settings of a file without records, such as cgroup.conf."""
    return options(read(text, Path(what)), what)


def _items(found: list[Definition]) -> Iterator[tuple[str, dict[str, str]]]:
    for definition in found:
        values = {_SAME.get(key, key): value for key, value in definition.values().items()}
        for name in definition.names:
            yield name, values


def members(partition: dict[str, str], nodes: Items) -> set[str]:
    """The nodes of a partition."""
    wanted = partition.get("Nodes", "").strip('"')
    if wanted.upper() == "ALL":
        return set(nodes)
    try:
        return set(expand(wanted))
    except HostlistError:
        return {wanted}
