"""What validate accepts, slurmctld runs with: sites out of hypothesis, judged by Slurm itself."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hpcprov.site import check_site
from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.site import from_site
from hypothesis import HealthCheck, assume, given, seed, settings
from sites import sites
from slurm_oracle import Oracle, complaints
from stable_draws import STABLE

pytestmark = pytest.mark.oracle

LINE = "NodeName=x CPUs=32 Boards=1 SocketsPerBoard=2 CoresPerSocket=8 ThreadsPerCore=2 RealMemory=300000"
GPUS = [{"file": f"/dev/nvidia{number}", "type": "a100"} for number in range(4)]


@seed(2212)
@given(sites())
@settings(
    backend=STABLE,
    database=None,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_accepted_site_runs(oracle: Oracle, site: dict[str, Any]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "site.yaml"
        path.write_text(json.dumps(site))
        loaded = check_site(path).site
        assume(loaded is not None)
        assert loaded is not None
        measured = {"slurmd_c": LINE, "slurm_version": "22.05.8", "gpus": GPUS}
        facts = dict.fromkeys((host.name for host in loaded.group("compute")), measured)
        try:
            log = oracle.judge(from_site(loaded, facts), Path(folder))
        except SlurmConfigError as error:
            # What a node has is not known to validate; the deploy that measured it stops there.
            unknown = ("than the node has", " fits neither ", " leaves ")
            assert all(any(words in problem for words in unknown) for problem in error.problems), error.problems
            return
        assert "Running as primary controller" in log, log
        # SuspendTime without SuspendProgram does nothing, which slurmctld says and lives with.
        assert [line for line in complaints(log) if "power_save module disabled" not in line] == []


def drawn() -> list[str]:
    found: list[str] = []

    @seed(1)
    @given(sites())
    @settings(backend=STABLE, database=None, deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
    def draw(site: dict[str, Any]) -> None:
        found.append(json.dumps(site))

    draw()
    return found


def test_draws_do_not_depend_on_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = drawn()
    (tmp_path / "more_constants.py").write_text(f"NUMBERS = {list(range(300, 60000, 7))}")
    monkeypatch.syspath_prepend(tmp_path)
    __import__("more_constants")
    assert drawn() == before
    assert len(set(before)) > 30
