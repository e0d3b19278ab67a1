"""The command line itself."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hpcprov import console, main
from hpcprov.errors import ConvergeError, Finding, SiteError


def test_help_is_fast_because_it_loads_nothing_heavy() -> None:
    code = "import sys; from hpcprov.main import main; main(['--help']); print(*sys.modules, file=sys.stderr)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    heavy = {"ansible", "ansible_runner", "paramiko", "ClusterShell", "testinfra", "ruamel", "hpcprov.deploy"}
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


def test_a_site_error_lists_every_finding(capsys: pytest.CaptureFixture[str], tmp_path: object) -> None:
    from pathlib import Path

    console.err.cache_clear()
    finding = Finding(Path("s.yaml"), 3, 5, "mac", "not a MAC address", hint="quote it")
    main.show_error(SiteError("s.yaml has 1 error", [finding]))
    assert capsys.readouterr().err.splitlines() == [
        "Error: s.yaml has 1 error",
        "  s.yaml:3:5: mac: not a MAC address",
        "      quote it",
    ]
    console.err.cache_clear()
