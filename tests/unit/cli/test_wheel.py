"""What travels in the wheel."""

from __future__ import annotations

import importlib.util

from hpcprov.paths import project_root


def test_the_wheel_holds_what_an_installed_hpcprov_needs() -> None:
    root = project_root()
    spec = importlib.util.spec_from_file_location("hatch_build", root / "cli" / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    files = module.project_files(root)
    assert {"playbooks", "inventory/site.schema.json", "roles/base/tasks", "roles/slurmctld/templates"} <= set(files)
    assert {f"roles/{role.name}/meta" for role in (root / "roles").iterdir() if role.is_dir()} <= set(files)
    assert [path for path in files if "molecule" in path or not (root / path).exists()] == []
