"""Recording host keys: new ones are appended, nothing else is touched."""

from __future__ import annotations

from pathlib import Path

import paramiko
import pytest
from cli.ssh_server import generate
from hpcprov.errors import HostsError
from hpcprov.remote.host_keys import good_lines, key_of, record


@pytest.fixture
def keys(tmp_path: Path) -> list[paramiko.PKey]:
    return [paramiko.Ed25519Key.from_private_key_file(str(generate(tmp_path / f"key{number}"))) for number in range(2)]


def line(name: str, key: paramiko.PKey) -> str:
    return f"{name} {key.get_name()} {key.get_base64()}\n"


def test_a_new_file_is_the_admins_alone(tmp_path: Path, keys: list[paramiko.PKey]) -> None:
    file = tmp_path / "ssh" / "known_hosts"
    record(file, "[n1]:2222", keys[0])
    assert file.read_text() == line("[n1]:2222", keys[0])
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_last_line_without_an_end_stays_whole(tmp_path: Path, keys: list[paramiko.PKey]) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(line("n0", keys[0]).rstrip("\n"))
    record(file, "n1", keys[1])
    assert file.read_text() == line("n0", keys[0]) + line("n1", keys[1])


def test_twice_is_once(tmp_path: Path, keys: list[paramiko.PKey]) -> None:
    file = tmp_path / "known_hosts"
    record(file, "n1", keys[0])
    record(file, "n1", keys[0])
    assert file.read_text() == line("n1", keys[0])


def test_another_key_is_never_put_beside_the_known_one(tmp_path: Path, keys: list[paramiko.PKey]) -> None:
    file, other = tmp_path / "known_hosts", tmp_path / "global"
    other.write_text(line(paramiko.HostKeys.hash_host("n1"), keys[0]))
    with pytest.raises(HostsError, match="another host key is known for n1"):
        record(file, "n1", keys[1], [other])
    assert not file.exists()


def test_a_revoked_key_is_never_recorded(tmp_path: Path, keys: list[paramiko.PKey]) -> None:
    file = tmp_path / "known_hosts"
    file.write_text("@revoked * " + line("", keys[0]).strip() + "\n")
    before = file.read_text()
    with pytest.raises(HostsError, match="revoked"):
        record(file, "n1", keys[0])
    assert file.read_text() == before


def test_lines_that_cannot_be_used_hide_no_others(tmp_path: Path, keys: list[paramiko.PKey]) -> None:
    file = tmp_path / "known_hosts"
    file.write_text("\n# x\njunk\nn0 ssh-ed25519 AAAA!\n" + line("n1", keys[0]) + "n2 ssh-unheard AAAA\n")
    assert good_lines([file, tmp_path / "none"]) == [line("n1", keys[0]).strip()]


def test_a_public_key_is_read(keys: list[paramiko.PKey]) -> None:
    assert key_of(f"{keys[0].get_name()} {keys[0].get_base64()} admin@head") == keys[0]
    with pytest.raises(ValueError, match="no public key"):
        key_of("-----BEGIN OPENSSH PRIVATE KEY-----")
