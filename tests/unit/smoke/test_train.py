"""What each rank finds out before it trains, and what counts as a proof."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="module")
def train(program: Callable[[str], ModuleType]) -> ModuleType:
    return program("train")


ADDRESSES = [
    {"ifname": "lo", "addr_info": [{"local": "127.0.0.1"}]},
    {"ifname": "docker0", "addr_info": [{"local": "172.17.0.1"}]},
    {"ifname": "eth1", "addr_info": [{"local": "192.168.1.5"}, {"local": "10.1.2.3"}]},
    {"ifname": "ib0", "addr_info": [{"local": "fd00::3"}]},
    {"ifname": "down0"},
]
PASSED: dict[str, Any] = {
    "accuracy": 0.97,
    "loss": [1.7, 0.2],
    "world_size": 2,
    "nodes": ["node01", "node02"],
    "weights_equal": True,
}
ASKED = Namespace(min_accuracy=0.95, tasks=2, nodes=2)


# DL-05
@pytest.mark.parametrize(("network", "name"), [("10.1.0.0/16", "eth1"), ("10.1.2.3/16", "eth1"), ("fd00::/64", "ib0")])
def test_interface_is_the_one_on_the_cluster_network(train: ModuleType, network: str, name: str) -> None:
    assert train.interface_on(network, ADDRESSES) == name


def test_no_interface_on_the_cluster_network_is_an_error(train: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"no interface of .* has an address in the cluster network 10\.9\.0\.0/16"):
        train.interface_on("10.9.0.0/16", ADDRESSES)


def test_port_stays_between_slurms_and_the_ephemeral_ones(train: ModuleType) -> None:
    ports = {train.job_port(job) for job in range(1, 50_000, 7)}
    assert min(ports) >= 20000
    assert max(ports) < 32768
    assert train.job_port(41) != train.job_port(42)


# DL-01
def test_place_comes_from_the_step_and_the_jobs_own_node_list(
    train: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scontrol = tmp_path / "scontrol"
    scontrol.write_text('#!/bin/sh\n[ "$*" = "show hostnames node[01-02]" ] && printf "node01\\nnode02\\n"\n')
    scontrol.chmod(0o755)
    address = tmp_path / "ip"
    address.write_text("""#!/bin/sh\necho '[{"ifname":"eth0","addr_info":[{"local":"10.1.0.2"}]}]'\n""")
    address.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    environment = {
        "SLURM_JOB_NODELIST": "node[01-02]",
        "SLURM_JOB_ID": "7",
        "SLURM_PROCID": "1",
        "SLURM_LOCALID": "0",
        "SLURM_NTASKS": "2",
        "SLURM_CPUS_PER_TASK": "4",
        "SLURMD_NODENAME": "node02",
    }
    place = train.find_place(environment, "10.1.0.0/16")
    assert place == train.Place(1, 0, 2, 4, 7, "node02", "node01", 20007, "eth0")


def test_a_whole_result_passes(train: ModuleType) -> None:
    assert train.shortcomings(PASSED, ASKED) == []


# DL-03
@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"accuracy": 0.949}, "test accuracy 0.949 is below 0.95"),
        ({"loss": [0.2, 0.2]}, "the loss did not fall: [0.2, 0.2]"),
        ({"loss": [0.2]}, "the loss did not fall: [0.2]"),
        ({"world_size": 1}, "1 ranks trained, 2 tasks were asked for"),
        ({"nodes": ["node01"]}, "trained on 1 nodes, not on 2: ['node01']"),
        ({"weights_equal": False}, "the ranks ended with different weights"),
    ],
)
def test_each_condition_can_fail(train: ModuleType, wrong: dict[str, Any], said: str) -> None:
    assert train.shortcomings({**PASSED, **wrong}, ASKED) == [said]
