"""`hpcprov discover` from the command line, against a real SSH server on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli.ssh_server import SshServer
from hpcprov import console, main

from .test_facts import probe_output

SECTIONS = {
    "started": "1000.0", "finished": "1000.1",
    "identity": "uid=0\nhostname=node07\nkernel=6.1.0\nmachine=x86_64\ninstance=1",
    "os-release": 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"',
    "memory": "MemTotal: 65536000 kB",
    "links": "eth0 mac=52:54:00:00:00:07 type=1 state=up speed=10000 mtu=1500 kind=physical master= permanent=",
    "addresses": "2: eth0    inet 192.0.2.7/24 brd 192.0.2.255 scope global eth0",
}  # fmt: skip


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SshServer]:
    running = SshServer(tmp_path)
    running.answer = lambda: probe_output(SECTIONS)
    console.err.cache_clear()
    yield running
    console.err.cache_clear()
    running.close()


def call(server: SshServer, *arguments: str) -> int:
    known = ["--known-hosts", str(server.known_hosts)]
    options = ["--port", str(server.port), "--user", "root", "--key", str(server.client_key_file), *known]
    return main.main(["discover", *arguments, *options])


def test_without_a_site_it_only_looks(
    server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.rglob("*"))
    assert call(server, "127.0.0.1", "--json") == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["hosts"]["node07"]["facts"]["memory_mib"] == 64000
    assert "node07  192.0.2.7" in said.err
    assert set(tmp_path.rglob("*")) == before


def test_a_new_site_is_not_written_without_a_yes(
    server: SshServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / "site.yaml"
    assert call(server, "127.0.0.1", "--site", str(site)) == 2
    assert "next: look at it, and write it with --yes" in capsys.readouterr().err
    assert call(server, "127.0.0.1", "--site", str(site), "--dry-run") == 0
    assert not site.exists()
    assert not (tmp_path / ".hpcprov").exists()


def test_new_then_known(server: SshServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = tmp_path / "site.yaml"
    assert call(server, "127.0.0.1", "--site", str(site), "--yes", "--cluster-name", "atlas") == 0
    assert main.main(["validate", str(site)]) == 0
    record: dict[str, Any] = json.loads((tmp_path / ".hpcprov" / "atlas" / "discovered" / "node07.json").read_text())
    assert record["source"] == "hpcprov discover"
    assert record["address"] == "127.0.0.1"
    assert record["facts"]["interfaces"][0]["mac"] == "52:54:00:00:00:07"
    text = site.read_text()
    capsys.readouterr()
    # Everything of the second look comes from the site.
    assert main.main(["discover", "--site", str(site), "--yes"]) == 0
    assert f"{site} says all of this already" in capsys.readouterr().err
    assert site.read_text() == text


def test_a_changed_card_is_shown_and_written(
    server: SshServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / "site.yaml"
    assert call(server, "127.0.0.1", "--site", str(site), "--yes") == 0
    server.answer = lambda: probe_output({**SECTIONS, "links": SECTIONS["links"].replace(":07 ", ":99 ")})
    capsys.readouterr()
    assert main.main(["discover", "node07", "--site", str(site), "--yes"]) == 0
    said = capsys.readouterr().err
    assert any(line.startswith("+") and "52:54:00:00:00:99" in line for line in said.splitlines())
    assert "52:54:00:00:00:99" in site.read_text()


def test_a_site_with_errors_is_not_touched(
    server: SshServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / "site.yaml"
    site.write_text("all: {vars: {cluster_name: x}}\ncompute: {hosts: [a, b]}\n")
    assert call(server, "127.0.0.1", "--site", str(site), "--yes") == 3
    assert "is not valid, so nothing can be added to it" in capsys.readouterr().err


def test_dead_hosts_are_told_with_one_line_for_each_reason(
    server: SshServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = tmp_path / "site.yaml"
    code = call(server, "127.0.0.1", "no[1-3].invalid", "--site", str(site), "--yes")
    said = capsys.readouterr().err
    assert code == 4
    assert site.exists(), "the rest is saved"
    assert "1 host found, 3 not reached" in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no hosts are named"),
        (["n1", "--key", "/none"], "/none: there is no such key"),
        (["n1", "--site", "x.ini"], "x.ini must end in .yaml or .yml"),
        (["n1", "--ask-password"], "--ask-password needs a terminal"),
        (["n1", "--password-file", "/none"], "/none cannot be read: No such file or directory"),
    ],
)
def test_usage(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    console.err.cache_clear()
    assert main.main(["discover", *arguments]) == 2
    assert words in capsys.readouterr().err
    console.err.cache_clear()
