"""`hpcprov init`: a site file that is valid, or that says what is to be filled in."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from pathlib import Path

import pytest
from hpcprov.main import main
from hpcprov.site import check_site, load_site, surroundings
from hpcprov.site.starter import Start, starter
from hpcprov.site.surroundings import Surroundings, network_of


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder called atlas, on a machine that knows head1 and node1 to node3."""
    known = {"head1": "10.1.0.1", "node1": "10.1.1.11", "node2": "10.1.1.12", "node3": "10.1.1.13"}

    def look(names: Iterable[str]) -> Surroundings:
        found = {name: known[name] for name in names if name in known}
        return Surroundings("head1", None, "admin", None, [ipaddress.ip_interface("10.1.0.1/16")], found)

    monkeypatch.setattr(surroundings, "look", look)
    folder = tmp_path / "Atlas"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_what_resolves_is_filled_in(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--nodes", "node[1-3]", "--controller", "head1"]) == 0
    site = load_site(here / "site.yaml")
    assert site.cluster_name == "atlas"
    assert site.cluster_network == "10.1.0.0/16"
    assert {name: host.address for name, host in site.hosts.items()} == {
        "head1": "10.1.0.1",
        "node1": "10.1.1.11",
        "node2": "10.1.1.12",
        "node3": "10.1.1.13",
    }
    assert "node[1:3]:" in (here / "site.yaml").read_text()
    assert site.groups["login"] == site.groups["storage"] == site.groups["database"] == ["head1"]
    assert check_site(here / "site.yaml").findings == []
    assert "Next: hpcprov validate site.yaml, hpcprov deploy site.yaml" in capsys.readouterr().err


def test_addresses_are_counted_up(here: Path) -> None:
    arguments = ["--nodes", "c[001-300]=10.2.0.1", "--controller", "h=10.1.9.9", "--storage", "s=10.1.9.8"]
    assert main(["init", *arguments, "--login", "l[1-2]=10.1.9.1", "--user", "root", "--name", "big"]) == 0
    site = load_site(here / "site.yaml")
    assert site.hosts["c300"].address == "10.2.1.44"
    assert site.hosts["l2"].address == "10.1.9.2"
    assert site.cluster_network == "10.0.0.0/8"
    assert (site.cluster_name, site.hosts["h"].user) == ("big", "root")


def test_what_is_not_known_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "--nodes", "n[1-3]", "--controller", "h1"]) == 3
    findings = check_site(here / "site.yaml").findings
    assert {finding.rule for finding in findings} == {"placeholder"}
    assert [finding.message.split(" is ")[0] for finding in findings] == [
        "cluster_network",
        "ansible_host",
        "ansible_host",
    ]
    assert '"<address of each node>"' in capsys.readouterr().err


def test_without_any_answer(here: Path) -> None:
    assert main(["init"]) == 3
    assert {finding.rule for finding in check_site(here / "site.yaml").findings} == {"placeholder"}


def test_nothing_is_overwritten(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "site.yaml").write_text("mine")
    assert main(["init", "--nodes", "node[1-3]", "--controller", "head1"]) == 2
    assert (here / "site.yaml").read_text() == "mine"
    assert "site.yaml exists" in capsys.readouterr().err


def test_it_lies_where_commands_look(here: Path) -> None:
    (here / "inventory").mkdir()
    assert main(["init", "--nodes", "node[1-3]", "--controller", "head1"]) == 0
    assert main(["validate"]) == 0
    assert load_site(here / "inventory" / "site.yaml").cluster_name == "atlas"


@pytest.mark.parametrize("arguments", [["--nodes", "n[3-1]"], ["--nodes", "n1=ten"], ["site.ini"], ["site.json"]])
def test_wrong_arguments(here: Path, arguments: list[str]) -> None:
    assert main(["init", *arguments]) == 2
    assert list(here.iterdir()) == []


def test_one_host_is_everything(tmp_path: Path) -> None:
    addresses = {"one": "fd00::1"}
    start = Start("solo", "one", ["one"], ["one"], ["one"], addresses, "fd00::/64", "root")
    path = tmp_path / "one.yaml"
    path.write_text(starter(start))
    assert check_site(path).findings == []


@pytest.mark.parametrize(
    ("addresses", "network"),
    [
        (["10.1.0.1", "10.1.0.200"], "10.1.0.0/24"),
        (["10.1.0.1", "10.1.5.2"], "10.1.0.0/16"),
        (["192.0.2.1"], "192.0.2.0/25"),
        (["10.1.0.1", "fd00::1"], None),
        (["10.1.0.1", "192.168.0.1"], None),
        ([], None),
    ],
)
def test_network(addresses: list[str], network: str | None) -> None:
    assert network_of(addresses, [ipaddress.ip_interface("192.0.2.9/25")]) == network
