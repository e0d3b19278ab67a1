"""The programs of role smoke as Python modules."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import ModuleType

import pytest

FILES = Path(__file__).parents[3] / "roles" / "smoke" / "files"


@pytest.fixture(scope="session")
def program() -> Callable[[str], ModuleType]:
    @lru_cache
    def load(name: str) -> ModuleType:
        specification = importlib.util.spec_from_file_location(f"smoke_{name}", FILES / f"{name}.py")
        assert specification and specification.loader
        module = importlib.util.module_from_spec(specification)
        sys.modules[specification.name] = module  # dataclasses look their module up
        specification.loader.exec_module(module)
        return module

    return load
