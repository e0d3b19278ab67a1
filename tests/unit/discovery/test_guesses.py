"""Roles, names and the network: guessed, with the reason."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hpcprov.discovery.cluster_network import guess_network
from hpcprov.discovery.facts import HostFacts
from hpcprov.discovery.names import inventory_names
from hpcprov.discovery.roles import guess_roles

from .machines import machine


def cluster(**changes: HostFacts) -> dict[str, HostFacts]:
    names = ("n1", "n2", "n3", "n4")
    return {name: machine(name, f"10.0.0.{i + 1}/24") for i, name in enumerate(names)} | changes


def test_alike_hosts_the_first_one_leads() -> None:
    guess = guess_roles(cluster())
    assert guess.roles == {
        "controller": ["n1"], "database": ["n1"], "login": ["n1"], "storage": ["n1"], "compute": ["n2", "n3", "n4"],
    }  # fmt: skip
    assert guess.reasons["controller"] == "the first host without GPUs"
    assert guess.kinds == {}


def test_a_gpu_host_does_not_lead_even_when_it_is_the_first() -> None:
    guess = guess_roles(cluster(n1=machine("n1", "10.0.0.1/24", gpus=4)))
    assert guess.roles["controller"] == ["n2"]
    assert guess.kinds == {"gpu_a100_nodes": ["n1"], "cpu_nodes": ["n3", "n4"]}


def test_many_disks_are_storage_and_say_how_many() -> None:
    guess = guess_roles(cluster(n3=machine("n3", "10.0.0.3/24", data_tb=96)))
    assert guess.roles["storage"] == ["n3"]
    assert guess.reasons["storage"] == "n3 has 96 TB beside its system disk, far more than the others"
    assert guess.roles["compute"] == ["n2", "n4"]


@pytest.mark.parametrize("size", [0.9, 3.9])
def test_a_scratch_disk_is_no_storage(size: float) -> None:
    assert guess_roles(cluster(n3=machine("n3", "10.0.0.3/24", data_tb=size))).roles["storage"] == ["n1"]


def test_scratch_disks_everywhere_are_no_storage() -> None:
    hosts = {f"n{i}": machine(f"n{i}", f"10.0.0.{i}/24", data_tb=8) for i in range(1, 5)}
    assert guess_roles(hosts).roles["storage"] == ["n1"]


def test_names_go_before_hardware() -> None:
    hosts = {
        name: machine(name, f"10.0.0.{i}/24", data_tb=20 if name == "node02" else 0)
        for i, name in enumerate(("node01", "node02", "login1", "mgmt", "nfs01", "db1"), 1)
    }
    guess = guess_roles(hosts)
    assert guess.roles == {
        "controller": ["mgmt"], "database": ["db1"], "login": ["login1"], "storage": ["nfs01"],
        "compute": ["node01", "node02"],
    }  # fmt: skip


def test_one_host_is_everything() -> None:
    guess = guess_roles({"box": machine("box", "10.0.0.1/24", gpus=1)})
    assert all(hosts == ["box"] for hosts in guess.roles.values())
    assert guess.reasons["compute"] == "there is no further host"


def test_two_hosts() -> None:
    guess = guess_roles({"a": machine("a", "10.0.0.1/24"), "b": machine("b", "10.0.0.2/24")})
    assert (guess.roles["controller"], guess.roles["compute"]) == (["a"], ["b"])


def test_the_network_that_all_share() -> None:
    hosts = {name: machine(name, f"10.0.0.{i}/24", f"192.0.2.{i}/24") for i, name in enumerate("abc", 1)}
    hosts["b"] = machine("b", "10.0.0.2/24")
    guess = guess_network(hosts, {})
    assert str(guess.network) == "10.0.0.0/24"
    assert guess.reason == "every host has an address in it, at 1 Gbit/s or more"
    assert guess.others == ("192.0.2.0/24",)


def test_the_faster_of_two_shared_networks_and_ethernet_before_infiniband() -> None:
    def host(name: str, last: int) -> HostFacts:
        slow, fast = machine(name, f"10.0.0.{last}/24", speed=1000), machine(name, f"10.9.0.{last}/24", speed=25000)
        ib = machine(name, f"10.8.0.{last}/24", speed=200000, layer="infiniband")
        return replace(slow, interfaces=slow.interfaces + fast.interfaces + ib.interfaces)

    guess = guess_network({"a": host("a", 1), "b": host("b", 2)}, {"a": "10.0.0.1", "b": "10.0.0.2"})
    assert str(guess.network) == "10.9.0.0/24"
    assert set(guess.others) == {"10.0.0.0/24", "10.8.0.0/24"}


def test_racks_with_a_network_each() -> None:
    hosts = {"a": machine("a", "10.1.1.5/24"), "b": machine("b", "10.1.2.5/24"), "c": machine("c", "10.1.3.5/24")}
    guess = guess_network(hosts, {})
    assert str(guess.network) == "10.1.0.0/22"
    assert guess.reason == "the hosts share no network; this is the smallest around all of them"


def test_addresses_without_a_network_take_the_way_we_came() -> None:
    hosts = {"a": machine("a", "10.1.1.5/32"), "b": machine("b", "10.1.1.9/32")}
    assert str(guess_network(hosts, {"a": "10.1.1.5", "b": "10.1.1.9"}).network) == "10.1.1.0/24"


def test_no_address_at_all() -> None:
    assert guess_network({"a": machine("a")}, {"a": "a"}).network is None


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        ({"10.0.0.5": "node7.example.org"}, {"10.0.0.5": "node7"}),
        ({"node1.example.org": "other"}, {"node1.example.org": "node1"}),
        ({"10.0.0.5": "localhost"}, {"10.0.0.5": "node-10-0-0-5"}),
        ({"10.0.0.5": "clone", "10.0.0.6": "clone"}, {"10.0.0.5": "node-10-0-0-5", "10.0.0.6": "node-10-0-0-6"}),
        ({"10.0.0.5": "bad_name"}, {"10.0.0.5": "node-10-0-0-5"}),
        ({"10.0.0.5": "taken"}, {"10.0.0.5": "node-10-0-0-5"}),
        ({"2001:db8::5": ""}, {"2001:db8::5": "node-2001-db8--5"}),
    ],
)
def test_names(targets: dict[str, str], expected: dict[str, str]) -> None:
    assert inventory_names({target: machine(own) for target, own in targets.items()}, ["Taken"]) == expected
