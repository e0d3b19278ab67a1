"""What one host more costs verify: 100 nodes against one, in one run.

The hosts answer from memory after a fixed time, so this is the cost on the control host: threads, parsing, judgements
and pytest. What SSH and the hosts' own work add is paid side by side on real machines, 128 at once, and is not in it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NODES = 100
ANSWER = 2.0  # seconds until a host has answered one round


def site_of(folder: Path, nodes: int) -> Path:
    """The built-in lab with as many compute nodes."""
    compute = {f"node{number:02}": {"ansible_host": f"10.89.77.{20 + number}"} for number in range(1, nodes + 1)}
    site = {
        "all": {
            "vars": {
                "cluster_name": "vf",
                "cluster_network": "10.89.77.0/24",
                "ansible_user": "root",
                "cluster_users": [{"name": "alice", "uid": 5001, "home": "/shared/home/alice"}],
                "nfs_exports": [{"path": "/shared"}],
                "nfs_mounts": [{"path": "/shared"}],
            }
        },
        **{name: {"hosts": {"head": {"ansible_host": "10.89.77.11"}}} for name in ("controller", "database", "login")},
        "storage": {"hosts": {"store": {"ansible_host": "10.89.77.12"}}},
        "compute": {"hosts": compute},
    }
    path = folder / f"site{nodes}.yaml"
    path.write_text(json.dumps(site))  # JSON is YAML
    return path


def seconds(site: Path) -> float:
    """Wall time of all checks, which have to pass."""
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, str(ROOT / "tests" / "bench" / "replay_verify.py"), str(site), str(ANSWER)]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    return time.perf_counter() - start


def test_hundred_nodes_cost_little_more_than_one(tmp_path: Path) -> None:
    one = min(seconds(site_of(tmp_path, 1)) for _ in range(2))
    many = min(seconds(site_of(tmp_path, NODES)) for _ in range(2))
    each = (many - one) / (NODES - 1)
    print(
        f"\nverify: 1 node {one:.2f} s, {NODES} nodes {many:.2f} s, ratio {many / one:.2f}, {each * 1000:.0f} ms a node"
    )
    assert many < 3 * one
