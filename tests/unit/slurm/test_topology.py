"""Topology: what is written reads the same, and the shape of a tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.read import read
from hpcprov.slurm.topology import (
    Block,
    Switch,
    Topology,
    read_topology_conf,
    read_topology_yaml,
    topology_conf,
    topology_yaml,
)
from hypothesis import given
from hypothesis import strategies as st

TREE = Topology(
    (
        Switch("leaf1", ("n1", "n2", "n3"), (), 100),
        Switch("leaf2", ("n10", "n009")),
        Switch("spine", (), ("leaf1", "leaf2")),
    )
)
BLOCKS = Topology((), (Block("b1", ("n1", "n2")), Block("b2", ("n3", "n4"))), (2, 4))


def again(topology: Topology) -> Topology:
    return read_topology_conf(read(topology_conf(topology), Path("topology.conf")))


def test_tree_as_text() -> None:
    assert topology_conf(TREE) == (
        "SwitchName=leaf1 Nodes=n[1-3] LinkSpeed=100\n"
        "SwitchName=leaf2 Nodes=n[10,009]\n"
        "SwitchName=spine Switches=leaf[1-2]\n"
    )


def test_blocks_as_text() -> None:
    assert topology_conf(BLOCKS) == "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2,4\n"


@pytest.mark.parametrize("topology", [TREE, BLOCKS, Topology()])
def test_both_forms_read_the_same(topology: Topology) -> None:
    assert again(topology) == topology
    from_yaml = read_topology_yaml(topology_yaml({"main": topology}))["main"]
    assert from_yaml.nodes == topology.nodes
    assert from_yaml.blocks == topology.blocks
    assert from_yaml.block_sizes == topology.block_sizes
    assert [switch.name for switch in from_yaml.switches] == [switch.name for switch in topology.switches]


NAMES = st.from_regex(r"[a-z]{1,3}[0-9]{1,3}", fullmatch=True)


@given(st.dictionaries(NAMES, st.sets(NAMES, min_size=1, max_size=6), min_size=1, max_size=5))
def test_any_tree_survives(leaves: dict[str, set[str]]) -> None:
    topology = Topology(tuple(Switch(name, tuple(nodes)) for name, nodes in leaves.items()))
    read_again = again(topology)
    assert {switch.name: set(switch.nodes) for switch in read_again.switches} == leaves


def test_loop_is_found() -> None:
    topology = Topology((Switch("a", (), ("b",)), Switch("b", (), ("c",)), Switch("c", (), ("a",))))
    assert sorted(topology.loop()) == ["a", "b", "c"]
    assert TREE.loop() == []


def test_slm_25_roots_that_are_not_connected() -> None:
    apart = Topology((Switch("a", ("n1",)), Switch("b", ("n2",))))
    assert apart.connected_roots() == [["a"], ["b"]]
    assert TREE.connected_roots() == [["spine"]]
    redundant = Topology((Switch("a", ("n1",)), Switch("s1", (), ("a",)), Switch("s2", (), ("a",))))
    assert redundant.connected_roots() == [["s1", "s2"]]


@pytest.mark.parametrize("data", [{}, [{"x": 1}], [{"topology": "a", "tree": {"switches": [{"nodes": "n1"}]}}], ["a"]])
def test_yaml_of_another_form_is_refused(data: object) -> None:
    with pytest.raises(SlurmConfigError):
        read_topology_yaml(data)
