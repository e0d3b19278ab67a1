"""hpc_accounts: ids that are taken are named, and nobody is renumbered."""

from __future__ import annotations

import grp
import pwd
from collections.abc import Callable
from typing import Any

import pytest
from module_loader import load_module

Run = Callable[..., dict[str, Any]]
hpc_accounts = load_module("hpc_accounts")
FREE = 64999


def test_existing_accounts_are_left_alone(run_module: Run) -> None:
    root = {"name": "root", "uid": 0, "gid": 0, "home": "/root"}
    assert run_module(hpc_accounts, check=True, users=[root])["changed"] is False


def test_new_accounts_are_told_in_check_mode(run_module: Run) -> None:
    result = run_module(hpc_accounts, check=True, users=[{"name": "hpcprov-test", "uid": FREE}])
    assert result["created"] == ["group hpcprov-test", "user hpcprov-test"]


def test_every_conflict_is_named_at_once(run_module: Run) -> None:
    result = run_module(
        hpc_accounts,
        check=True,
        users=[{"name": "root", "uid": FREE, "group": "root"}, {"name": "hpcprov-test", "uid": 0, "group": "root"}],
    )
    assert result["failed"] is True
    assert f"user root has uid 0 here, the site wants {FREE}" in result["msg"]
    assert "uid 0, wanted for user hpcprov-test, belongs to user root" in result["msg"]


@pytest.mark.parametrize("system", [True, False])
def test_command_line_of_useradd(system: bool) -> None:
    spec = {
        "name": "alice", "uid": 5001, "group": None, "groups": ["video"], "home": "/home/alice", "create_home": True,
        "shell": "/bin/bash", "system": system, "comment": "Alice",
    }  # fmt: skip
    command = hpc_accounts.Accounts.useradd(spec)
    assert command[:5] == ["useradd", "--uid", "5001", "--gid", "alice"]
    assert ("--system" in command) is system
    assert command[-1] == "alice"


def test_the_databases_are_asked_by_name_and_by_id() -> None:
    assert hpc_accounts.find(pwd.getpwnam, "root").pw_uid == 0
    assert hpc_accounts.find(grp.getgrgid, FREE) is None
