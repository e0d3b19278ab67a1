"""hpc_accounts: ids that are taken are named, and nobody is renumbered."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Callable
from pathlib import Path
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


# MUN-07
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


class FakeModule:
    """useradd fails with these statuses, in turn; `before` happens before each call, as another host would."""

    check_mode = False

    def __init__(self, statuses: list[int], before: Callable[[], object] = lambda: None) -> None:
        self.statuses = statuses
        self.before = before
        self.commands: list[list[str]] = []
        self.warnings: list[str] = []

    def run_command(self, command: list[str]) -> tuple[int, str, str]:
        """Note the command and give the next status."""
        self.before()
        self.commands.append(command)
        return self.statuses.pop(0), "", "useradd: cannot create directory"

    def warn(self, text: str) -> None:
        """Keep the warning."""
        self.warnings.append(text)

    def fail_json(self, msg: str, **_: object) -> None:
        """Stop as Ansible does."""
        raise RuntimeError(msg)


def spec_of(home: Path) -> dict[str, Any]:
    return {
        "name": "hpcprov-test", "uid": FREE, "group": None, "groups": [], "home": str(home), "create_home": True,
        "shell": "/bin/bash", "system": False, "comment": "",
    }  # fmt: skip


@pytest.fixture
def nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user exists in the database only as far as the owner of a home is concerned."""
    monkeypatch.setattr(hpc_accounts, "find", lambda *_: None)
    monkeypatch.setattr(hpc_accounts.pwd, "getpwnam", lambda _: pwd.struct_passwd(("t", "x", FREE, FREE, "", "", "")))


@pytest.mark.usefixtures("nobody_is_asked")
def test_parents_of_a_home_are_open_to_read(tmp_path: Path) -> None:
    home = tmp_path / "shared" / "home" / "alice"
    hpc_accounts.Accounts(FakeModule([0])).add_user(spec_of(home))
    assert home.parent.stat().st_mode & 0o777 == 0o755
    assert home.parent.parent.stat().st_mode & 0o777 == 0o755


@pytest.mark.usefixtures("nobody_is_asked")
def test_a_home_that_another_host_makes_at_the_same_moment_is_taken(tmp_path: Path) -> None:
    home = tmp_path / "home" / "alice"
    module = FakeModule([12, 0], lambda: home.mkdir(exist_ok=True))
    hpc_accounts.Accounts(module).add_user(spec_of(home))
    assert "--create-home" in module.commands[0]
    assert "--no-create-home" in module.commands[1]
    assert module.warnings == []


@pytest.mark.usefixtures("nobody_is_asked")
def test_a_home_that_root_may_not_make_is_a_warning(tmp_path: Path) -> None:
    module = FakeModule([12, 0])
    hpc_accounts.Accounts(module).add_user(spec_of(tmp_path / "alice"))
    assert "make it where its storage is served" in module.warnings[0]


@pytest.mark.usefixtures("nobody_is_asked")
def test_another_failure_of_useradd_is_one(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="useradd hpcprov-test failed"):
        hpc_accounts.Accounts(FakeModule([10])).add_user(spec_of(tmp_path / "alice"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_only_an_empty_home_of_root_is_given_to_the_user(tmp_path: Path) -> None:
    user = pwd.struct_passwd(("t", "x", FREE, FREE, "", "", ""))
    empty, full = tmp_path / "empty", tmp_path / "full"
    empty.mkdir(mode=0)
    (full / "data").mkdir(parents=True)
    for path in (empty, full, tmp_path / "missing"):
        hpc_accounts.give_home(str(path), user)
    assert (empty.stat().st_uid, empty.stat().st_gid, empty.stat().st_mode & 0o777) == (FREE, FREE, 0o700)
    assert full.stat().st_uid == 0


def test_a_home_is_not_moved_but_told(run_module: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    # Not from the result: in a process that also imported Ansible's controller, warnings go to its screen.
    told: list[str] = []
    monkeypatch.setattr(hpc_accounts.AnsibleModule, "warn", lambda self, warning: told.append(warning))
    result = run_module(hpc_accounts, check=True, users=[{"name": "root", "uid": 0, "gid": 0, "home": "/elsewhere"}])
    assert result["changed"] is False
    assert "the site wants /elsewhere" in "".join(told)
