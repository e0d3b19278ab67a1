"""NodeName lines from measured hardware."""

from __future__ import annotations

import pytest
from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.gres import Gres
from hpcprov.slurm.hardware import Hardware, parse_slurmd_c, real_memory
from hpcprov.slurm.nodes import Node, canonical, features_of, node_keys, node_lines
from hpcprov.slurm.values import record

TWO = Hardware(2, 1, 1, 2, 1, 4000)
EPYC = Hardware(208, 1, 2, 52, 2, 128616)


# SLM-07, SLM-08
@pytest.mark.parametrize(
    ("line", "hardware"),
    [
        (
            "NodeName=c1 CPUs=208 Boards=1 SocketsPerBoard=2 CoresPerSocket=52 ThreadsPerCore=2 RealMemory=128616\n"
            "UpTime=3-04:05:06",
            EPYC,
        ),
        # A GB10 box: lscpu says 2 x 10 cores, slurmd one socket of 20, and slurmd is right for Slurm.
        (
            "slurmd: Considering each NUMA node as a socket\n"
            "NodeName=gb10 CPUs=20 Boards=1 SocketsPerBoard=1 CoresPerSocket=20 ThreadsPerCore=1 RealMemory=122502",
            Hardware(20, 1, 1, 20, 1, 122502),
        ),
        (
            "NodeName=old CPUs=4 Sockets=2 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=2000 TmpDisk=9",
            Hardware(4, 1, 2, 2, 1, 2000),
        ),
    ],
)
def test_parse_slurmd_c(line: str, hardware: Hardware) -> None:
    assert parse_slurmd_c(line) == hardware


@pytest.mark.parametrize("line", ["", "slurmd: error", "NodeName=c1 CPUs=2", "NodeName=c1 CPUs=x Sockets=1"])
def test_parse_refuses_other_text(line: str) -> None:
    with pytest.raises(ValueError, match="slurmd -C printed no usable"):
        parse_slurmd_c(line)


# SLM-01
def test_real_memory_promises_less_than_there_is() -> None:
    assert real_memory(128616) == 122185
    for wrong in ((0, 95), (100, 0), (100, 101)):
        with pytest.raises(ValueError, match="cannot take"):
            real_memory(*wrong)


def keys(node: Node, **options: bool) -> str:
    return record(node_keys(node, **options))  # type: ignore[arg-type]


# SLM-02, SLM-09
@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({}, "CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=3800 State=UNKNOWN"),
        ({"cpus": 1}, "CPUs=1 RealMemory=3800 State=UNKNOWN"),
        (
            {"RealMemory": 2000, "State": "DRAIN", "MemSpecLimit": 100},
            "CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=2000 MemSpecLimit=100 "
            "State=DRAIN",
        ),
        (
            {"cores_per_socket": 1},
            "CPUs=1 Boards=1 SocketsPerBoard=1 CoresPerSocket=1 ThreadsPerCore=1 RealMemory=3800 State=UNKNOWN",
        ),
        (
            {"Reason": "two words"},
            "CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=3800 "
            'Reason="two words" State=UNKNOWN',
        ),
    ],
)
def test_site_wins_over_measured(settings: dict[str, object], line: str) -> None:
    assert keys(Node("c1", TWO, settings=settings)) == line


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"RealMemory": 4001}, "c1: RealMemory=4001 is more than the node has (4000)"),
        ({"CPUs": 4}, "c1: CPUs=4 is more than the node has (2)"),
        ({"CoreSpecCount": 2}, "c1: CoreSpecCount=2 leaves none of 2 cores for jobs"),
        ({"MemSpecLimit": "unlimited"}, "c1: MemSpecLimit=UNLIMITED leaves nothing of RealMemory=3800 for jobs"),
        ({"MemSpecLimit": 3800}, "c1: MemSpecLimit=3800 leaves nothing of RealMemory=3800 for jobs"),
        ({"RealMemory": 3819.5}, "c1: RealMemory=3819.5 is not a whole number above zero"),
        ({"RealMem": 1}, 'slurm_node: slurm.conf NodeName has no option "RealMem", did you mean "RealMemory"?'),
        ({"Topology": "x"}, "c1: Topology came with Slurm 25.05; this cluster runs 22.05"),
    ],
)
def test_what_slurm_would_drain_or_refuse(settings: dict[str, object], problem: str) -> None:
    with pytest.raises(SlurmConfigError) as caught:
        node_keys(Node("c1", TWO, settings=settings), release="22.05")
    assert caught.value.problems[0].startswith(problem)


def test_cpus_fit_cores_or_threads() -> None:
    sockets = {"Sockets": 2, "CoresPerSocket": 26, "ThreadsPerCore": 2}
    with pytest.raises(SlurmConfigError, match="2 sockets x 26 cores = 52, nor x 2 threads = 104"):
        node_keys(Node("c1", settings={"CPUs": 208, "RealMemory": 1000, **sockets}))
    for cpus in (52, 104):
        assert node_keys(Node("c1", settings={"CPUs": cpus, "RealMemory": 1000, **sockets}))["CPUs"] == cpus


def test_one_cpu_for_each_socket_is_for_whole_nodes_alone() -> None:
    node = Node("c1", settings={"CPUs": 2, "RealMemory": 1000, "Sockets": 2, "CoresPerSocket": 8})
    assert node_keys(node)["CPUs"] == 2
    with pytest.raises(SlurmConfigError, match="CPUs=2 fits neither 2 sockets x 8 cores = 16"):
        node_keys(node, whole_nodes=False)


def test_config_overrides_may_promise_more() -> None:
    line = keys(Node("c1", TWO, settings={"CPUs": 64, "RealMemory": 64000}), overrides_config=True)
    assert line == "CPUs=64 RealMemory=64000 State=UNKNOWN"


# SLM-05
def test_alike_nodes_share_a_line_and_others_do_not() -> None:
    nodes = [Node(f"c{number}", TWO) for number in (3, 1, 2)]
    nodes += [Node("gpu1", EPYC, gres=(Gres("gpu", "4", "a100"),), features=("nvlink", "a100"), weight=50)]
    assert node_lines({node.name: node_keys(node) for node in nodes}) == [
        "NodeName=c[1-3] CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=3800 "
        "State=UNKNOWN",
        "NodeName=gpu1 CPUs=208 Boards=1 SocketsPerBoard=2 CoresPerSocket=52 ThreadsPerCore=2 RealMemory=122185 "
        "Gres=gpu:a100:4 Features=nvlink,a100 Weight=50 State=UNKNOWN",
    ]


# SLM-02
def test_defined_when_measured_or_told() -> None:
    assert Node("c1", TWO).is_defined
    assert Node("c1", settings={"cpus": 2, "real_memory": 1000}).is_defined
    assert not Node("c1", settings={"CPUs": 2}).is_defined


def test_names_of_settings() -> None:
    assert canonical({"sockets": 1, "procs": 2, "feature": "x"}) == {"SocketsPerBoard": 1, "CPUs": 2, "Features": "x"}
    assert features_of(["a,b", "c"]) == features_of("a, b,c") == ("a", "b", "c")
    assert features_of(None) == ()
