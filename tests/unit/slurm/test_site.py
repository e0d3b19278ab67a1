"""From an inventory and saved facts to Slurm's files, as the filters do it."""

from __future__ import annotations

import importlib.util
from types import ModuleType
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from hpcprov.paths import project_root
from hpcprov.slurm.cluster import Daemons
from hpcprov.slurm.conf import slurm_files
from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.site import from_ansible

GROUPS = {
    "all": ["localhost", "head.example.org", "n1", "n2", "g1"],
    "controller": ["head.example.org"],
    "database": ["head.example.org"],
    "compute": ["n1", "n2", "g1"],
    "cpu": ["n1", "n2"],
    "gpu": ["g1"],
    "racks": ["n1"],
}
SITE = {"cluster_name": "test", "slurm_config": {"KillWait": 60}, "slurm_ctld_port": 7000}
HOSTVARS: dict[str, dict[str, Any]] = {
    "localhost": {"ansible_connection": "local"},
    "head.example.org": {
        **SITE,
        "cluster_address": "10.0.0.1",
        "ansible_host": "192.0.2.1",
        "cluster_aliases": ["ctl"],
    },
    "n1": {**SITE, "ansible_host": "10.0.0.11"},
    "n2": {**SITE, "ansible_host": "10.0.0.12", "slurm_node": {"CPUs": 1}, "slurm_weight": "7"},
    "g1": {**SITE, "ansible_host": "10.0.0.13", "slurm_gres": "gpu:a100:2", "slurm_features": "nvlink"},
}
MEASURED: dict[str, Any] = {
    "slurmd_c": "NodeName=x CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=4000",
    "slurm_version": "24.11.5",
    "cgroup": "v2",
    "cgroup_controllers": ["cpuset", "memory", "pids"],
    "container": False,
    "gpus": [],
    "pmix": ["pmix_v5"],
}
FACTS = {
    "n1": MEASURED,
    "n2": {**MEASURED, "slurm_version": "24.5.9"},
    "g1": {**MEASURED, "gpus": [{"file": "/dev/nvidia0", "type": "a100"}, {"file": "/dev/nvidia1", "type": "a100"}]},
}


@pytest.fixture(scope="module")
def plugin() -> ModuleType:
    """The filter plugin, loaded as Ansible loads it: from its file."""
    path = project_root() / "playbooks/filter_plugins/hpcprov.py"
    spec = importlib.util.spec_from_file_location("hpcprov_filters", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_from_ansible() -> None:
    cluster = from_ansible(GROUPS, HOSTVARS, FACTS, ["cpu", "gpu"])
    assert cluster.controllers == [("head", "10.0.0.1")]
    assert cluster.databases == ["head"]
    assert cluster.version == "24.5.9"
    assert cluster.pmix
    assert cluster.daemons == Daemons(slurmctld_port=7000)
    conf = slurm_files(cluster).slurm_conf
    for line in (
        "NodeName=g1 CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=3800 "
        "Gres=gpu:a100:2 Features=nvlink State=UNKNOWN",
        "NodeName=n2 CPUs=1 RealMemory=3800 Weight=7 State=UNKNOWN",
        "PartitionName=cpu Nodes=n[1-2] Default=YES State=UP DefMemPerCPU=1900",
        "PartitionName=gpu Nodes=g1 Default=NO State=UP DefMemPerCPU=1900",
    ):
        assert f"\n{line}\n" in conf
    assert "racks" not in conf


# NET-08
def test_limit_and_dead_nodes_change_nothing_else() -> None:
    without = {host: facts for host, facts in FACTS.items() if host != "g1"}
    files = slurm_files(from_ansible(GROUPS, HOSTVARS, without, ["cpu", "gpu"]))
    assert "NodeName=g1" not in files.slurm_conf
    assert files.notices[0].startswith("g1 not in slurm.conf until measured")


def test_problems_name_the_host() -> None:
    hostvars = {**HOSTVARS, "n1": {**HOSTVARS["n1"], "slurm_gres": "gpu:a100:2"}}
    with pytest.raises(SlurmConfigError, match="n1: slurm_gres promises gpu:a100:2, but the node shows 0"):
        from_ansible(GROUPS, hostvars, FACTS)
    with pytest.raises(SlurmConfigError, match="Slurm needs a host in controller"):
        from_ansible({"compute": ["n1"]}, HOSTVARS, FACTS)
    with pytest.raises(SlurmConfigError, match="n1: slurmd -C printed no usable"):
        from_ansible(GROUPS, HOSTVARS, {"n1": {"slurmd_c": "error"}})


def test_filters(plugin: ModuleType) -> None:
    filters = plugin.FilterModule().filters()
    files = filters["hpcprov_slurm_files"](GROUPS, HOSTVARS, FACTS)
    assert list(files) == [
        "slurm.conf",
        "cgroup.conf",
        "gres.conf",
        "at_start",
        "at_start_by_node",
        "nodes",
        "partitions",
        "notices",
    ]
    assert sorted(files["nodes"]) == sorted(set(files["nodes"]))
    assert files["gres.conf"] == "NodeName=g1 Name=gpu Type=a100 File=/dev/nvidia[0-1]\n"
    assert filters["hpcprov_partition_nodes"]("gpu,n1", GROUPS) == ["n1", "g1"]
    assert filters["hpcprov_expand"]("n[1-2]") == ["n1", "n2"]
    assert filters["hpcprov_fold"](["n1", "n2"]) == "n[1-2]"
    dbd = filters["hpcprov_slurmdbd_conf"]({"host": "head.example.org", "password": "x"})
    assert "DbdHost=head\n" in dbd


# NET-08, NET-13
def test_hosts_file_names_every_host(plugin: ModuleType) -> None:
    text = plugin.FilterModule().filters()["hpcprov_hosts_file"](GROUPS, HOSTVARS, "cluster.internal")
    assert text == (
        "127.0.0.1 localhost\n"
        "::1 localhost ip6-localhost ip6-loopback\n"
        "ff02::1 ip6-allnodes\n"
        "ff02::2 ip6-allrouters\n"
        "\n"
        "10.0.0.1 head head.example.org ctl\n"
        "10.0.0.11 n1 n1.cluster.internal\n"
        "10.0.0.12 n2 n2.cluster.internal\n"
        "10.0.0.13 g1 g1.cluster.internal\n"
    )


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({"ansible_host": "n1.example.org"}, "n1: 'n1.example.org' is no address; give it a cluster_address"),
        ({"ansible_host": "127.0.1.1"}, "n1: 127.0.1.1 is this machine's own loopback"),
        ({"ansible_host": "10.0.0.11", "cluster_aliases": ["n2"]}, "n1 and n2 are both called n2"),
    ],
)
def test_hosts_file_refuses(plugin: ModuleType, variables: dict[str, Any], problem: str) -> None:
    filters = plugin.FilterModule().filters()
    with pytest.raises(AnsibleFilterError, match=problem):
        filters["hpcprov_hosts_file"](GROUPS, {**HOSTVARS, "n1": variables}, "cluster.internal")
    with pytest.raises(AnsibleFilterError, match="Slurm needs"):
        filters["hpcprov_slurm_files"]({}, HOSTVARS, FACTS)
