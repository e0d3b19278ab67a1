"""Run every molecule scenario, on every release that it names, each as one test."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from hpcprov import lab
from hpcprov.errors import HpcprovError
from hpcprov.site import load_site

ROOT = Path(__file__).resolve().parents[2]
BASE = ROOT / ".config" / "molecule" / "config.yml"
# Far above what a scenario needs: it ends one that hangs, it does not measure.
TIMEOUT = 1200
TAIL = 250
# Roles of which Debian 12 and 13 bring different generations.
ON_BOTH = {"munge", "slurmctld", "slurmd", "slurmdbd", "login", "storage", "mpi"}


@dataclass(frozen=True)
class Scenario:
    """A scenario of a role on one release of Debian."""

    role: str
    name: str
    release: str

    def __str__(self) -> str:
        suffix = "" if self.name == "default" else f"-{self.name}"
        return f"{self.role}{suffix}-{self.release}"

    @property
    def cluster(self) -> str:
        """The name that the base configuration gives to the scenario's site."""
        return f"mol-{self.role}-{self.release}"

    @property
    def subnet(self) -> str:
        """The first three numbers of its addresses, computed as the base configuration does."""
        digest = hashlib.sha1(self.cluster.encode()).hexdigest()
        return f"10.{100 + int(digest[:2], 16) % 28}.{int(digest[2:4], 16)}"


def releases(file: Path) -> list[str]:
    """The releases that a scenario names; those of the base configuration when it names none."""
    for path in (file, BASE):
        inventory = (yaml.safe_load(path.read_text()).get("provisioner") or {}).get("inventory") or {}
        named = ((inventory.get("group_vars") or {}).get("all") or {}).get("molecule_releases")
        if named:
            return list(named)
    raise AssertionError(f"{BASE} names no releases")


def scenarios() -> list[Scenario]:
    """All scenarios of all roles, the second release of a role far from its first: two workers then share less."""
    files = sorted((ROOT / "roles").glob("*/molecule/*/molecule.yml"))
    found = [
        (index, Scenario(file.parents[2].name, file.parent.name, release))
        for file in files
        for index, release in enumerate(releases(file))
    ]
    return [scenario for _, scenario in sorted(found, key=lambda pair: pair[0])]


SCENARIOS = scenarios()


def test_both_releases_are_covered_where_versions_differ_most() -> None:
    assert {scenario.role for scenario in SCENARIOS if scenario.release == "trixie"} >= ON_BOTH
    assert {scenario.role for scenario in SCENARIOS if scenario.release == "bookworm"} >= ON_BOTH


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_scenario_has_something_to_verify(scenario: Scenario) -> None:
    """molecule passes a scenario without tests."""
    folder = ROOT / "roles" / scenario.role / "molecule" / scenario.name / "tests"
    assert list(folder.glob("test_*.py"))


def test_no_two_scenarios_share_a_network() -> None:
    subnets = {scenario.subnet for scenario in SCENARIOS}
    assert len(subnets) == len(SCENARIOS)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The scenario's ephemeral folder. Whatever happened, no container of it is left behind."""
    yield tmp_path
    site = tmp_path / "site.yaml"
    if site.is_file():
        try:
            lab.down(load_site(site), purge=True, force=True)
        except HpcprovError as error:
            pytest.fail(f"the nodes could not be removed: {error}")


@pytest.mark.parametrize("scenario", SCENARIOS, ids=str)
def test_scenario(scenario: Scenario, folder: Path) -> None:
    log = folder.parent / f"{scenario}.log"
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "MOLECULE_RELEASE": scenario.release,
        "MOLECULE_EPHEMERAL_DIRECTORY": str(folder),
        "MOLECULE_COMMAND_BORDERS": "0",
        "NO_COLOR": "1",
        "COLUMNS": "140",
    }
    command = ["molecule", "--base-config", str(BASE), "test", "--scenario-name", scenario.name]
    with log.open("wb") as output:
        status = run(command, ROOT / "roles" / scenario.role, environment, output.fileno())
    if status:
        lines = log.read_text(errors="replace").splitlines()[-TAIL:]
        pytest.fail(f"{scenario}: molecule ended with {status}, see {log}\n" + "\n".join(lines), pytrace=False)


def run(command: list[str], role: Path, environment: dict[str, str], output: int) -> int:
    """Run in a session of its own, so that a time-out or Ctrl-C ends all that it started."""
    process = subprocess.Popen(
        command, cwd=role, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
        start_new_session=True,
    )  # fmt: skip
    try:
        return process.wait(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        return 124
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
