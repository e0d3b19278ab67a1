"""The roles run with the Ansible that they were tested with, and need nothing that is not installed with it."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version
from importlib.util import find_spec

from hpcprov.paths import project_root
from packaging.requirements import Requirement

ROOT = project_root()
TASKS = [path for folder in ("roles", "playbooks") for path in (ROOT / folder).rglob("*.yml")]


def requirement(name: str) -> Requirement:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    return next(found for found in map(Requirement, listed) if found.name == name)


# CLI-05
def test_ansible_is_pinned_to_a_range_and_installed_from_it() -> None:
    for name in ("ansible", "ansible-core", "ansible-runner"):
        pinned = requirement(name)
        assert any(part.operator.startswith(">") for part in pinned.specifier), pinned
        assert any(part.operator.startswith("<") for part in pinned.specifier), pinned
        assert version(name) in pinned.specifier


# CLI-05
def test_no_play_depends_on_a_strategy_plugin() -> None:
    setting = re.compile(r"^\s*strategy(?:_plugins)?\s*[:=]\s*(\S+)", re.MULTILINE)
    used = {str(path): setting.findall(path.read_text()) for path in [*TASKS, ROOT / "ansible.cfg"]}
    assert {path: names for path, names in used.items() if set(names) - {"linear", "free"}} == {}


# CLI-06
def test_each_collection_in_use_is_installed() -> None:
    name = re.compile(r"^\s*(?:- )?([a-z_]\w*\.[a-z_]\w*)\.[a-z_]\w*:", re.MULTILINE)
    used = {found for path in TASKS for found in name.findall(path.read_text())}
    assert "ansible.builtin" in used
    used.discard("ansible.builtin")
    assert [collection for collection in used if find_spec(f"ansible_collections.{collection}") is None] == []
