"""What becomes of a lab: reused, started, repaired, conflicting, and removed without touching another one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# One worker for this module: its tests change one lab.
pytestmark = pytest.mark.xdist_group("e2elab")

HPCPROV = Path(sys.executable).parent / "hpcprov"
SITE = """
all:
  vars:
    cluster_name: {name}
    cluster_network: {subnet}.0/28
    ansible_user: root
    lab: {{release: bookworm}}
    nfs_exports: [{{path: /shared}}]
controller: {{hosts: {{head: {{ansible_host: {subnet}.3}}}}}}
database: {{hosts: {{head: }}}}
storage: {{hosts: {{head: }}}}
compute: {{hosts: {{node01: {{ansible_host: {subnet}.4}}}}}}
"""


def hpcprov(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [HPCPROV, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=400, check=False
    )


def podman(*arguments: str) -> str:
    conf = json.loads(hpcprov("lab", "image", "--json").stdout)["containers_conf"]
    environment = {**os.environ, "CONTAINERS_CONF": conf}
    done = subprocess.run(
        ["podman", *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def up(site: Path) -> str:
    done = hpcprov("lab", "up", site)
    assert done.returncode == 0, done.stderr
    return done.stderr


def states(site: Path) -> dict[str, Any]:
    return {node["name"]: node for node in json.loads(hpcprov("lab", "status", "--json", site).stdout)}


def on(site: Path, node: str, command: str) -> str:
    done = hpcprov("lab", "ssh", node, "--site", site, "--", command)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def kill_all(site: Path) -> None:
    """Kill every container of the lab and its monitor, behind podman's back."""
    names = podman("ps", "--quiet", f"--filter=label=hpcprov.cluster={site.stem}").split()
    pids = podman("inspect", "--format={{.State.ConmonPid}} {{.State.Pid}}", *names).split()
    for pid in map(int, pids):
        os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while {node["state"] for node in states(site).values()} != {"broken"} and time.monotonic() < deadline:
        time.sleep(0.1)


def state_of(site: Path) -> Path:
    return site.parent / ".hpcprov" / site.stem


def make_site(folder: Path, name: str, subnet: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.yaml"
    path.write_text(SITE.format(name=name, subnet=subnet))
    return path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = make_site(tmp_path_factory.mktemp("lab"), "e2elab", "10.89.201")
    cleared = hpcprov("lab", "down", "--force", path)
    assert cleared.returncode == 0, cleared.stderr
    up(path)
    yield path
    hpcprov("lab", "down", path)


# CGR-02, CGR-08
def test_nodes_are_healthy_and_share_storage(site: Path) -> None:
    assert all(node["healthy"] for node in states(site).values())
    on(site, "head", "echo shared > /shared/probe")
    assert on(site, "node01", "cat /shared/probe; hostname") == "shared\nnode01"
    assert on(site, "node01", "systemctl is-active dbus") == "active"


def test_packages_come_through_the_cache(site: Path) -> None:
    on(site, "node01", "apt-get update -qq && apt-get install -qq -y --download-only tree")
    assert "tree_" in podman("logs", "hpcprov-e2elab-cache")


def test_apt_works_without_the_cache(site: Path) -> None:
    podman("stop", "--time=2", "hpcprov-e2elab-cache")
    on(site, "node01", "apt-get update -qq -o APT::Update::Error-Mode=any")
    up(site)
    assert podman("inspect", "--format={{.State.Running}}", "hpcprov-e2elab-cache").strip() == "true"


def test_a_healthy_lab_is_left_alone(site: Path) -> None:
    before = on(site, "head", "cat /proc/1/stat | cut -d' ' -f22")
    said = up(site)
    assert "created" not in said
    assert "replaced" not in said
    assert on(site, "head", "cat /proc/1/stat | cut -d' ' -f22") == before


def test_a_stopped_node_keeps_its_files(site: Path) -> None:
    on(site, "head", "echo 10.89.201.4 node01 >> /etc/hosts; touch /root/kept")
    podman("stop", "--time=5", "hpcprov-e2elab-head")
    assert states(site)["head"]["state"] == "stopped"
    assert "head (10.89.201.3): started" in up(site)
    assert on(site, "head", "ls /root/kept; tail -n1 /etc/hosts") == "/root/kept\n10.89.201.4 node01"


def test_a_half_made_node_is_replaced_and_still_known(site: Path) -> None:
    image = json.loads(hpcprov("lab", "image", "--json").stdout)["image"]
    podman("rm", "--force", "--time=0", "hpcprov-e2elab-node01")
    podman("create", "--name=hpcprov-e2elab-node01", "--label=hpcprov.cluster=e2elab", image)
    assert states(site)["node01"]["state"] == "broken"
    assert "node01 (10.89.201.4): replaced" in up(site)
    assert on(site, "node01", "hostname") == "node01"


def test_a_lab_whose_processes_were_killed_is_removed_or_made_anew(site: Path) -> None:
    """As the OOM killer or the end of a session leaves it: podman 4.3 goes on calling the nodes running."""
    kill_all(site)
    assert {node["state"] for node in states(site).values()} == {"broken"}
    assert "head (10.89.201.3): replaced" in up(site)
    kill_all(site)
    down = hpcprov("lab", "down", site)
    assert down.returncode == 0, down.stderr
    assert "Removed container hpcprov-e2elab-node01" in down.stderr
    assert "head (10.89.201.3): created" in up(site)


def test_another_lab_on_the_same_addresses_is_refused(site: Path, tmp_path: Path) -> None:
    done = hpcprov("lab", "up", make_site(tmp_path, "e2eclash", "10.89.201"))
    assert done.returncode == 4
    assert "podman network hpcprov-e2elab uses 10.89.201.0/28" in done.stderr


def test_another_site_of_the_same_name_is_refused_and_harmless(site: Path, tmp_path: Path) -> None:
    other = make_site(tmp_path, "e2elab", "10.89.201")
    for command in (
        ["lab", "up", other], ["lab", "down", other], ["lab", "ssh", "head", "--site", other, "--", "true"],
    ):  # fmt: skip
        done = hpcprov(*command)
        assert done.returncode == 4, done.stderr
        assert f"hpcprov lab down {site}" in done.stderr
    assert states(other)["head"]["state"] == "foreign"
    assert all(node["healthy"] and node["owner"] == str(state_of(site)) for node in states(site).values())


def test_a_lab_of_a_removed_checkout_is_taken_over(tmp_path: Path) -> None:
    first, second = (make_site(tmp_path / name, "e2egone", "10.89.203") for name in ("first", "second"))
    up(first)
    shutil.rmtree(first.parent)
    done = hpcprov("lab", "down", second)
    assert done.returncode == 0, done.stderr
    assert f"{state_of(first)}, which no longer exists" in done.stderr
    assert "e2egone" not in podman("ps", "--all", "--format={{.Names}}")


def test_ssh_to_a_lab_that_does_not_run(tmp_path: Path) -> None:
    path = make_site(tmp_path, "e2enone", "10.89.204")
    done = hpcprov("lab", "ssh", "head", "--site", path)
    assert done.returncode == 4
    assert f"hpcprov lab up {path}" in done.stderr


def test_down_removes_this_lab_and_no_other(site: Path, tmp_path: Path) -> None:
    other = make_site(tmp_path, "e2eother", "10.89.202")
    up(other)
    try:
        assert all(node["healthy"] for node in states(other).values())
    finally:
        done = hpcprov("lab", "down", other)
    assert done.returncode == 0
    assert "e2eother" not in podman("ps", "--all", "--format={{.Names}}")
    assert "e2eother" not in podman("volume", "ls", "--format={{.Name}}")
    assert "e2eother" not in podman("network", "ls", "--format={{.Name}}")
    assert all(node["healthy"] for node in states(site).values())
