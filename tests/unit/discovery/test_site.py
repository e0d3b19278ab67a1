"""The site file that a survey leads to: valid, explained, and an existing one kept as it is written."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from pathlib import Path

import pytest
from hpcprov.discovery.facts import HostFacts
from hpcprov.discovery.new_site import default_cluster_name, new_site
from hpcprov.discovery.reach import Access
from hpcprov.discovery.update import update
from hpcprov.errors import SiteError
from hpcprov.site import Site, check_site, load_site
from hpcprov.site.save import diff, save

from .machines import found, machine, target


def site_of(tmp_path: Path, text: str) -> Site:
    path = tmp_path / "site.yaml"
    path.write_text(text)
    report = check_site(path)
    assert report.site is not None, [str(finding) for finding in report.findings]
    assert report.findings == []
    return report.site


def machines(count: int) -> dict[str, HostFacts]:
    hosts = {"head": machine("head", "10.1.0.1/16", bmc="10.3.0.1"), "big": machine("big", "10.1.0.2/16", data_tb=80)}
    for number in range(1, count + 1):
        hosts[f"node{number:03d}"] = machine(
            f"node{number:03d}", f"10.1.1.{number}/16", mac=f"52:54:00:01:00:{number:02x}"
        )
    return hosts


def test_a_cluster_becomes_a_valid_site(tmp_path: Path) -> None:
    hosts = machines(3) | {
        "gpu1": machine("gpu1", "10.1.2.1/16", gpus=4, mac="52:54:00:02:00:01"),
        "gpu2": machine("gpu2", "10.1.2.2/16", gpus=4, mac="52:54:00:02:00:02"),
    }
    text = new_site([found(name, facts) for name, facts in hosts.items()], Access(), "atlas")
    site = site_of(tmp_path, text)
    assert site.cluster_name == "atlas"
    assert site.cluster_network == "10.1.0.0/16"
    assert {role: hosts for role, hosts in site.groups.items() if role in ("controller", "storage", "compute")} == {
        "controller": ["head"], "storage": ["big"], "compute": ["node001", "node002", "node003", "gpu1", "gpu2"],
    }  # fmt: skip
    assert site.children["compute"] == ["cpu_nodes", "gpu_a100_nodes"]
    assert site.hosts["gpu1"].vars["slurm_gres"] == "gpu:a100:4"
    assert site.hosts["node001"].vars["cluster_mac"] == "52:54:00:01:00:01"
    assert site.hosts["head"].vars["bmc_address"] == "10.3.0.1"
    assert "# Guessed: big has 80 TB beside its system disk, far more than the others." in text
    assert "# Guessed: every host has an address in it, at 1 Gbit/s or more." in text


def test_one_machine_is_a_valid_site(tmp_path: Path) -> None:
    site = site_of(tmp_path, new_site([found("box", machine("box", "10.1.0.1/16"))], Access(), "atlas"))
    assert set(site.hosts) == {"box"}


def test_a_large_disk_that_is_mounted_is_shared(tmp_path: Path) -> None:
    hosts = machines(1) | {"big": machine("big", "10.1.0.2/16", data_tb=80, mount="/data")}
    site = site_of(tmp_path, new_site([found(name, facts) for name, facts in hosts.items()], Access(), "atlas"))
    assert site.vars["nfs_exports"] == [{"path": "/data"}]


def test_ssh_as_discover_did_it(tmp_path: Path) -> None:
    hosts = [found("a", machine("a", "10.1.0.1/16")), found("b", machine("b", "10.1.0.2/16"))]
    hosts = [
        type(one)(one.name, target(one.name, one.target.route.address, user="ops", port=2222), one.facts)
        for one in hosts
    ]
    access = Access("ops", Path("~/.ssh/lab"), 2222, jump="gate", known_hosts=Path("/etc/my hosts"))
    site = site_of(tmp_path, new_site(hosts, access, "atlas"))
    assert site.hosts["a"].user == "ops"
    assert site.hosts["a"].port == 2222
    assert site.vars["ansible_become"] is True
    assert site.hosts["a"].ssh_args == "-J gate -o UserKnownHostsFile='/etc/my hosts' -o StrictHostKeyChecking=yes"
    assert site.vars["ansible_ssh_private_key_file"] == "~/.ssh/lab"


def test_a_password_never_gets_into_the_file() -> None:
    text = new_site([found("a", machine("a", "10.1.0.1/16"))], Access(password="geheim"), "atlas")
    assert "geheim" not in text


def test_what_a_host_says_cannot_break_the_file_or_the_terminal(tmp_path: Path) -> None:
    facts = replace(machine("a", "10.1.0.1/16"), os="Evil\x1b[2J\x07 Linux: {x} # y")
    text = new_site([found("a", facts)], Access(), "atlas")
    site_of(tmp_path, text)
    assert "\x1b" not in text


def test_gpus_without_a_driver_are_told_and_not_promised() -> None:
    hosts = machines(1) | {"gpu1": machine("gpu1", "10.1.2.1/16", gpus=2, ready=False)}
    text = new_site([found(name, facts) for name, facts in hosts.items()], Access(), "atlas")
    assert "# 2 nvidia GPUs without a working driver" in text
    assert "slurm_gres" not in text


def test_ssh_by_another_address_than_the_cluster_uses(tmp_path: Path) -> None:
    hosts = [found("a", machine("a", "10.1.0.1/16"), "198.51.100.7"), found("b", machine("b", "10.1.0.2/16"), "b")]
    site = site_of(tmp_path, new_site(hosts, Access(), "atlas"))
    assert (site.hosts["a"].address, site.hosts["a"].cluster_address) == ("198.51.100.7", "10.1.0.1")
    assert (site.hosts["b"].address, site.hosts["b"].cluster_address) == ("b", "10.1.0.2")


@pytest.mark.parametrize(
    ("path", "name"),
    [("site.yaml", "cluster"), ("atlas.yaml", "atlas"), ("My Cluster.yml", "my-cluster"), ("7.yaml", "cluster")],
)
def test_cluster_name(path: str, name: str) -> None:
    assert default_cluster_name(Path(path)) == name


SITE = """\
# our cluster
all:
  vars:
    cluster_name: atlas   # never change
    cluster_network: 10.1.0.0/16
    ansible_user: root
    nfs_exports: [{path: /shared}]
controller:
  hosts:
    head: {ansible_host: 10.1.0.1}
database: {hosts: {head: }}
storage: {hosts: {head: }}

# the machines that work
compute:
  children:
    cpu:
      hosts:
        # rack 1
        node[001:003]:
          ansible_host: "10.1.1.{{ inventory_hostname[-3:] | int }}"
    gpu:
      hosts:
        gpu1:
          ansible_host: 10.1.2.1   # the old one
          cluster_mac: 52:54:00:02:00:AA
      vars: {slurm_gres: "gpu:a100:4"}
"""
NETWORK = ipaddress.ip_network("10.1.0.0/16")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    path = tmp_path / "site.yaml"
    path.write_text(SITE)
    return load_site(path)


def test_an_update_keeps_comments_and_order(site: Site) -> None:
    known = {
        "head": machine("head", "10.1.0.1/16", bmc="10.3.0.1", mac="52:54:00:00:00:01"),
        "node002": machine("node002", "10.1.1.2/16", mac="52:54:00:01:00:02"),
        "gpu1": machine("gpu1", "10.1.2.1/16", gpus=4, mac="52:54:00:02:00:bb"),
    }
    new = [found("gpu2", machine("gpu2", "10.1.2.2/16", gpus=4, mac="52:54:00:02:00:02"))]
    made = update(site, known, new, NETWORK)
    assert site.path.read_text() == SITE, "nothing is written yet"
    removed = [line for line in diff(made.edit).splitlines()[2:] if line.startswith("-")]
    assert removed == [
        "-    head: {ansible_host: 10.1.0.1}",
        "-          cluster_mac: 52:54:00:02:00:AA",
    ]
    save(made.edit)
    text = site.path.read_text()
    for comment in ("# our cluster", "# never change", "# the machines that work", "# rack 1", "# the old one"):
        assert comment in text
    after = load_site(site.path)
    assert after.hosts["head"].vars["bmc_address"] == "10.3.0.1"
    assert after.hosts["head"].vars["cluster_mac"] == "52:54:00:00:00:01"
    assert after.hosts["node002"].vars["cluster_mac"] == "52:54:00:01:00:02"
    assert after.hosts["node002"].address == "10.1.1.2"
    assert after.hosts["gpu1"].vars["cluster_mac"] == "52:54:00:02:00:bb"
    assert "gpu2" in after.groups["gpu"]
    assert after.hosts["gpu2"].address == "10.1.2.2"
    assert made.placed == {"gpu2": ("gpu", "its hosts are named alike")}


def test_a_second_time_changes_nothing(site: Site) -> None:
    known = {"head": machine("head", "10.1.0.1/16", bmc="10.3.0.1"), "gpu1": machine("gpu1", "10.1.2.1/16", gpus=4)}
    save(update(site, known, [], NETWORK).edit)
    again = update(load_site(site.path), known, [], NETWORK)
    assert again.edit.before == again.edit.after
    assert again.notes == []


def test_what_would_make_the_site_invalid_is_told_of_the_site(site: Site) -> None:
    """Two machines with one MAC address: a copied virtual machine."""
    known = {
        "head": machine("head", "10.1.0.1/16", mac="52:54:00:aa:aa:aa"),
        "node001": machine("node001", "10.1.1.1/16", mac="52:54:00:aa:aa:aa"),
    }
    with pytest.raises(SiteError) as error:
        update(site, known, [], NETWORK)
    assert error.value.message == f"{site.path} is left as it is: the change would bring an error"
    assert {finding.file for finding in error.value.findings} == {site.path}
    assert site.path.read_text() == SITE
    assert [path.name for path in site.path.parent.iterdir()] == ["site.yaml"]


def test_the_same_mac_in_another_notation_is_no_change(site: Site) -> None:
    known = {"gpu1": machine("gpu1", "10.1.2.1/16", gpus=4, mac="52:54:00:02:00:aa")}
    assert update(site, known, [], NETWORK).edit.after == SITE


def test_new_hosts_go_where_their_like_are(site: Site) -> None:
    new = [
        found("x1", machine("x1", "10.1.9.1/16", gpus=1)),
        found("x2", machine("x2", "10.1.9.2/16")),
        found("node004", machine("node004", "10.1.1.4/16")),
        found("login1", machine("login1", "10.1.0.9/16")),
    ]
    made = update(site, {"gpu1": machine("gpu1", "10.1.2.1/16", gpus=4)}, new, NETWORK)
    assert {name: group for name, (group, _) in made.placed.items()} == {
        "x1": "gpu", "x2": "cpu", "node004": "cpu", "login1": "login",
    }  # fmt: skip


def test_what_differs_and_is_the_admins_own_is_told(site: Site) -> None:
    known = {
        "gpu1": machine("gpu1", "10.1.2.1/16", gpus=2),
        "head": machine("head", "10.1.0.77/16"),
    }
    made = update(site, known, [], NETWORK)
    assert made.notes == [
        "gpu1: the site says slurm_gres gpu:a100:4, the host has gpu:a100:2",
        "head: no interface has its address 10.1.0.1; it has 10.1.0.77",
    ]


def test_many_hosts_in_a_moment(tmp_path: Path) -> None:
    """200 hosts with a change each: one pass, not one for each host."""
    import time

    hosts = machines(200)
    path = tmp_path / "site.yaml"
    path.write_text(new_site([found(name, facts) for name, facts in hosts.items()], Access(), "atlas"))
    renewed = {
        name: machine(name, facts.interfaces[0].addresses[0], mac=f"52:54:00:0f:00:{index:02x}")
        for index, (name, facts) in enumerate(hosts.items())
    }
    start = time.process_time()
    made = update(load_site(path), renewed, [], NETWORK)
    assert time.process_time() - start < 15
    assert sum(line.startswith("+") for line in diff(made.edit).splitlines()) == len(hosts) + 1
