"""The command line itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hpcprov import console, main
from hpcprov.commands.site import chosen
from hpcprov.errors import ConvergeError, Finding, SiteError


def test_help_is_fast_because_it_loads_nothing_heavy() -> None:
    code = "import sys; from hpcprov.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    heavy = {"ansible", "ansible_runner", "paramiko", "testinfra", "ruamel", "hpcprov.deploy"}
    assert heavy & set(loaded) == set()


@pytest.mark.parametrize("command", ["deploy", "smoke", "verify", "validate", "lab"])
def test_each_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main([command, "--help"]) == 0
    assert "Usage: hpcprov" in capsys.readouterr().out


def test_unknown_command_is_a_usage_error() -> None:
    assert main.main(["deplyo"]) == 2


def test_an_error_says_what_where_why_and_what_next(capsys: pytest.CaptureFixture[str]) -> None:
    console.err.cache_clear()
    main.show_error(
        ConvergeError("munge did not start", host="node01", why="in role munge", hint="one\ntwo", journal=["a", "[b]"])
    )
    assert capsys.readouterr().err.splitlines() == [
        "Error: node01: munge did not start",
        "  in role munge",
        "  journal:",
        "    a",
        "    [b]",
        "  next: one",
        "        two",
    ]
    console.err.cache_clear()


def test_a_site_error_lists_every_finding(capsys: pytest.CaptureFixture[str]) -> None:
    console.err.cache_clear()
    finding = Finding(Path("s.yaml"), 3, 5, "mac", "not a MAC address", hint="quote it")
    main.show_error(SiteError("s.yaml has 1 error", [finding]))
    assert capsys.readouterr().err.splitlines() == [
        "Error: s.yaml has 1 error",
        "  s.yaml:3:5: mac: not a MAC address",
        "      quote it",
    ]
    console.err.cache_clear()


@pytest.mark.parametrize("command", [[], ["deploy"], ["smoke"], ["verify"], ["validate"], ["lab"]])
def test_help_ends_with_an_example(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main([*command, "--help"]) == 0
    last = capsys.readouterr().out.rstrip().splitlines()[-1]
    assert last.strip().startswith(" ".join(["Example: hpcprov", *command]))


@pytest.mark.parametrize("command", ["deploy", "smoke", "verify", "validate"])
def test_without_a_site_file_nothing_is_guessed(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    console.err.cache_clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HPCPROV_SITE", raising=False)
    assert main.main([command]) == 2
    said = capsys.readouterr().err
    assert "no site file is named" in said
    assert "HPCPROV_SITE is not set, and here is neither inventory/site.yaml nor site.yaml" in said
    console.err.cache_clear()


def test_site_file_is_named_else_of_the_environment_else_of_the_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HPCPROV_SITE", "/srv/site.yaml")
    assert chosen(Path("given.yaml")) == Path("given.yaml")
    assert chosen(None) == Path("/srv/site.yaml")
    monkeypatch.delenv("HPCPROV_SITE")
    (tmp_path / "site.yaml").touch()
    assert chosen(None) == Path("site.yaml")
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory" / "site.yaml").touch()
    assert chosen(None) == Path("inventory/site.yaml")
