"""Saved facts of discovered hosts: one JSON file each, with time and source.

They lie beside what nodes say about themselves during a deploy (`facts/`), and apart from it: slurm.conf is made from
what Slurm measured on a converged node, never from a first look.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hpcprov.discovery.facts import HostFacts
from hpcprov.secrets import private_dir

FOLDER = "discovered"


def folder_of(state_dir: Path) -> Path:
    """Where the files of a site are."""
    return state_dir / FOLDER


def save(state_dir: Path, found: Mapping[str, HostFacts], addresses: Mapping[str, str]) -> Path:
    """Write the facts of hosts by their names in the site, with the address that was asked. Returns the folder."""
    private_dir(state_dir)
    folder = folder_of(state_dir)
    private_dir(folder)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    for name, facts in found.items():
        record = {
            "time": now,
            "source": "hpcprov discover",
            "address": addresses.get(name, ""),
            "facts": facts.as_dict(),
        }
        _write(folder / f"{name}.json", record)
    return folder


def load(state_dir: Path) -> dict[str, dict[str, Any]]:
    """Saved records by host name; a damaged file counts as none."""
    records = {}
    for path in sorted(folder_of(state_dir).glob("*.json")):
        try:
            records[path.stem] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
    return records


def _write(path: Path, record: Mapping[str, Any]) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        json.dump(record, stream, indent=2, sort_keys=True)
        stream.write("\n")
    Path(temporary).replace(path)
