"""Secrets are random, private, whole, and never replaced."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hpcprov.secrets import create_once, ensure


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_made_once_with_private_modes(tmp_path: Path) -> None:
    state = tmp_path / ".hpcprov" / "lab"
    first = ensure(state)
    key, password = first.munge_key.read_bytes(), first.database_password.read_text()
    assert first.created == ["munge.key", "database_password"]
    assert len(key) == 1024
    assert len(password) == 48 and password.isalnum()
    assert mode(state) == mode(state / "secrets") == 0o700
    assert mode(first.munge_key) == mode(first.database_password) == 0o600

    second = ensure(state)
    assert second.created == [] and second.tightened == []
    assert second.munge_key.read_bytes() == key
    assert second.database_password.read_text() == password
    assert sorted(path.name for path in (state / "secrets").iterdir()) == ["database_password", "munge.key"]


def test_two_sites_do_not_share(tmp_path: Path) -> None:
    assert ensure(tmp_path / "a").munge_key.read_bytes() != ensure(tmp_path / "b").munge_key.read_bytes()


def test_vault_encrypted_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    vaulted = tmp_path / "secrets" / "database_password"
    vaulted.write_text("$ANSIBLE_VAULT;1.1;AES256\n6162\n")
    made = ensure(tmp_path)
    assert made.created == ["munge.key"]
    assert vaulted.read_text().startswith("$ANSIBLE_VAULT")


def test_wide_mode_is_tightened(tmp_path: Path) -> None:
    made = ensure(tmp_path)
    made.munge_key.chmod(0o644)
    (tmp_path / "secrets").chmod(0o755)
    assert ensure(tmp_path).tightened == ["munge.key"]
    assert mode(made.munge_key) == 0o600
    assert mode(tmp_path / "secrets") == 0o700


def test_check_makes_nothing(tmp_path: Path) -> None:
    made = ensure(tmp_path / "new", check=True)
    assert made.created == ["munge.key", "database_password"]
    assert not (tmp_path / "new").exists()


def test_two_runs_at_once_agree(tmp_path: Path) -> None:
    path = tmp_path / "munge.key"
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda number: create_once(path, bytes([number]) * 1024), range(8)))
    assert won.count(True) == 1
    assert path.read_bytes() == bytes([won.index(True)]) * 1024
    assert list(tmp_path.iterdir()) == [path]
