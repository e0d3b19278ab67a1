"""What a site needs of its hosts."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hpcprov.paths import project_root
from hpcprov.preflight import needs

from .cluster_look import site


def defaults(role: str) -> dict[str, Any]:
    values: dict[str, Any] = yaml.safe_load((project_root() / "roles" / role / "defaults" / "main.yml").read_text())
    return values


def test_defaults_are_those_of_the_roles() -> None:
    base = defaults("base")
    assert [{"name": user["name"], "uid": user["uid"]} for user in base["base_system_users"]] == list(
        needs.SYSTEM_USERS
    )
    assert base["cluster_smoke_user"] == needs.SMOKE_USER
    host = site().hosts["node01"]
    assert needs.manages_hostname(host) is base["base_manage_hostname"]
    assert needs.manages_time(host) is base["base_manage_time"]
    assert needs.lock_timeout(host) == defaults("packages")["packages_lock_timeout"]
    assert defaults("slurmdbd")["slurm_dbd_storage_host"] == "localhost"


def listed(name: str, **variables: Any) -> list[tuple[int, str, tuple[str, ...]]]:
    made = site(variables)
    return [(port.number, port.purpose, port.callers) for port in needs.ports(made, made.hosts[name])]


def test_ports_of_the_lab() -> None:
    assert listed("head") == [
        (6817, "slurmctld", ("head", "node01", "node02")),
        (6819, "slurmdbd", ("head",)),
        (3306, "MariaDB", ()),
    ]
    assert listed("node01") == [(6818, "slurmd", ("head", "node01", "node02"))]
    assert listed("store") == [(2049, "NFS", ("head", "node01", "node02"))]


def test_ports_that_the_site_chooses() -> None:
    config = {"SlurmctldPort": "6820-6822", "SlurmdPort": 7000}
    assert [port[0] for port in listed("head", slurm_config=config, mariadb_config={"port": 3307})] == [
        6820, 6821, 6822, 6819, 3307,
    ]  # fmt: skip
    assert [port[0] for port in listed("node01", slurm_config=config)] == [7000]
    made = site(hosts={"node01": {"slurm_node": {"Port": 7001}}})
    assert [port.number for port in needs.ports(made, made.hosts["node01"])] == [7001]


def test_database_elsewhere_and_storage_elsewhere_take_no_ports() -> None:
    assert [port[0] for port in listed("head", slurm_dbd_storage_host="db.example")] == [6817, 6819]
    assert listed("store", nfs_backend="external") == []


def test_accounts() -> None:
    users = [
        {"name": "alice", "uid": "5001"},
        {"name": "bob", "uid": 5002, "gid": 100},
        {"name": "eve", "uid": 5003, "group": "users"},
    ]
    made = site({"cluster_users": users, "cluster_smoke_user": {"name": "smoke", "uid": 7000}})
    assert [(entry.name, entry.uid, entry.gid) for entry in needs.accounts(made.hosts["head"])] == [
        ("munge", 64031, 64031),
        ("slurm", 64030, 64030),
        ("alice", 5001, 5001),
        ("bob", 5002, 100),
        ("eve", 5003, None),
        ("smoke", 7000, 7000),
    ]


@pytest.mark.parametrize(
    ("value", "wanted"), [(False, False), ("no", False), ("yes", True), ("{{ x }}", True), (None, True)]
)
def test_switches_are_read_as_ansible_reads_them(value: object, wanted: bool) -> None:
    assert needs.manages_time(site({"base_manage_time": value}).hosts["head"]) is wanted
