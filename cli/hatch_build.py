"""Put roles, playbooks and the cluster checks into the wheel; an editable install reads them in the checkout."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROJECT_FILES = ("roles", "playbooks", "inventory/lab.yaml", "inventory/site.yaml", "tests/cluster", "ansible.cfg")


class ProjectFiles(BuildHookInterface):  # type: ignore[type-arg]
    """Hatch calls `initialize` with the version "standard" for a wheel and "editable" for `pip install -e`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Map each file of the project to its place under `hpcprov/_project`."""
        if version == "standard":
            build_data["force_include"] = {path: f"hpcprov/_project/{path}" for path in PROJECT_FILES}
