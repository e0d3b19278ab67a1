"""What becomes of a container that is found."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hpcprov.lab.nodes import SPEC_LABEL, Node, State, inspect, state_of
from hpcprov.lab.podman import Podman

NODE = Node("head", "head", "lab", "bookworm", "image:1", "net", "10.0.0.1", (("/k", "/etc/hpcprov-lab/host", "ro"),))


@dataclass(frozen=True)
class Listed(Podman):
    """Lists these containers."""

    containers: tuple[dict[str, Any], ...] = ()

    def query(self, *args: str) -> list[dict[str, Any]]:
        """Fresh copies: the reader changes them."""
        assert args[0] == "ps"
        return [dict(entry) for entry in self.containers]


def container(**changes: Any) -> dict[str, dict[str, Any]]:
    found = {"State": "running", "StartedAt": 1796100271, "Labels": {SPEC_LABEL: NODE.digest}, **changes}
    return {NODE.container: found}


@pytest.mark.parametrize(
    ("present", "state"),
    [
        ({}, State.MISSING),
        (container(), State.RUNNING),
        (container(State="exited"), State.STOPPED),
        (container(State="created", StartedAt=-62135596800), State.BROKEN),
        (container(State="exited", StartedAt=-62135596800), State.BROKEN),
        (container(State="stopping"), State.BROKEN),
        (container(Labels={SPEC_LABEL: "another"}), State.BROKEN),
        (container(Labels=None), State.BROKEN),
    ],
)
def test_state(present: dict[str, dict[str, Any]], state: State) -> None:
    assert state_of(NODE, present) is state


def test_what_podman_calls_running_without_a_process_is_lost() -> None:
    with subprocess.Popen(["sleep", "60"]) as killed:
        listed: list[dict[str, Any]] = [{"Names": ["alive"], "State": "running", "Pid": os.getpid()}]
        listed.append({"Names": ["killed"], "State": "running", "Pid": killed.pid})
        listed.append({"Names": ["stopped"], "State": "exited", "Pid": 0})
        killed.kill()
        os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
        as_zombie = inspect(Listed("podman", Path("/conf"), tuple(listed)), "lab")
    as_gone = inspect(Listed("podman", Path("/conf"), tuple(listed)), "lab")
    for found in (as_zombie, as_gone):
        states = {name: entry["State"] for name, entry in found.items()}
        assert states == {"alive": "running", "killed": "lost", "stopped": "exited"}
    assert state_of(NODE, container(State="lost")) is State.BROKEN


def test_a_new_image_alone_does_not_throw_a_node_away() -> None:
    assert replace(NODE, image="image:2").digest == NODE.digest


@pytest.mark.parametrize("change", [{"kind": "trixie"}, {"address": "10.0.0.2"}, {"mounts": ()}, {"network": "other"}])
def test_what_the_site_says_does(change: dict[str, Any]) -> None:
    assert replace(NODE, **change).digest != NODE.digest


def test_run_arguments() -> None:
    arguments = NODE.run_arguments()
    for wanted in ("--name=hpcprov-lab-head", "--hostname=head", "--ip=10.0.0.1", "--systemd=always", "--no-hosts"):
        assert wanted in arguments
    assert "--volume=/k:/etc/hpcprov-lab/host:ro" in arguments
    assert arguments[-2:] == ["image:1", "/sbin/init"]
