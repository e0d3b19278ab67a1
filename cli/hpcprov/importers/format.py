"""What an importer is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hpcprov.importers.draft import Draft


@dataclass(frozen=True)
class Format:
    """`defines`: such a file says which hosts belong to the cluster; the others only know names and addresses."""

    name: str
    recognises: Callable[[Path, str], bool]
    read_into: Callable[[Draft, Path, str], None]
    defines: bool
