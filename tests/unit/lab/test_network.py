"""Addresses of the lab network, and what collides with them."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Network

import pytest
from hpcprov.errors import LabError
from hpcprov.lab.host import HostFacts
from hpcprov.lab.network import conflicts, create_arguments, plan
from hypothesis import given
from hypothesis import strategies as st

SUBNET = "10.89.77.0/24"


def test_gateway_cache_and_dynamic_range_avoid_the_hosts() -> None:
    made = plan("net", SUBNET, {"head": "10.89.77.1", "node": "10.89.77.250"})
    assert str(made.gateway) == "10.89.77.2"
    assert str(made.dynamic) == "10.89.77.192/27"
    assert str(made.cache) == "10.89.77.223"


@given(st.sets(st.integers(1, 254), min_size=1, max_size=7))
def test_nothing_is_given_twice(last_octets: set[int]) -> None:
    addresses = {f"n{octet}": f"10.89.77.{octet}" for octet in last_octets}
    made = plan("net", SUBNET, addresses)
    used = set(addresses.values())
    assert str(made.gateway) not in used
    assert str(made.cache) not in used
    assert made.cache != made.gateway
    assert made.cache in made.dynamic
    assert not any(host in used for host in map(str, made.dynamic))


@pytest.mark.parametrize(
    ("addresses", "message"),
    [
        ({"a": "10.1.1.1"}, "10.1.1.1 is not a host address of cluster_network 10.89.77.0/24"),
        ({"a": "10.89.77.255"}, "10.89.77.255 is not a host address of cluster_network 10.89.77.0/24"),
        ({"a": "10.89.77.9", "b": "10.89.77.9"}, "10.89.77.9 belongs to a already"),
        ({"a": "head"}, "no address: 'head'"),
        (
            {f"n{i}": f"10.89.77.{i * 32 + 5}" for i in range(8)},
            f"the hosts' addresses are spread over all of {SUBNET}",
        ),
    ],
)
def test_addresses_that_do_not_fit_are_named(addresses: dict[str, str], message: str) -> None:
    with pytest.raises(LabError) as caught:
        plan("net", SUBNET, addresses)
    assert caught.value.message == message


def test_overlaps_are_found_and_the_default_route_is_not_one() -> None:
    used = [
        ("podman network a", "10.89.0.0/16"),
        ("interface eth0", "10.89.77.128/25"),
        ("interface eth1", "10.89.78.0/24"),
        ("interface eth2", "0.0.0.0/0"),
        ("podman network six", "fd00::/64"),
    ]
    found = conflicts(IPv4Network(SUBNET), used)
    assert found == ["podman network a uses 10.89.0.0/16", "interface eth0 uses 10.89.77.128/25"]


def test_podmans_name_server_only_where_the_hosts_own_cannot_be_reached(facts: Callable[..., HostFacts]) -> None:
    made = plan("net", SUBNET, {"head": "10.89.77.11"})
    assert "--disable-dns" in create_arguments(made, facts(), {})
    assert "--disable-dns" not in create_arguments(made, facts(loopback_resolver=True), {})
    assert create_arguments(made, facts(), {"k": "v"})[-2:] == ["--label", "k=v"]
