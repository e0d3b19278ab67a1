"""Conventions that every playbook keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
PLAYBOOKS = sorted(path for path in (ROOT / "playbooks").glob("*.yml") if path.name != "site.yml")


def plays(path: Path) -> list[dict[str, Any]]:
    """The plays of a playbook."""
    return yaml.safe_load(path.read_text())


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_plays_are_named_after_their_phase(path: Path) -> None:
    for play in plays(path):
        assert play["name"].startswith(f"{path.stem.capitalize()} | ") or play["name"].startswith("MPI | ")


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_each_role_can_be_chosen_by_its_name(path: Path) -> None:
    for play in plays(path):
        for role in play.get("roles", []):
            assert role.get("tags") == [role["role"]], f"{role['role']} in {path.name} needs the tag of its name"


@pytest.mark.parametrize("path", PLAYBOOKS, ids=lambda path: path.stem)
def test_no_play_touches_the_control_host(path: Path) -> None:
    for play in plays(path):
        assert "localhost" not in play["hosts"]
        assert play["hosts"] != "all"


def test_site_imports_every_layer_in_order() -> None:
    imported = [entry["ansible.builtin.import_playbook"] for entry in plays(ROOT / "playbooks" / "site.yml")]
    assert imported == [
        f"{name}.yml" for name in ("base", "storage", "accounting", "scheduler", "mpi", "frameworks", "smoke")
    ]
    assert {path.name for path in PLAYBOOKS} - {"verify.yml"} == set(imported)


def test_children_of_dynamic_includes_run_under_a_chosen_tag() -> None:
    """Without `apply`, `--tags munge` would include the packages role and then skip all of its tasks."""
    for path in (ROOT / "roles").glob("*/tasks/*.yml"):
        for task in yaml.safe_load(path.read_text()) or []:
            for verb in ("ansible.builtin.include_tasks", "ansible.builtin.include_role"):
                if verb in task:
                    assert task[verb]["apply"] == {"tags": ["always"]}, f"{path}: {task['name']}"
