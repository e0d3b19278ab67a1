"""Where things lie: the project's own files, caches, and what belongs to a site."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path


@lru_cache(maxsize=1)
def project_root() -> Path:
    """The directory that holds roles/, playbooks/, inventory/ and tests/cluster.

    The package data of an installed wheel, or the checkout of an editable install.
    """
    packaged = Path(__file__).parent / "_project"
    return packaged if packaged.is_dir() else Path(__file__).resolve().parents[2]


def cache_dir(kind: str) -> Path:
    """A cache that all sites share (`images`, `packages`, `wheels`), by the XDG base directory rules."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    path = base / "hpcprov" / kind
    path.mkdir(parents=True, exist_ok=True)
    return path


def site_home(site_file: Path) -> Path:
    """The directory that keeps a site's `runs/`: the parent of `inventory/`, else the site file's own."""
    folder = site_file.resolve().parent
    return folder.parent if folder.name == "inventory" else folder


def state_dir(site_file: Path, cluster_name: str) -> Path:
    """Secrets, SSH keys and saved facts of a site. The roles compute the same path as `cluster_state_dir`."""
    return site_file.resolve().parent / ".hpcprov" / cluster_name
