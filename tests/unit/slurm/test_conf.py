"""slurm.conf and the files beside it."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hpcprov.slurm.cgroup import CgroupFacts, cgroup_conf, constrained
from hpcprov.slurm.cluster import Cluster
from hpcprov.slurm.conf import slurm_conf, slurm_files
from hpcprov.slurm.dbd import slurmdbd_conf
from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.gres import Gres
from hpcprov.slurm.hardware import Hardware
from hpcprov.slurm.keys import release_of, releases, table
from hpcprov.slurm.nodes import Node
from hpcprov.slurm.options import default_options
from hpcprov.slurm.partitions import Partition

TWO = Hardware(2, 1, 1, 2, 1, 4000)
V2 = CgroupFacts("v2", ("cpuset", "cpu", "memory", "pids"), plugins=("v1", "v2"))
CLUSTER = Cluster(
    name="test",
    controllers=[("head", "10.0.0.1"), ("head2", "10.0.0.2")],
    databases=["db1", "db2"],
    nodes=[Node("c1", TWO), Node("c2", TWO)],
    partitions=[Partition("main", ("c1", "c2"), True)],
    version="22.05.8",
    cgroups={"c1": V2, "c2": V2},
    pmix=True,
)


def options(cluster: Cluster) -> dict[str, str]:
    """Key and value of each line; a repeated key keeps its last value."""
    lines = slurm_conf(cluster).splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith(("NodeName", "PartitionName")))


# NET-09
def test_a_complete_file() -> None:
    conf = slurm_conf(CLUSTER)
    for line in (
        "ClusterName=test",
        "SlurmctldHost=head(10.0.0.1)\nSlurmctldHost=head2(10.0.0.2)",
        "SlurmctldParameters=enable_configless",
        "StateSaveLocation=/var/lib/slurm/slurmctld",
        "SlurmdSpoolDir=/var/lib/slurm/slurmd",
        "ReturnToService=2",
        "SelectTypeParameters=CR_Core_Memory",
        "EnforcePartLimits=ALL",
        "ProctrackType=proctrack/cgroup",
        "TaskPlugin=task/cgroup,task/affinity",
        "PrologFlags=Contain",
        "MpiDefault=pmix",
        "JobAcctGatherType=jobacct_gather/cgroup",
        "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=db1\nAccountingStorageBackupHost=db2",
        "PartitionName=main Nodes=c[1-2] Default=YES State=UP DefMemPerCPU=1900",
    ):
        assert f"\n{line}\n" in f"\n{conf}"
    assert conf.endswith("\n")
    assert "AccountingStorageEnforce" not in conf
    assert "GresTypes" not in conf
    assert "Pass" not in conf


def test_every_option_of_ours_is_known_to_every_release() -> None:
    for release in releases():
        written = default_options(replace(CLUSTER, version=f"{release}.1"), True)
        assert [name for name in written if not table("slurm.conf").knows(name, release)] == []
        assert {"ClusterName", "SlurmctldHost", "SelectType", "AccountingStorageHost"} <= set(written)


def test_ipv6_is_switched_on_where_it_is_used() -> None:
    assert "CommunicationParameters" not in slurm_conf(CLUSTER)
    written = options(replace(CLUSTER, controllers=[("head", "fd00:1::1")]))
    assert (written["SlurmctldHost"], written["CommunicationParameters"]) == ("head(fd00:1::1)", "EnableIPv6")


def test_gpus_and_accounts() -> None:
    gpu = Node("g1", TWO, gres=(Gres("gpu", "1", "a100", ("/dev/nvidia0",)),))
    files = slurm_files(replace(CLUSTER, nodes=[*CLUSTER.nodes, gpu], enforce_accounts=True))
    assert "\nGresTypes=gpu\n" in files.slurm_conf
    assert "\nAccountingStorageTRES=gres/gpu\n" in files.slurm_conf
    assert "\nAccountingStorageEnforce=associations,limits,qos\n" in files.slurm_conf
    assert files.gres_conf == "NodeName=g1 Name=gpu Type=a100 File=/dev/nvidia0\n"


def test_the_site_wins() -> None:
    config: dict[str, Any] = {
        "slurmctldtimeout": 60,
        "ClusterName": "test",
        "AccountingStorageHost": "db2",
        "enforce_part_limits": "NO",
        "KillWait": None,
        "SlurmctldParameters": ["idle_on_node_suspend"],
        "LaunchParameters": ["use_interactive_step", "enable_nss_slurm"],
        "NodeSet": ["big Feature=big", "ib Feature=ib"],
        "DisableRootJobs": True,
        "MailProg": "/usr/bin/mail #1",
    }
    written = slurm_conf(replace(CLUSTER, config=config))
    for line in (
        "SlurmctldTimeout=60",
        "AccountingStorageHost=db2",
        "EnforcePartLimits=NO",
        "SlurmctldParameters=idle_on_node_suspend,enable_configless",
        "LaunchParameters=use_interactive_step,enable_nss_slurm",
        "NodeSet=big Feature=big\nNodeSet=ib Feature=ib",
        "DisableRootJobs=YES",
        "MailProg=/usr/bin/mail \\#1",
    ):
        assert f"\n{line}\n" in written
    assert "KillWait" not in written
    assert written.count("SlurmctldTimeout") == 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"config": {"MaxJobCont": 1}}, 'slurm.conf has no option "MaxJobCont", did you mean "MaxJobCount"?'),
        ({"config": {"TLSType": "x"}}, "TLSType came with Slurm 24.05; this cluster runs 22.05"),
        (
            {"config": {"PowerPlugin": "x"}, "version": "24.05.1"},
            "PowerPlugin does nothing since Slurm 24.05; this cluster runs 24.05",
        ),
        ({"config": {"NodeName": "c1"}}, "slurm_config: NodeName belongs into slurm_node"),
        ({"config": {"slurmctldhost": "x"}}, "slurm_config: SlurmctldHost belongs into group controller"),
        ({"config": {"ClusterName": "x"}}, 'slurm_config: ClusterName follows from cluster_name, which says "test"'),
        (
            {"config": {"AccountingStorageHost": "x"}},
            'slurm_config: AccountingStorageHost follows from group database, which says "db1 or db2", not "x"',
        ),
        ({"config": {"KillWait": 1, "killwait": 2}}, "slurm.conf: KillWait is given twice"),
        ({"config": {"MailProg": "a\nb"}}, "a value must stand on one line"),
        ({"nodes": []}, "no compute node was measured yet, so there is nothing to write into slurm.conf"),
        ({"nodes": [Node("c1", TWO), Node("c1", TWO)]}, "c1 stands twice"),
        ({"cgroup_config": {"CgroupReleaseAgentDir": "x"}, "version": "25.11.0"}, "CgroupReleaseAgentDir went after"),
    ],
)
def test_what_slurm_would_refuse(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(SlurmConfigError) as caught:
        slurm_files(replace(CLUSTER, **change))
    assert caught.value.problems[0].startswith(problem)


def test_order_of_the_inventory_does_not_matter() -> None:
    nodes = [Node(f"n{number:02d}", replace(TWO, memory_mib=4000 + number % 3)) for number in range(20)]
    members = tuple(node.name for node in nodes)
    cluster = replace(CLUSTER, nodes=nodes, partitions=[Partition("main", members, True)])
    shuffled = random.Random(1).sample(nodes, len(nodes))
    again = replace(
        cluster, nodes=shuffled, partitions=[Partition("main", tuple(node.name for node in shuffled), True)]
    )
    assert slurm_files(again) == slurm_files(cluster)


def test_a_node_that_was_never_measured_is_left_out_and_said() -> None:
    files = slurm_files(replace(CLUSTER, nodes=[*CLUSTER.nodes, Node("c3")]))
    assert "c3" not in files.slurm_conf
    assert files.notices == ["c3 not in slurm.conf until measured (or CPUs and RealMemory stand in slurm_node)"]


# CGR-01, CGR-03
@pytest.mark.parametrize(
    ("facts", "obstacle"),
    [
        (V2, None),
        (CgroupFacts("v1", ("cpuset", "memory", "devices", "freezer")), None),
        (CgroupFacts("hybrid", ("cpuset", "memory", "devices", "freezer"), plugins=("v1",)), None),
        (CgroupFacts("v2", ("cpuset", "memory", "pids"), container=True), "a container"),
        (CgroupFacts(), "no cgroups"),
        (CgroupFacts("v2", ("cpu",)), "no cgroup controller cpuset, memory, pids"),
        (replace(V2, plugins=("v1",)), "Slurm without its cgroup_v2 plugin"),
    ],
)
def test_whether_a_node_can_hold_jobs_in_cgroups(facts: CgroupFacts, obstacle: str | None) -> None:
    assert facts.obstacle() == obstacle


# SLM-11
def test_a_node_in_two_partitions_has_one_line() -> None:
    more = [*CLUSTER.partitions, Partition("debug", ("c1", "c2"))]
    conf = slurm_conf(replace(CLUSTER, partitions=more))
    assert conf.count("NodeName=") == 1
    assert "PartitionName=main Nodes=c[1-2]" in conf and "PartitionName=debug Nodes=c[1-2]" in conf


# SLM-42
def test_one_node_without_cgroups_decides_and_is_named() -> None:
    cluster = replace(CLUSTER, cgroups={"c1": V2, "c2": CgroupFacts()}, pmix=False)
    written = options(cluster)
    assert (written["ProctrackType"], written["TaskPlugin"]) == ("proctrack/linuxproc", "task/affinity")
    assert (written["JobAcctGatherType"], written["MpiDefault"]) == ("jobacct_gather/linux", "none")
    assert "PrologFlags" not in written
    notice = "Jobs are not confined to their cores and memory by cgroups (c2: no cgroups)"
    assert slurm_files(cluster).notices == [notice]
    assert constrained({}) == (False, None)


def test_cgroup_conf_by_release() -> None:
    usable = "ConstrainCores=YES\nConstrainRAMSpace=YES\nConstrainDevices=YES\nConstrainSwapSpace=NO\n"
    for release in releases():
        assert cgroup_conf(True, release) == usable
    assert cgroup_conf(False, "22.05") == ""
    assert cgroup_conf(False, "24.11") == "CgroupPlugin=disabled\n"
    assert cgroup_conf(True, "22.05", {"constrainswapspace": True}).endswith("ConstrainSwapSpace=YES\n")


def test_slurmdbd_conf() -> None:
    conf = slurmdbd_conf("db1", "secret", settings={"PurgeStepAfter": "6months"}, options={"StoragePort": 3307})
    for line in ("DbdHost=db1", "StoragePass=secret", "StoragePort=3307", "PurgeStepAfter=6months"):
        assert f"{line}\n" in conf
    with pytest.raises(SlurmConfigError, match='no option "StorgePass", did you mean "StoragePass"'):
        slurmdbd_conf("db1", "secret", settings={"StorgePass": "x"})


@pytest.mark.parametrize(
    ("version", "release"),
    [("22.05.8", "22.05"), ("24.11.5-1", "24.11"), ("27.05.0", "26.05"), ("21.08.1", "22.05"), (None, "22.05")],
)
def test_release_of(version: str | None, release: str) -> None:
    assert release_of(version) == release
