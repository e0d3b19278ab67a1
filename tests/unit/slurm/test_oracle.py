"""What Slurm itself says about our hostlists and our slurm.conf."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hpcprov.paths import project_root
from hpcprov.site import load_site
from hpcprov.slurm.cgroup import CgroupFacts
from hpcprov.slurm.cluster import Cluster
from hpcprov.slurm.gres import Gres
from hpcprov.slurm.hardware import Hardware
from hpcprov.slurm.hostlist import HostlistError, expand, fold
from hpcprov.slurm.nodes import Node
from hpcprov.slurm.partitions import Partition
from hpcprov.slurm.site import from_site
from slurm_oracle import Oracle, complaints

pytestmark = pytest.mark.oracle

SMALL = Hardware(2, 1, 1, 2, 1, 3900)
LARGE = Hardware(128, 1, 2, 32, 2, 515_000)
V2 = CgroupFacts("v2", ("cpuset", "cpu", "io", "memory", "pids"))


def cluster() -> Cluster:
    names = [f"node{number:03d}" for number in range(1, 65)]
    nodes = [Node(name, SMALL, features=("ib", "amd"), weight=10) for name in names]
    gpus = (Gres("gpu", "4", "a100", tuple(f"/dev/nvidia{number}" for number in range(4))),)
    nodes += [Node(f"gpu{number}", LARGE, gres=gpus) for number in range(8, 12)]
    return Cluster(
        name="oracle",
        controllers=[("head", "10.0.0.1")],
        databases=["head"],
        nodes=nodes,
        partitions=[
            Partition("main", tuple(names), True, {"MaxTime": "1-00:00:00"}),
            Partition("gpu", ("gpu8", "gpu9", "gpu10", "gpu11")),
            Partition("empty", ()),
        ],
        version="22.05.8",
        cgroups={node.name: V2 for node in nodes},
        pmix=True,
    )


@pytest.mark.parametrize(
    "text",
    ["n[009-10]", "gpu-[001-20]", "a[1-3,5],b", "x[1-2]y[01-02]", "node1", "n[1,01,001]", "x[1-2]y[3-4],z"],
)
def test_expand_as_scontrol_does(oracle: Oracle, text: str) -> None:
    assert expand(text) == oracle.scontrol_show("hostnames", text).stdout.split()


@pytest.mark.parametrize("text", ["n[3-1]", "c[10:12]", "n[a-b]", "n[1-2]b", "r[1-2]n[1-2]b", "n[1,]", "n[]"])
def test_refuse_what_scontrol_refuses(oracle: Oracle, text: str) -> None:
    assert "nvalid" in oracle.scontrol_show("hostnames", text).stderr
    with pytest.raises(HostlistError):
        expand(text)


# SLM-18
@pytest.mark.parametrize(
    "names",
    [
        "n009,n10,n011",
        "localhost-admin,localhost-0001,localhost-0002,localhost-1",
        "n01,n1",
        "a1b2,a1b3",
        "localhost-0001,localhost-0002,localhost-0003,localhost-0008,localhost-0010,localhost-1",
        "n98,n99,n100,n101",
        "c1,c2,c3,c5,d",
        "x1-1,x1-2,x2-1",
    ],
)
def test_fold_as_scontrol_does(oracle: Oracle, names: str) -> None:
    folded = fold(names.split(","))
    assert folded == oracle.scontrol_show("hostlistsorted", names).stdout.strip()
    assert sorted(oracle.scontrol_show("hostnames", folded).stdout.split()) == sorted(names.split(","))


def test_slurmctld_runs_on_what_we_render(oracle: Oracle, tmp_path: Path) -> None:
    log = oracle.judge(cluster(), tmp_path)
    assert "Running as primary controller" in log, log
    assert complaints(log) == []


def test_slurmctld_runs_without_cgroups(oracle: Oracle, tmp_path: Path) -> None:
    log = oracle.judge(replace(cluster(), cgroups={"node001": CgroupFacts(container=True)}), tmp_path)
    assert "Running as primary controller" in log, log
    assert complaints(log) == []


SITES = [project_root() / "inventory" / name for name in ("site.yaml", "lab.yaml")]
SITES += sorted((project_root() / "tests" / "unit" / "site" / "cases" / "valid").glob("*.yaml"))


@pytest.mark.parametrize("path", SITES, ids=lambda path: path.stem)
def test_a_site_that_validate_accepts_runs(oracle: Oracle, tmp_path: Path, path: Path) -> None:
    site = load_site(path)
    gpus = [{"file": f"/dev/nvidia{number}", "type": "a100"} for number in range(6)]
    facts = {
        host.name: {
            "slurmd_c": "NodeName=x CPUs=8 Boards=1 SocketsPerBoard=2 CoresPerSocket=4 ThreadsPerCore=1 "
            "RealMemory=9000",
            "slurm_version": "22.05.8",
            "gpus": gpus if "gpu" in host.name else [],
        }
        for host in site.group("compute")
    }
    log = oracle.judge(from_site(site, facts), tmp_path)
    assert "Running as primary controller" in log, log
    assert complaints(log) == []


def test_the_oracle_can_say_no(oracle: Oracle, tmp_path: Path) -> None:
    wrong = replace(cluster(), config={"SchedulerType": "sched/nonesuch"})
    assert complaints(oracle.judge(wrong, tmp_path))
