"""Secrets in files of the site's own: each that no daemon would take is told before a host is touched."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hpcprov.site import check_site

KEY = random.Random(1).randbytes(1024)
SITE = """\
all:
  vars:
    cluster_name: test
    cluster_network: 10.1.0.0/24
    nfs_mounts: [{{path: /shared, server: nas}}]
    {variable}: {path}
controller: {{hosts: {{head: {{ansible_host: 10.1.0.1}}}}}}
database: {{hosts: {{head: }}}}
compute: {{hosts: {{c1: {{ansible_host: 10.1.0.11}}}}}}
"""


def said(tmp_path: Path, content: bytes, variable: str = "munge_key_file", mode: int = 0o600) -> list[str]:
    secret = tmp_path / "the_secret"
    secret.write_bytes(content)
    secret.chmod(mode)
    site = tmp_path / "site.yaml"
    site.write_text(SITE.format(variable=variable, path=secret))
    found = [f"{finding.level}: {finding.message}" for finding in check_site(site).findings]
    return [text.replace(f"{variable}: {secret} ", "") for text in found]


# MUN-03, SEC-03
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (KEY[:16], "holds 16 bytes, and munged wants 32 or more"),
        (b"CHANGEME", "holds an example that everybody knows"),
        (b"<your munge key>\n", "holds an example that everybody knows"),
        (b"# EXAMPLE munge key, do not use in production, please\n", "holds an example that everybody knows"),
        (b"0beec7b5ea3f0fdbc95d0dd47f3c5bc275da8a33\n", "holds an example that everybody knows"),
        (bytes(1024), "holds an example that everybody knows"),
        (b"x" * 64, "holds an example that everybody knows"),
    ],
    ids=["empty", "short", "word", "placeholder", "example", "digest", "zeros", "repeated"],
)
def test_key_that_is_none(tmp_path: Path, content: bytes, problem: str) -> None:
    assert said(tmp_path, content) == [f"error: {problem}"]


VAULTED = b"$ANSIBLE_VAULT;1.1;AES256\n6162\n"


@pytest.mark.parametrize("content", [KEY, KEY[:32], VAULTED], ids=["long", "short", "vault"])
def test_good_key_is_taken(tmp_path: Path, content: bytes) -> None:
    assert said(tmp_path, content) == []


def test_password_files_are_asked_too(tmp_path: Path) -> None:
    assert said(tmp_path, b"short\n", "mariadb_password_file") == [
        "error: holds 5 bytes, and role mariadb wants 12 or more"
    ]
    assert said(tmp_path, b"vagrant\n", "slurm_dbd_password_file") == ["error: holds an example that everybody knows"]
    assert said(tmp_path, b"correct horse battery\n", "slurm_dbd_password_file") == []


def test_key_that_others_can_read_is_a_warning(tmp_path: Path) -> None:
    assert said(tmp_path, KEY[:64], mode=0o644) == ["warning: is open to other users of this machine"]


# MUN-09
def test_key_that_is_missing_or_a_folder(tmp_path: Path) -> None:
    site = tmp_path / "site.yaml"
    for path, problem in ((tmp_path / "none", "is missing on this machine"), (tmp_path, "cannot be read: Is a dir")):
        site.write_text(SITE.format(variable="munge_key_file", path=path))
        (finding,) = check_site(site).findings
        assert finding.message.startswith(f"munge_key_file: {path} {problem}")
        assert finding.hint == "leave it out, and hpcprov makes one"


# MUN-09
def test_site_that_names_no_key_needs_none(tmp_path: Path) -> None:
    site = tmp_path / "site.yaml"
    site.write_text(SITE.format(variable="cluster_domain", path="a.example"))
    assert check_site(site).findings == []


# CLI-01, SEC-03
def test_secret_is_named_and_its_value_never_shown(tmp_path: Path) -> None:
    secret = b"hunter2-xyz"
    shown = said(tmp_path, secret, "mariadb_password_file")
    assert shown and secret.decode() not in "".join(shown)
