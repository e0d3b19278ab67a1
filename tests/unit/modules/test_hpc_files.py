"""hpc_files: many files in one call, each as it was asked for, and no secret in what is reported."""

from __future__ import annotations

import base64
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from module_loader import load_module

Run = Callable[..., dict[str, Any]]
hpc_files = load_module("hpc_files")


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def test_files_directories_and_links_are_made_then_left_alone(run_module: Run, tmp_path: Path) -> None:
    files = [
        {"dest": str(tmp_path / "etc"), "state": "directory", "mode": "0750"},
        {"dest": str(tmp_path / "etc/a.conf"), "content": "one\n", "mode": "0640"},
        {"dest": str(tmp_path / "deep/er/b.conf"), "content": "two\n"},
        {"dest": str(tmp_path / "current"), "state": "link", "target": "etc"},
    ]
    first = run_module(hpc_files, files=files)
    assert first["changed_files"] == [file["dest"] for file in files]
    assert mode(tmp_path / "etc") == 0o750
    assert mode(tmp_path / "etc/a.conf") == 0o640
    assert (tmp_path / "current/a.conf").read_text() == "one\n"
    second = run_module(hpc_files, files=files)
    assert second["changed"] is False
    assert second["diff"] == []


def test_check_mode_reports_and_writes_nothing(run_module: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.conf"
    result = run_module(hpc_files, check=True, files=[{"dest": str(path), "content": "new\n"}])
    assert result["changed"] is True
    assert result["diff"][0]["after"] == "new\n"
    assert not path.exists()


def test_a_wrong_mode_alone_is_a_change(run_module: Run, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("x")
    path.chmod(0o644)
    result = run_module(hpc_files, files=[{"dest": str(path), "mode": "0400"}])
    assert result["changed_files"] == [str(path)]
    assert mode(path) == 0o400


@pytest.mark.parametrize("key", ["secret", "secret_base64"])
def test_a_secret_is_written_and_never_reported(run_module: Run, tmp_path: Path, key: str) -> None:
    path = tmp_path / "key"
    value = "correct-horse-battery"
    given = base64.b64encode(value.encode()).decode() if key == "secret_base64" else value
    result = run_module(hpc_files, files=[{"dest": str(path), key: given, "mode": "0400"}])
    assert path.read_text() == value
    assert value not in str(result)
    assert given not in str(result)


# MUN-03
def test_bytes_that_are_no_text_arrive_whole(run_module: Run, tmp_path: Path) -> None:
    data = bytes(range(256))
    path = tmp_path / "munge.key"
    run_module(hpc_files, files=[{"dest": str(path), "secret_base64": base64.b64encode(data).decode()}])
    assert path.read_bytes() == data


def test_a_block_leaves_the_rest_of_the_file(run_module: Run, tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("127.0.0.1 localhost\n# BEGIN hpcprov\nold\n# END hpcprov\n10.0.0.9 printer\n")
    files = [{"dest": str(path), "block": "10.0.0.1 head\n10.0.0.2 store\n"}]
    run_module(hpc_files, files=files)
    wanted = "127.0.0.1 localhost\n# BEGIN hpcprov\n10.0.0.1 head\n10.0.0.2 store\n# END hpcprov\n10.0.0.9 printer\n"
    assert path.read_text() == wanted
    assert run_module(hpc_files, files=files)["changed"] is False


def test_what_was_there_first_is_kept_once(run_module: Run, tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("the admin's\n")
    for content in ("first\n", "second\n"):
        run_module(hpc_files, files=[{"dest": str(path), "content": content, "backup": True}])
    assert (tmp_path / "hosts.before-hpcprov").read_text() == "the admin's\n"


# CGR-09
def test_a_bind_mount_is_written_in_place(run_module: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a container /etc/hosts is a mount point: the kernel refuses to replace it."""
    path = tmp_path / "hosts"
    path.write_text("old\n")
    before = path.stat().st_ino

    def refuse(source: str, target: str) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(os, "rename", refuse)
    run_module(hpc_files, files=[{"dest": str(path), "content": "new\n"}])
    assert path.read_text() == "new\n"
    assert path.stat().st_ino == before
    assert list(tmp_path.iterdir()) == [path]


def test_absent_removes_a_stale_file(run_module: Run, tmp_path: Path) -> None:
    path = tmp_path / "slurm.conf"
    path.write_text("stale\n")
    files = [{"dest": str(path), "state": "absent"}]
    assert run_module(hpc_files, files=files)["changed"] is True
    assert not path.exists()
    assert run_module(hpc_files, files=files)["changed"] is False


def test_an_unknown_owner_is_named(run_module: Run, tmp_path: Path) -> None:
    result = run_module(hpc_files, files=[{"dest": str(tmp_path / "a"), "content": "x", "owner": "no-such-user"}])
    assert result["failed"] is True
    assert "no-such-user" in result["msg"]


def test_no_argument_reaches_the_journal_of_the_host(
    run_module: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged: list[str] = []
    monkeypatch.setattr(hpc_files.AnsibleModule, "log", lambda self, msg, log_args=None: logged.append(str(msg)))
    run_module(hpc_files, files=[{"dest": str(tmp_path / "a"), "secret": "User=slurm\nStoragePass=tell-nobody\n"}])
    assert "tell-nobody" not in "".join(logged)


def test_what_its_program_refuses_replaces_nothing(run_module: Run, tmp_path: Path) -> None:
    path = tmp_path / "slurm.conf"
    path.write_text("good\n")
    file = {"dest": str(path), "content": "bad\n", "validate": "grep -q good %s"}
    result = run_module(hpc_files, files=[file])
    assert result["failed"] is True
    assert "was left as it is" in result["msg"]
    assert path.read_text() == "good\n"
    assert list(tmp_path.iterdir()) == [path]
    assert run_module(hpc_files, files=[{**file, "content": "good, new\n"}])["changed"] is True
