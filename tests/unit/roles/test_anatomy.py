"""Conventions that every role keeps: its files, and that its variables are declared once and alike."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
ROLES = sorted(path for path in (ROOT / "roles").iterdir() if path.is_dir())
# Two roles only carry what others share, and one only installs: they have nothing to converge of their own.
SHARED = {"slurm", "packages"}
PREFIXES = {
    "base": ("base_", "cluster_", "hpc_"),
    "packages": ("packages_",),
    "munge": ("munge_", "cluster_", "hpc_"),
    "mariadb": ("mariadb_", "slurm_", "cluster_", "hpc_"),
    "storage": ("nfs_", "cluster_", "hpc_"),
    "mpi": ("mpi_", "cluster_", "hpc_", "dl_"),
    "frameworks": ("dl_", "cluster_", "hpc_"),
    "smoke": ("smoke_", "dl_", "cluster_", "hpc_"),
}
SLURM_PREFIXES = ("slurm_", "cluster_", "hpc_")


def load(path: Path) -> Any:
    """A YAML file, {} when it is empty."""
    return yaml.safe_load(path.read_text()) or {}


def options(role: Path) -> dict[str, Any]:
    """The options that a role's main entry point documents."""
    return load(role / "meta" / "argument_specs.yml")["argument_specs"]["main"].get("options") or {}


def defaults(role: Path) -> dict[str, Any]:
    """The public variables of a role."""
    path = role / "defaults" / "main.yml"
    return load(path) if path.exists() else {}


def ids(role: Path) -> str:
    """The name of a role, for pytest."""
    return role.name


@pytest.mark.parametrize("role", ROLES, ids=ids)
@pytest.mark.parametrize(
    "part", ["defaults/main.yml", "meta/main.yml", "meta/argument_specs.yml", "tasks/main.yml", "README.md"]
)
def test_role_has_its_parts(role: Path, part: str) -> None:
    assert (role / part).is_file(), f"roles/{role.name}/{part} is missing"


@pytest.mark.parametrize("role", ROLES, ids=ids)
def test_role_knows_both_families(role: Path) -> None:
    for family in ("debian", "redhat"):
        names = load(role / "vars" / f"{family}.yml") if role.name != "packages" else {f"__{role.name}_packages": []}
        assert f"__{role.name}_packages" in names, f"roles/{role.name}/vars/{family}.yml names no packages"


@pytest.mark.parametrize("role", ROLES, ids=ids)
def test_role_has_a_molecule_scenario(role: Path) -> None:
    assert role.name in SHARED or (role / "molecule" / "default" / "molecule.yml").is_file()


@pytest.mark.parametrize("role", ROLES, ids=ids)
def test_each_default_is_specified_alike(role: Path) -> None:
    specified = options(role)
    for name, value in defaults(role).items():
        assert name in specified, f"{name} is in defaults, not in argument_specs"
        wanted = specified[name].get("default")
        alike = wanted == value
        if isinstance(value, str) and isinstance(wanted, str):
            alike = wanted.split() == value.split()
        assert alike, f"{name}: argument_specs says {wanted!r}, defaults says {value!r}"


@pytest.mark.parametrize("role", ROLES, ids=ids)
def test_each_option_is_typed_described_and_has_a_default_or_is_required(role: Path) -> None:
    for name, spec in options(role).items():
        assert spec.get("type"), f"{name} has no type"
        assert spec.get("description"), f"{name} has no description"
        # Null in both places is how an optional variable without a default is written.
        assert spec.get("required") or name in defaults(role) or "default" not in spec, f"{name}: default is unused"


@pytest.mark.parametrize("role", ROLES, ids=ids)
def test_each_default_has_a_comment(role: Path) -> None:
    lines = (role / "defaults" / "main.yml").read_text().splitlines()
    for number, line in enumerate(lines):
        if re.match(r"[a-z]\w*:", line):
            assert lines[number - 1].startswith("#"), f"{line.split(':')[0]} has no comment above it"


@pytest.mark.parametrize("role", ROLES, ids=ids)
def test_variables_carry_the_prefix_of_their_family(role: Path) -> None:
    allowed = PREFIXES.get(role.name, SLURM_PREFIXES)
    wrong = [name for name in options(role) if not name.startswith(allowed)]
    assert not wrong, f"{wrong} should start with one of {allowed}"


@pytest.mark.parametrize("role", ROLES, ids=ids)
def test_facts_are_read_by_their_full_name(role: Path) -> None:
    pattern = re.compile(r"\bansible_(distribution|os_family|hostname|default_ipv4|memtotal_mb|processor_vcpus)\b")
    for path in role.rglob("*"):
        if path.suffix in (".yml", ".j2") and path.is_file():
            assert not pattern.search(path.read_text()), f"{path.relative_to(ROOT)} reads a top-level fact"
