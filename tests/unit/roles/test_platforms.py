"""What differs between distributions and machines lies where each of them looks for it."""

from __future__ import annotations

import re
from pathlib import Path

import jinja2
import pytest
import yaml
from hpcprov.paths import project_root

ROLES = project_root() / "roles"
OPTION_FILES = sorted(path for path in ROLES.glob("*/vars/*.yml") if "_options_file" in path.read_text())


# SLM-39
@pytest.mark.parametrize("path", OPTION_FILES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_options_of_a_daemon_lie_where_its_family_reads_them(path: Path) -> None:
    folder = "/etc/sysconfig/" if path.stem.startswith("redhat") else "/etc/default/"
    found = {name: value for name, value in yaml.safe_load(path.read_text()).items() if name.endswith("_options_file")}
    assert [value for value in found.values() if not value.startswith(folder)] == []


# SLM-39
def test_slurm_has_the_directory_of_the_releases_that_we_know() -> None:
    assert {path.parts[-3] for path in OPTION_FILES} >= {"munge", "slurmctld", "slurmd", "login"}
    assert yaml.safe_load((ROLES / "slurm/defaults/main.yml").read_text())["slurm_conf_dir"] == "/etc/slurm"
    old = [str(path) for path in ROLES.rglob("*") if path.is_file() and b"slurm-llnl" in path.read_bytes()]
    assert old == []


def unit(gpus: list[str]) -> str:
    environment = jinja2.Environment(autoescape=False)
    environment.filters["comment"] = str
    template = environment.from_string((ROLES / "slurmd/templates/slurmd.service.j2").read_text())
    facts = {"hpc_node": {"gpus": gpus}}
    return template.render(ansible_managed="", slurm_required_mounts=["/shared"], ansible_facts=facts)


# SLM-33
def test_device_files_are_there_before_slurmd_reads_gres() -> None:
    assert re.search(r"^After=.*\bnvidia-persistenced\.service\b", unit(["/dev/nvidia0"]), re.MULTILINE)
    # The driver makes the files when it is first asked; a node whose GPU is broken still starts.
    assert "\nExecStartPre=-/usr/bin/nvidia-smi\n" in unit(["/dev/nvidia0"]) + "\n"
    assert "nvidia-smi" not in unit([])


# NFS-02
def test_slurmd_waits_for_shared_directories() -> None:
    assert "\nRequiresMountsFor=/shared\n" in unit([])
