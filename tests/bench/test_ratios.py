"""Measurements as ratios in one run, so that they mean the same on a laptop and on a busy server: `make bench`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
HOSTS = 3000


def seconds(*command: str, cwd: Path = ROOT) -> float:
    """Wall time of a command that has to succeed."""
    start = time.perf_counter()
    subprocess.run(command, cwd=cwd, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return time.perf_counter() - start


@pytest.fixture
def large_site(tmp_path: Path) -> Path:
    """A site of 3,001 hosts, each with an address of its own, as `discover` would write it."""
    nodes = {
        f"node{number:04d}": {"ansible_host": f"10.{1 + number // 60000}.{number // 250}.{1 + number % 250}"}
        for number in range(1, HOSTS + 1)
    }
    site = {
        "all": {
            "vars": {
                "cluster_name": "large",
                "cluster_network": "10.0.0.0/8",
                "nfs_exports": [{"path": "/shared"}],
                "nfs_mounts": [{"path": "/shared"}],
            }
        },
        **{
            group: {"hosts": {"head": {"ansible_host": "10.200.0.1"}}}
            for group in ("controller", "database", "login", "storage")
        },
        "compute": {"hosts": nodes},
    }
    path = tmp_path / "site.yaml"
    path.write_text(json.dumps(site, indent=1))  # JSON is YAML
    return path


def test_validate_against_ansible_inventory(large_site: Path) -> None:
    ours = seconds(str(BIN / "hpcprov"), "validate", str(large_site))
    theirs = seconds(str(BIN / "ansible-inventory"), "-i", str(large_site), "--list")
    print(f"\nvalidate of {HOSTS + 1} hosts: {ours:.2f} s, ansible-inventory {theirs:.2f} s, ratio {ours / theirs:.2f}")
    assert ours < theirs


def test_one_call_against_a_loop_of_copies(tmp_path: Path) -> None:
    """Eight files with hpc_files against eight copy tasks, on this machine without SSH."""
    files = [{"dest": str(tmp_path / f"file{number}"), "content": "x\n", "mode": "0644"} for number in range(8)]
    header = {"hosts": "localhost", "connection": "local", "gather_facts": False}
    (tmp_path / "one.yml").write_text(json.dumps([{**header, "tasks": [{"hpc_files": {"files": files}}]}]))
    copies = [{"ansible.builtin.copy": file} for file in files]
    (tmp_path / "many.yml").write_text(json.dumps([{**header, "tasks": copies}]))
    (tmp_path / "none.yml").write_text(json.dumps([{**header, "tasks": []}]))
    playbook = str(BIN / "ansible-playbook")
    start = min(seconds(playbook, "-i", "localhost,", str(tmp_path / "none.yml")) for _ in range(2))
    one = seconds(playbook, "-i", "localhost,", str(tmp_path / "one.yml")) - start
    many = seconds(playbook, "-i", "localhost,", str(tmp_path / "many.yml")) - start
    print(f"\neight files: one call {one:.2f} s, eight copies {many:.2f} s, ratio {one / many:.2f}")
    assert one < many
