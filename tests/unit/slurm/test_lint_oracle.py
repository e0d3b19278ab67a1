"""What lint calls an error, slurmctld refuses or says an error about; what lint lets pass, it runs with."""

from __future__ import annotations

from pathlib import Path

import pytest
from hpcprov.slurm.lint import lint
from hpcprov.slurm.topology import Switch, Topology, topology_conf
from lint_oracle_cases import CASES, NODES, PARTITION, Case
from slurm_oracle import Oracle

pytestmark = pytest.mark.oracle

BESIDE_THE_POINT = (
    *("Could not open", "state", "may be lost", "accounting information gathered", "gettimeofday"),
    *("configured group", "We have no QOS", "pmix", "PMIx", "MPI:", "getaddrinfo"),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_lint_agrees_with_slurmctld(oracle: Oracle, tmp_path: Path, case: Case) -> None:
    local = {key: value for key, value in oracle.local_lines(tmp_path).items() if key != case.without}
    head = "".join(f"{key}={value}\n" for key, value in local.items())
    text = head + case.extra + case.nodes + case.partition
    log = oracle.judge_text(tmp_path, text, case.files, seconds=case.seconds)
    said = [
        line
        for line in log.splitlines()
        if ("error:" in line or "fatal:" in line) and not any(word in line for word in BESIDE_THE_POINT)
    ]
    accepted = "Running as primary controller" in log and not said
    # The state lies in /tmp here, which lint rightly calls an error.
    found = [
        finding
        for finding in lint([tmp_path / "slurm.conf"], release="22.05")
        if finding.level == "error" and finding.rule != "state-directory"
    ]
    rules = [finding.rule for finding in found]
    assert accepted == (case.rule is None), log
    assert (case.rule in rules) if case.rule else (rules == []), [str(finding) for finding in found]


def test_slurmctld_reads_the_topology_that_we_write(oracle: Oracle, tmp_path: Path) -> None:
    leaves = (Switch("leaf1", ("c1",), (), 100), Switch("leaf2", ("c2",)))
    text = topology_conf(Topology((*leaves, Switch("spine", (), ("leaf1", "leaf2")))))
    head = "".join(f"{key}={value}\n" for key, value in oracle.local_lines(tmp_path).items())
    conf = head + "TopologyPlugin=topology/tree\n" + NODES + PARTITION
    log = oracle.judge_text(tmp_path, conf, {"topology.conf": text})
    assert "Running as primary controller" in log, log
    assert not [line for line in log.splitlines() if "switch" in line.lower() and "error" in line.lower()]
    assert [finding.rule for finding in lint([tmp_path / "slurm.conf"]) if "topology" in finding.rule] == []
