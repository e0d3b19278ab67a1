"""Role base: every host knows every other by name, users have the same ids, jobs get their limits."""

from __future__ import annotations

import stat
from collections.abc import Callable
from typing import Any

import pytest
from hpcprov.site import Site

USERS = {"munge": 64031, "slurm": 64030, "alice": 5001, "bob": 5002, "hpcsmoke": 64100}


# NET-01
def test_hostname_is_the_node_name(site: Site, nodes: Callable[[str], Any]) -> None:
    for host in site.cluster_hosts:
        assert nodes(host.name).check_output("hostname") == host.node_name
        assert nodes(host.name).file("/etc/hostname").content_string.strip() == host.node_name


def test_every_host_finds_every_host_at_its_cluster_address(site: Site, node: Any) -> None:
    for host in site.cluster_hosts:
        for name in (host.node_name, f"{host.node_name}.mol.internal"):
            found = node.check_output("getent ahostsv4 %s", name).split()[0]
            assert found == host.cluster_address, name


# NET-05, MPI-04
def test_own_name_is_not_on_loopback(node: Any) -> None:
    own = node.check_output("hostname")
    loopback = [line for line in node.file("/etc/hosts").content_string.splitlines() if line.startswith("127.")]
    assert loopback == ["127.0.0.1 localhost"]
    assert own not in loopback[0].split()


def test_further_lines_are_kept(node: Any) -> None:
    assert node.check_output("getent hosts printer").split()[0] == "192.0.2.7"


# MUN-07, DL-12
@pytest.mark.parametrize(("name", "uid"), USERS.items())
def test_ids_are_those_of_the_site(node: Any, name: str, uid: int) -> None:
    assert node.check_output("id -u %s", name) == str(uid)


def test_an_own_primary_group_and_shell(node: Any) -> None:
    bob = node.user("bob")
    assert (bob.gid, bob.shell) == (6000, "/bin/sh")


def test_users_have_homes_and_daemons_do_not_log_in(node: Any) -> None:
    home = node.file("/home/alice")
    assert home.is_directory and home.user == "alice"
    assert node.user("slurm").shell == "/usr/sbin/nologin"


def test_a_user_gets_the_limits_of_jobs(node: Any) -> None:
    assert node.check_output("runuser -l alice -c 'ulimit -Hn'") == "12345"


def test_secrets_are_made_once_on_the_control_host_only(site: Site, node: Any) -> None:
    for name in ("munge.key", "database_password"):
        secret = site.state_dir / "secrets" / name
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
        assert secret.stat().st_size >= 32
    assert not node.file("/etc/munge/munge.key").exists


def test_clock_of_a_container_is_the_machines(node: Any) -> None:
    assert not node.package("chrony").is_installed
