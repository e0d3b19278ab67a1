"""Put roles, playbooks and the cluster checks into the wheel; an editable install reads them in the checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROJECT_FILES = (
    "playbooks",
    "inventory/lab.yaml",
    "inventory/site.yaml",
    "inventory/site.schema.json",
    "tests/cluster",
    "ansible.cfg",
)


def project_files(root: Path) -> list[str]:
    """What travels: the files above and each part of each role, but not the tests of the roles."""
    parts = (part for role in (root / "roles").iterdir() if role.is_dir() for part in role.iterdir())
    return [*PROJECT_FILES, *sorted(str(part.relative_to(root)) for part in parts if part.name != "molecule")]


class ProjectFiles(BuildHookInterface):  # type: ignore[type-arg]
    """Hatch calls `initialize` with the version "standard" for a wheel and "editable" for `pip install -e`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Map each file of the project to its place under `hpcprov/_project`."""
        if version == "standard":
            paths = project_files(Path(self.root))
            build_data["force_include"] = {path: f"hpcprov/_project/{path}" for path in paths}
