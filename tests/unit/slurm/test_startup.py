"""What slurmd reads only when it starts: a node is restarted when its part of this changed, and for nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hpcprov.slurm import startup
from hpcprov.slurm.cluster import Cluster, SlurmFiles
from hpcprov.slurm.conf import slurm_files
from hpcprov.slurm.gres import Gres
from hpcprov.slurm.hardware import Hardware
from hpcprov.slurm.keys import table
from hpcprov.slurm.nodes import Node
from hpcprov.slurm.partitions import Partition

TWO = Hardware(2, 1, 1, 2, 1, 4000)
CLUSTER = Cluster(
    name="test",
    controllers=[("head", "10.0.0.1")],
    databases=[],
    nodes=[Node("c1", TWO), Node("c2", TWO)],
    partitions=[Partition("main", ("c1", "c2"), True)],
    version="22.05.8",
)


def touched(before: SlurmFiles, after: SlurmFiles) -> list[str]:
    """Nodes whose slurmd needs a restart."""
    names = sorted({*before.at_start_by_node, *after.at_start_by_node})
    return [
        name
        for name in names
        if (before.at_start, before.at_start_by_node.get(name)) != (after.at_start, after.at_start_by_node.get(name))
    ]


def with_config(**config: Any) -> SlurmFiles:
    return slurm_files(replace(CLUSTER, config=config))


@pytest.mark.parametrize(
    "config",
    [{"KillWait": 60}, {"SchedulerParameters": "bf_interval=20"}, {"SlurmdTimeout": 200}, {"SlurmdDebug": "debug"}],
)
def test_a_limit_touches_no_node(config: dict[str, Any]) -> None:
    assert with_config(**config).slurm_conf != slurm_files(CLUSTER).slurm_conf
    assert touched(slurm_files(CLUSTER), with_config(**config)) == []


@pytest.mark.parametrize(
    "config",
    [
        {"ProctrackType": "proctrack/pgid"},
        {"TaskPlugin": "task/none"},
        {"SlurmdParameters": "l3cache_as_socket"},
        {"SlurmdPort": 7000},
    ],
)
def test_a_plugin_touches_every_node(config: dict[str, Any]) -> None:
    assert touched(slurm_files(CLUSTER), with_config(**config)) == ["c1", "c2"]


def test_cgroup_conf_touches_every_node() -> None:
    changed = slurm_files(replace(CLUSTER, cgroup_config={"AllowedRAMSpace": 90}))
    assert touched(slurm_files(CLUSTER), changed) == ["c1", "c2"]


@pytest.mark.parametrize(
    "node",
    [Node("c2", replace(TWO, memory_mib=8000)), Node("c2", TWO, (Gres("gpu", "1", None, ("/dev/nvidia0",)),))],
    ids=["memory", "gpu"],
)
def test_hardware_touches_its_node(node: Node) -> None:
    """A type of resource that the cluster did not have is one more for every slurmd."""
    base = replace(CLUSTER, config={"GresTypes": "gpu"})
    changed = replace(base, nodes=[CLUSTER.nodes[0], node])
    assert touched(slurm_files(base), slurm_files(changed)) == ["c2"]


def test_another_device_touches_its_node() -> None:
    first, second = (
        replace(CLUSTER, nodes=[CLUSTER.nodes[0], Node("c2", TWO, (Gres("gpu", "1", None, (file,)),))])
        for file in ("/dev/nvidia0", "/dev/nvidia1")
    )
    assert touched(slurm_files(first), slurm_files(second)) == ["c2"]


def test_a_new_node_touches_no_other() -> None:
    more = replace(CLUSTER, nodes=[*CLUSTER.nodes, Node("c3", TWO)])
    assert touched(slurm_files(CLUSTER), slurm_files(more)) == ["c3"]


@pytest.mark.parametrize("node", [Node("c2", TWO, weight=9), Node("c2", TWO, features=("big",))])
def test_scheduling_touches_nobody(node: Node) -> None:
    changed = replace(CLUSTER, nodes=[CLUSTER.nodes[0], node])
    assert slurm_files(changed).slurm_conf != slurm_files(CLUSTER).slurm_conf
    assert touched(slurm_files(CLUSTER), slurm_files(changed)) == []


def test_every_option_is_one_of_slurm() -> None:
    known = table("slurm.conf")
    assert [name for name in startup.OPTIONS if known.find(name) is None] == []
    known = table("slurm.conf NodeName")
    assert [name for name in startup.NODE_KEYS if known.find(name) is None] == []
