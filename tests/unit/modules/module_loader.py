"""Import an Ansible module of ours by its path."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

LIBRARY = Path(__file__).resolve().parents[3] / "playbooks" / "library"


def load_module(name: str) -> ModuleType:
    """A module of playbooks/library, imported by its path."""
    spec = importlib.util.spec_from_file_location(name, LIBRARY / f"{name}.py")
    assert spec and spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded
