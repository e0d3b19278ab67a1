"""Partitions from the site's list or from the groups."""

from __future__ import annotations

from typing import Any

import pytest
from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.partitions import (
    ComputeGroups,
    Partition,
    memory_per_cpu,
    partition_lines,
    partition_nodes,
    partitions_of,
)

COMPUTE = ComputeGroups(
    nodes=("c1", "c2", "g1"),
    groups={"compute": ("c1", "c2", "g1"), "cpu": ("c1", "c2"), "gpu": ("g1",)},
    children=("cpu", "gpu"),
)
KEYS = {"c1": {"CPUs": 2, "RealMemory": 2001}, "c2": {"CPUs": 4, "RealMemory": 8000}}


def lines(wanted: list[dict[str, Any]], compute: ComputeGroups = COMPUTE) -> list[str]:
    return partition_lines(partitions_of(wanted, compute), KEYS)


def test_child_groups_are_the_natural_form() -> None:
    assert lines([]) == [
        "PartitionName=cpu Nodes=c[1-2] Default=YES State=UP DefMemPerCPU=1000",
        # g1 was not measured yet: the partition stays, empty, in a form that Slurm reads.
        'PartitionName=gpu Nodes="" Default=NO State=UP',
    ]


def test_without_child_groups_there_is_one() -> None:
    alone = ComputeGroups(("c1", "c2"), {"compute": ("c1", "c2")})
    assert lines([], alone) == ["PartitionName=batch Nodes=c[1-2] Default=YES State=UP DefMemPerCPU=1000"]


def test_nodes_beside_the_child_groups_are_not_lost() -> None:
    mixed = ComputeGroups(("c1", "c2"), {"compute": ("c1", "c2"), "cpu": ("c1",)}, ("cpu",))
    assert [(p.name, p.nodes, p.default) for p in partitions_of([], mixed)] == [
        ("cpu", ("c1",), True),
        ("batch", ("c2",), False),
    ]


def test_keys_in_any_spelling() -> None:
    wanted = [{"name": "a", "nodes": "c1", "default": True, "max_time": "1:30:00", "AllowGroups": ["x", "y"]}]
    assert lines(wanted) == [
        "PartitionName=a Nodes=c1 Default=YES State=UP DefMemPerCPU=1000 MaxTime=1:30:00 AllowGroups=x,y"
    ]


def test_memory_that_the_site_says_is_kept() -> None:
    assert lines([{"name": "a", "nodes": "c1", "def_mem_per_node": 500}]) == [
        "PartitionName=a Nodes=c1 Default=YES State=UP DefMemPerNode=500"
    ]
    assert "DefMem" not in partition_lines([Partition("a", ("c1",))], KEYS, memory_is_set=True)[0]
    assert memory_per_cpu([]) is None


@pytest.mark.parametrize(
    ("wanted", "nodes"),
    [
        ("ALL", ("c1", "c2", "g1")),
        ("cpu", ("c1", "c2")),
        ("g1,c[1-2]", ("c1", "c2", "g1")),
        (["gpu", "c1"], ("c1", "g1")),
        ("gpu,c1", ("c1", "g1")),
        ([], ()),
    ],
)
def test_nodes(wanted: Any, nodes: tuple[str, ...]) -> None:
    assert partition_nodes(wanted, COMPUTE) == nodes


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ([{"name": "a", "nodes": "c[1-3]"}], "partition a: c3: no such compute node or group"),
        ([{"name": "a", "nodes": "C1"}], "partition a: C1: no such compute node or group (names differ by case: c1)"),
        ([{"name": "a", "nodes": "c[1:2]"}], 'partition a: "c[1:2]": "1:2" is not a number or a range such as 1-9'),
        ([{"name": "a"}, {"name": "a"}], "partition a stands twice"),
        ([{"name": "a", "default": True}, {"name": "b", "default": True}], "partitions a, b are all the default"),
        ([{"name": "a", "max_tme": 5}], 'partition a: unknown key "max_tme", did you mean "MaxTime"?'),
        ([{"name": "a", "max_time": "soon"}], 'partition a: max_time: "soon" is not a time'),
        ([{"nodes": "ALL"}], "slurm_partitions: {'nodes': 'ALL'} has no name"),
    ],
)
def test_what_slurm_would_refuse(wanted: list[dict[str, Any]], problem: str) -> None:
    with pytest.raises(SlurmConfigError) as caught:
        partitions_of(wanted, COMPUTE)
    assert caught.value.problems[0].startswith(problem)
