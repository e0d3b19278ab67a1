"""Bare machines, reached by SSH alone: discovered, made ready, and then fit for a deploy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

# One worker for this module: its tests follow one another on one lab.
pytestmark = pytest.mark.xdist_group("e2ediscover")

HPCPROV = Path(sys.executable).parent / "hpcprov"
SUBNET = "10.89.108"
SITE = f"""
all:
  vars:
    cluster_name: e2ediscover
    cluster_network: {SUBNET}.0/28
    ansible_user: root
    lab: {{release: bookworm}}
    nfs_exports: [{{path: /shared}}]
controller: {{hosts: {{head: {{ansible_host: {SUBNET}.3}}}}}}
database: {{hosts: {{head: }}}}
storage: {{hosts: {{head: }}}}
compute: {{hosts: {{node01: {{ansible_host: {SUBNET}.4}}}}}}
"""
# Without Python the lab's own search for its package cache does not run; an admin's plain setting does.
BARE = """
echo "Acquire::http::Proxy \\"$(head -n 1 /etc/hpcprov-lab/site/apt-proxies)\\";" >/etc/apt/apt.conf.d/90hpcprov-lab
SUDO_FORCE_REMOVE=yes DEBIAN_FRONTEND=noninteractive apt-get -y purge python3.11-minimal sudo >/dev/null 2>&1
! command -v python3 && ! command -v sudo
"""


def run(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HPCPROV, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=cwd,
    )


@dataclass
class Bare:
    """Two machines that nobody has prepared. `first` are the options of the first login, as root."""

    lab: Path
    folder: Path

    @property
    def first(self) -> list[str]:
        ssh = self.lab.parent / ".hpcprov" / "e2ediscover" / "ssh"
        return ["--user", "root", "--key", str(ssh / "id_ed25519"), "--known-hosts", str(self.folder / "known_hosts")]

    def on(self, node: str, command: str) -> subprocess.CompletedProcess[str]:
        return run("lab", "ssh", node, "--site", self.lab, "--", command)

    def bootstrap(self, *arguments: str) -> tuple[int, dict[str, Any], str]:
        """Exit code, results by host, what was said."""
        options = ["--admin", "ops", "--public-key", str(self.folder / "ops.pub"), "--json", *arguments]
        done = run("bootstrap", f"{SUBNET}.[3-4]", *self.first, *options)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout), done.stderr


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bare]:
    folder = tmp_path_factory.mktemp("discover")
    lab = folder / "lab" / "lab.yaml"
    lab.parent.mkdir()
    lab.write_text(SITE)
    cleared = run("lab", "down", "--force", lab)
    assert cleared.returncode == 0, cleared.stderr
    up = run("lab", "up", lab)
    assert up.returncode == 0, up.stderr
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "ops"], check=True)
    machines = Bare(lab, folder)
    made_bare = machines.on("node01", BARE)
    assert made_bare.returncode == 0, made_bare.stderr
    yield machines
    if not os.environ.get("HPCPROV_KEEP_LAB"):
        run("lab", "down", lab)
        shutil.rmtree(folder, ignore_errors=True)


def test_unknown_host_keys_stop_it(bare: Bare) -> None:
    done = run("discover", f"{SUBNET}.3", *bare.first)
    assert done.returncode == 4
    assert "the host key is not known: ssh-ed25519 SHA256:" in done.stderr
    assert not (bare.folder / "known_hosts").exists()


def test_a_network_becomes_a_site(bare: Bare) -> None:
    site = bare.folder / "site.yaml"
    done = run(
        "discover", f"{SUBNET}.0/28", *bare.first, "--accept-new-host-keys", "--site", site, "--yes", "--cluster-name",
        "bare", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {name: host["address"] for name, host in found["hosts"].items()} == {
        "head": f"{SUBNET}.3", "node01": f"{SUBNET}.4",
    }  # fmt: skip
    facts = found["hosts"]["node01"]["facts"]
    assert facts["os_family"] == "debian"
    assert facts["cpu"]["cpus"] == os.cpu_count()
    assert abs(facts["clock_offset"]) <= facts["clock_doubt"] + 0.1
    assert any(f"{SUBNET}.4/28" in interface["addresses"] for interface in facts["interfaces"])
    # The bridge of the network answers for this machine itself, or keeps silent; it is no failure.
    assert found["failed"] == {} or set(found["failed"]) == {f"{SUBNET}.1"}
    saved = json.loads((bare.folder / ".hpcprov" / "bare" / "discovered" / "node01.json").read_text())
    assert saved["source"] == "hpcprov discover"
    assert saved["facts"] == facts
    valid = run("validate", site)
    assert (valid.returncode, valid.stdout) == (0, ""), valid.stdout


def test_a_dead_host_is_told_and_the_others_are_saved(bare: Bare) -> None:
    site = bare.folder / "site.yaml"
    before = site.read_text()
    done = run("discover", "head", f"{SUBNET}.9", "--site", site, "--yes")
    assert done.returncode == 4
    assert f"{SUBNET}.9: " in done.stderr
    assert "(unreachable)" in done.stderr
    assert "1 host found, 1 not reached" in done.stderr
    assert site.read_text() == before


def test_a_dry_run_changes_nothing(bare: Bare) -> None:
    code, results, said = bare.bootstrap("--dry-run")
    assert code == 0, said
    steps = {step["step"]: step["message"] for step in results[f"{SUBNET}.4"]["steps"]}
    assert steps == {
        "packages": "would install python3 sudo",
        "user": "would make user ops",
        "key": "would add the key",
        "sudo": "would write /etc/sudoers.d/hpcprov-ops",
    }
    assert bare.on("node01", "getent passwd ops").returncode != 0


@pytest.mark.parametrize(
    ("spoil", "mend", "why"),
    [
        ("echo AllowUsers root >/etc/ssh/sshd_config.d/x.conf", "rm /etc/ssh/sshd_config.d/x.conf", "AllowUsers root"),
        ("useradd -r -s /usr/sbin/nologin ops", "userdel ops", "ops may not log in"),
    ],
)
def test_what_would_lock_the_admin_out_is_refused_before_anything_changes(
    bare: Bare, spoil: str, mend: str, why: str
) -> None:
    assert bare.on("head", spoil).returncode == 0
    try:
        done = run(
            "bootstrap", f"{SUBNET}.3", *bare.first, "--admin", "ops", "--public-key", str(bare.folder / "ops.pub")
        )
        assert done.returncode == 4
        assert why in done.stderr
        assert bare.on("head", "test -e /etc/sudoers.d/hpcprov-ops || test -d /home/ops").returncode != 0
    finally:
        assert bare.on("head", mend).returncode == 0


def test_broken_sudoers_are_left_alone(bare: Bare) -> None:
    assert (
        bare.on("head", "echo 'what is this' >/etc/sudoers.d/broken; chmod 440 /etc/sudoers.d/broken").returncode == 0
    )
    try:
        done = run(
            "bootstrap", f"{SUBNET}.3", *bare.first, "--admin", "ops", "--public-key", str(bare.folder / "ops.pub")
        )
        assert done.returncode == 4
        assert "sudoers files are broken, nothing was added" in done.stderr
        assert bare.on("head", "test -e /etc/sudoers.d/hpcprov-ops").returncode != 0
    finally:
        assert bare.on("head", "rm /etc/sudoers.d/broken").returncode == 0


def test_bootstrap_makes_them_ready_and_proves_it(bare: Bare) -> None:
    code, results, said = bare.bootstrap()
    assert code == 0, said
    assert {host: (one["result"], one["proved"]) for host, one in results.items()} == {
        f"{SUBNET}.3": ("changed", True), f"{SUBNET}.4": ("changed", True),
    }  # fmt: skip
    assert results[f"{SUBNET}.4"]["steps"][0]["message"] == "installed python3 sudo"
    assert bare.on("node01", "stat -c %a:%U /etc/sudoers.d/hpcprov-ops; visudo -c").stdout.startswith("440:root")


def test_a_second_bootstrap_changes_nothing(bare: Bare) -> None:
    before = bare.on("node01", "cat /etc/passwd /etc/sudoers.d/* /home/ops/.ssh/authorized_keys | cksum").stdout
    code, results, said = bare.bootstrap()
    assert code == 0, said
    assert {one["result"] for one in results.values()} == {"ok"}
    assert f"{SUBNET}.[3-4]: nothing to change" in said
    assert bare.on("node01", "cat /etc/passwd /etc/sudoers.d/* /home/ops/.ssh/authorized_keys | cksum").stdout == before


def test_preflight_of_these_hosts_as_the_admin_finds_nothing_of_it(bare: Bare) -> None:
    site = bare.folder / "site.yaml"
    text = site.read_text().replace("ansible_user: root", "ansible_user: ops\n    ansible_become: true")
    key = next(line for line in text.splitlines() if "ansible_ssh_private_key_file" in line)
    site.write_text(text.replace(key, f"    ansible_ssh_private_key_file: {bare.folder / 'ops'}"))
    done = run("preflight", site, "--json")
    result = json.loads(done.stdout)
    assert set(result["reached"]) == {"head", "node01"}
    wrong = [finding for finding in result["findings"] if finding["rule"] in ("python", "sudo", "authentication")]
    assert wrong == []
