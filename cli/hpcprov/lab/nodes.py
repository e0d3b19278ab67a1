"""The containers of a lab: one systemd container for each host of the site."""

from __future__ import annotations

import hashlib
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from hpcprov.errors import LabError
from hpcprov.lab.podman import Podman, labels

CLUSTER_LABEL = "hpcprov.cluster"
NODE_LABEL = "hpcprov.node"
SPEC_LABEL = "hpcprov.spec"
OWNER_LABEL = "hpcprov.owner"
SITE_LABEL = "hpcprov.site"
BOOT_TIMEOUT = 120.0
BOOTED = frozenset({"running", "degraded"})
# Seconds until a silent sshd is started by hand, and until it has to answer then.
SSH_PATIENCE = 5.0
SSH_LIMIT = 60.0
POLL = 0.2
JOURNAL_LINES = 15


class State(StrEnum):
    """What became of a node's container."""

    MISSING = "missing"
    RUNNING = "running"
    STOPPED = "stopped"
    BROKEN = "broken"  # never started, of another recipe, or killed: left by an interrupted run or an older site
    FOREIGN = "foreign"  # of another site that has the same cluster_name


@dataclass(frozen=True)
class Owner:
    """The site that made a container, network or volume. Empty for what was made before these labels."""

    state_dir: str = ""
    site: str = ""

    @classmethod
    def of(cls, found: Mapping[str, str]) -> Owner:
        """Read the labels of something that podman keeps."""
        return cls(found.get(OWNER_LABEL, ""), found.get(SITE_LABEL, ""))

    @property
    def labels(self) -> dict[str, str]:
        """As podman keeps it."""
        return {OWNER_LABEL: self.state_dir, SITE_LABEL: self.site}


@dataclass(frozen=True)
class Node:
    """How the container of one host must be. `kind` is the release, or the image that the site names itself."""

    name: str
    node_name: str
    cluster: str
    kind: str
    image: str
    network: str
    address: str
    # (source, path in the node, options): a volume or a directory of the control host.
    mounts: tuple[tuple[str, str, str], ...] = ()
    owner: Owner = Owner()

    @property
    def labels(self) -> dict[str, str]:
        """What the container is found and judged by."""
        return {CLUSTER_LABEL: self.cluster, NODE_LABEL: self.name, SPEC_LABEL: self.digest, **self.owner.labels}

    @property
    def container(self) -> str:
        """Name of the container."""
        return container_name(self.cluster, self.node_name)

    @property
    def digest(self) -> str:
        """Changes when the container has to be made anew.

        The image's own hash does not count: a new recipe alone must not throw away a cluster that works.
        """
        parts = (self.name, self.node_name, self.cluster, self.kind, self.network, self.address, self.mounts)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def run_arguments(self) -> list[str]:
        """Arguments of `podman run`.

        --no-hosts keeps /etc/hosts an ordinary file: podman would write it anew at each start and undo role base.
        """
        volumes = [f"--volume={source}:{path}:{options}" for source, path, options in self.mounts]
        return [
            "--detach", f"--name={self.container}", f"--hostname={self.node_name}", "--systemd=always", "--privileged",
            f"--network={self.network}", f"--ip={self.address}", "--no-hosts", "--shm-size=1g", "--pids-limit=-1",
            *labels(self.labels), *volumes, self.image, "/sbin/init",
        ]  # fmt: skip


@dataclass(frozen=True)
class NodeStatus:
    """What `hpcprov lab status` tells of a node."""

    name: str
    container: str
    address: str
    state: State
    system: str = ""
    ssh: bool = False
    failed_units: list[str] = field(default_factory=list)
    # State directory of the site that made the container; empty where there is none, or one made without the label.
    owner: str = ""

    @property
    def healthy(self) -> bool:
        """Booted and reachable."""
        return self.system in BOOTED and self.ssh


def container_name(cluster: str, node_name: str) -> str:
    """Name of a node's container."""
    return f"hpcprov-{cluster}-{node_name}"


def inspect(podman: Podman, cluster: str) -> dict[str, dict[str, Any]]:
    """The lab's containers by name, whatever their state.

    `lost` is the state of those whose processes and monitor were both killed behind podman's back (the OOM killer, the
    end of a session): podman 4.3 goes on calling them running, and can neither start nor stop them.
    """
    listed = podman.query("ps", "--all", "--format", "json", "--filter", f"label={CLUSTER_LABEL}={cluster}")
    for container in listed:
        if container.get("State") == "running" and not _lives(container.get("Pid", 0)):
            container["State"] = "lost"
    return {container["Names"][0]: container for container in listed}


def state_of(node: Node, present: Mapping[str, dict[str, Any]]) -> State:
    """Compare a container with what it must be."""
    container = present.get(node.container)
    if container is None:
        return State.MISSING
    found = container.get("Labels") or {}
    if Owner.of(found).state_dir not in ("", node.owner.state_dir):
        return State.FOREIGN
    if found.get(SPEC_LABEL) != node.digest:
        return State.BROKEN
    state = str(container.get("State", ""))
    if state == "running":
        return State.RUNNING
    return State.STOPPED if state in {"exited", "stopped"} and container.get("StartedAt", 0) > 0 else State.BROKEN


def bring_up(podman: Podman, node: Node, state: State) -> str:
    """Make the node run and wait until it can be used. Returns what was done: reused, started, created, replaced."""
    if state is State.RUNNING:
        # Never replaced: jobs may run on it, and its state is what the admin wants to look at.
        wait_until_ready(podman, node)
        return "reused"
    if state is State.STOPPED:
        try:
            podman.run("start", node.container)
            wait_until_ready(podman, node)
            return "started"
        except LabError:
            # It ran once and does not come back: a lab node holds nothing that a deploy does not make again.
            state = State.BROKEN
    if state is State.BROKEN:
        podman.remove_containers(node.container)
    podman.run("run", *node.run_arguments())
    wait_until_ready(podman, node)
    return "created" if state is State.MISSING else "replaced"


def wait_until_ready(podman: Podman, node: Node, timeout: float = BOOT_TIMEOUT) -> str:
    """Wait until systemd has started everything and sshd answers. Returns systemd's state: running or degraded."""
    deadline = time.monotonic() + timeout
    system = ""
    while time.monotonic() < deadline:
        system = system_state(podman, node.container, wait=deadline - time.monotonic())
        if system in BOOTED:
            break
        if not _is_running(podman, node.container):
            raise _failure(podman, node, "its container stopped while it booted")
        time.sleep(POLL)
    else:
        raise _failure(podman, node, f"systemd is still {system or 'silent'!r} after {timeout:.0f} s")
    patience = time.monotonic() + SSH_PATIENCE
    while not ssh_answers(node.address):
        if patience and time.monotonic() > patience:
            # Nothing else would bring back an sshd that was stopped.
            podman.try_run("exec", node.container, "systemctl", "start", "ssh", timeout=20)
            patience = 0.0
            deadline = min(deadline, time.monotonic() + SSH_LIMIT)
        if time.monotonic() > deadline:
            raise _failure(podman, node, f"sshd does not answer on {node.address}:22")
        time.sleep(POLL)
    return system


def system_state(podman: Podman, container: str, wait: float = 0) -> str:
    """`systemctl is-system-running`; empty while systemd does not answer yet. With `wait`, until the boot is over."""
    waiting = ["--wait"] if wait > 0 else []
    result = podman.try_run("exec", container, "systemctl", "is-system-running", *waiting, timeout=max(wait, 10.0))
    return result.stdout.strip().splitlines()[-1] if result.stdout.strip() else ""


def failed_units(podman: Podman, container: str) -> list[str]:
    """Units that make a node `degraded`."""
    output = podman.try_run("exec", container, "systemctl", "--failed", "--plain", "--no-legend", timeout=20).stdout
    return [line.split()[0] for line in output.splitlines() if line.strip()]


def ssh_answers(address: str, port: int = 22, timeout: float = 5.0) -> bool:
    """Does an SSH server greet on this address?"""
    try:
        with socket.create_connection((address, port), timeout=timeout) as connection:
            return connection.recv(8).startswith(b"SSH-")
    except OSError:
        return False


def status(podman: Podman, node: Node, present: Mapping[str, dict[str, Any]]) -> NodeStatus:
    """Look at one node."""
    state = state_of(node, present)
    owner = Owner.of(present.get(node.container, {}).get("Labels") or {}).state_dir
    if state is not State.RUNNING:
        return NodeStatus(node.name, node.container, node.address, state, owner=owner)
    system = system_state(podman, node.container)
    failed = failed_units(podman, node.container) if system == "degraded" else []
    answers = ssh_answers(node.address)
    return NodeStatus(node.name, node.container, node.address, state, system, answers, failed, owner)


def directory_mount(source: Path, path: str) -> tuple[str, str, str]:
    """A directory of the control host, read-only in the node."""
    return (str(source), path, "ro")


def _lives(pid: int) -> bool:
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]
    except OSError:
        return False
    return after_name.split()[0] not in {"Z", "X"}


def _is_running(podman: Podman, container: str) -> bool:
    return podman.try_run("inspect", "--format", "{{.State.Running}}", container).stdout.strip() == "true"


def _failure(podman: Podman, node: Node, why: str) -> LabError:
    journal = podman.try_run(
        "exec", node.container, "journalctl", "--no-pager", "--priority=warning", f"--lines={JOURNAL_LINES}", timeout=20
    )
    lines = journal.stdout.splitlines() or podman.try_run("logs", "--tail", "15", node.container).stderr.splitlines()
    return LabError("the lab node does not come up", host=node.name, why=why, journal=lines)
