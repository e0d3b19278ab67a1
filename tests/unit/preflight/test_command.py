"""`hpcprov preflight` from the outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli.ssh_server import SshServer
from hpcprov.preflight.rules import load_rules

from .cluster_look import healthy_probe

SITE = """\
all:
  vars:
    cluster_name: tiny
    cluster_network: 10.0.0.0/24
    nfs_backend: external
    nfs_mounts: [{{path: /shared}}]
    ansible_user: root
    ansible_port: {port}
    ansible_host: 127.0.0.1
    ansible_ssh_private_key_file: {key}
    ansible_ssh_common_args: -o UserKnownHostsFile={known} -o GlobalKnownHostsFile=none
controller: {{hosts: {{head: {{cluster_address: 10.0.0.1}}}}}}
database: {{hosts: {{head: }}}}
login: {{hosts: {{head: }}}}
compute: {{hosts: {{gone: {{ansible_host: 127.0.0.2, ansible_port: 1, cluster_address: 10.0.0.2}}}}}}
"""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Path]:
    server = SshServer(tmp_path)
    server.preflight = lambda: healthy_probe("head", "10.0.0.1")
    (tmp_path / "site.yaml").write_text(
        SITE.format(port=server.port, key=server.client_key_file, known=server.known_hosts)
    )
    yield tmp_path / "site.yaml"
    server.close()


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(folder), "COLUMNS": "200"}
    environment.pop("SSH_AUTH_SOCK", None)
    environment.pop("HPCPROV_SITE", None)
    code = "from hpcprov.main import run; run()"
    return subprocess.run(
        [sys.executable, "-c", code, "preflight", *arguments], cwd=folder, env=environment, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip


def test_fit_hosts(site: Path) -> None:
    done = run("--limit", "head", folder=site.parent)  # the site file of the current directory
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("1 host, nothing found, in ")
    assert [path.name for path in site.parent.iterdir() if path.name in ("runs", ".hpcprov")] == []


def test_finding_is_told_with_cause_and_exit_code(site: Path, tmp_path: Path) -> None:
    done = run(str(site), folder=tmp_path)
    assert done.returncode == 4
    assert "error: gone: SSH does not work (root@127.0.0.2 port 1): Connection refused (unreachable)" in done.stderr
    assert "2 hosts, 1 error, in " in done.stderr and "Traceback" not in done.stderr


def test_json_is_all_that_stands_on_stdout(site: Path, tmp_path: Path) -> None:
    done = run(str(site), "--json", folder=tmp_path)
    document = json.loads(done.stdout)
    assert (document["asked"], document["reached"]) == (["head", "gone"], ["head"])
    (finding,) = document["findings"]
    assert (finding["host"], finding["rule"], finding["level"]) == ("gone", "unreachable", "error")


def test_rules_are_listed(tmp_path: Path) -> None:
    done = run("--rules", folder=tmp_path)
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == list(load_rules())


def test_help_has_an_example(tmp_path: Path) -> None:
    assert "Example: hpcprov preflight" in run("--help", folder=tmp_path).stdout
