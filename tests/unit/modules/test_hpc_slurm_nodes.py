"""Which states of a node count as usable, who took it out of use, and what is resumed."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from module_loader import load_module

module = pytest.fixture(scope="module")(lambda: load_module("hpc_slurm_nodes"))


@pytest.mark.parametrize("state", ["idle", "mixed", "allocated", "completing", "idle+", "planned", "idle~", "IDLE"])
def test_jobs_can_run(module: ModuleType, state: str) -> None:
    assert module.Node(state, "Unknown", "none").usable


@pytest.mark.parametrize("state", ["idle*", "down", "down*", "drained", "unknown", "inval", "fail"])
def test_jobs_cannot_run(module: ModuleType, state: str) -> None:
    assert not module.Node(state, "Unknown", "none").usable


def test_states_are_read_with_reason_and_user(module: ModuleType) -> None:
    nodes = module.parse_states("node01|idle|Unknown|none\nnode02|drained|root|disk | tape\n")
    assert [(name, node.state, node.user, node.reason) for name, node in nodes.items()] == [
        ("node01", "idle", "Unknown", "none"),
        ("node02", "drained", "root", "disk | tape"),
    ]


@pytest.mark.parametrize(
    ("state", "user", "reason", "whose"),
    [
        ("drained", "root", "fan broken", "person"),
        ("down*", "alice", "powered off", "person"),
        # An admin who copies Slurm's words is still an admin.
        ("drained", "root", "Low RealMemory", "person"),
        ("drained", "root", "Low RealMemory (reported:24002 < 100.00% of configured:99999), DIMM is ordered", "person"),
        ("drained", "alice", "Kill task failed", "person"),
        ("drained", "root", "Kill task failed, again!", "person"),
        # A restart of slurmctld makes its own reasons look like root's.
        ("drained", "root", "Low RealMemory (reported:24002 < 100.00% of configured:99999)", "us"),
        ("drained", "root", "Low socket*core*thread count, Low CPUs", "us"),
        ("drained", "root", "Kill task failed", "slurm"),
        ("down*", "root", "Not responding", None),
        ("drained", "root", "hpcprov: leaves the cluster", "us"),
        ("drained", "slurm", "Low RealMemory (reported:24002 < 100.00% of configured:99999)", "us"),
        ("inval", "slurm", "Low socket*core*thread count, Low CPUs", "us"),
        ("drained", "slurm", "gres/gpu count reported lower than configured (0 < 8)", "us"),
        # A fault of the machine: a resume would send jobs into it again.
        ("drained", "slurm", "Kill task failed", "slurm"),
        ("drained", "slurm", "Prolog error", "slurm"),
        ("down*", "slurm", "Not responding", None),
        ("down", "Unknown", "none", None),
        ("idle", "Unknown", "none", None),
        ("idle", "root", "fan broken", None),
    ],
)
def test_whose_drain_it_is(module: ModuleType, state: str, user: str, reason: str, whose: str | None) -> None:
    node = module.Node(state, user, reason)
    told = {"person": node.by_person("slurm"), "us": node.by_us("slurm"), "slurm": node.by_slurm("slurm")}
    assert told == {name: name == whose for name in told}


class Controller:
    """Stands in for AnsibleModule: answers of sinfo in their order, the last one for ever."""

    def __init__(self, *answers: str, nodes: list[str] | None = None) -> None:
        self.params = {"nodes": nodes or ["node01.hpc.org", "node02"], "timeout": 30, "slurm_user": "slurm"}
        self.answers = list(answers)
        self.updates: list[str] = []

    def run_command(self, command: list[str]) -> tuple[int, str, str]:
        if command[0] == "scontrol":
            self.updates.append(" ".join(command[1:]))
            return 0, "", ""
        text = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return (1, "", "slurm_load_node: Unable to contact slurm controller") if text == "down" else (0, text, "")


@pytest.fixture
def follow(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Follow the nodes with a clock that runs by itself; gives what cannot be used."""
    clock = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(module.time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds))

    def run(controller: Controller) -> tuple[dict[str, str], float]:
        registration = module.Registration(controller)
        return registration.unusable(registration.follow()), clock[0]

    return run


GOOD = "node01|idle|Unknown|none\nnode02|mixed|Unknown|none\n"
LOW = "node01|drained|slurm|Low RealMemory (reported:1 < 2)\nnode02|idle|Unknown|none\n"


def test_our_drain_is_resumed_once_its_cause_is_gone(follow: Any) -> None:
    controller = Controller(LOW, GOOD)
    unusable, _ = follow(controller)
    assert unusable == {}
    assert controller.updates == ["update nodename=node01 state=resume"]


def test_a_cause_that_is_still_there_is_told_and_not_fought(follow: Any) -> None:
    controller = Controller(LOW)
    unusable, seconds = follow(controller)
    assert unusable == {"node01": "drained: Low RealMemory (reported:1 < 2) (again, after it was resumed)"}
    assert controller.updates == ["update nodename=node01 state=resume"]
    assert seconds < 10


def test_an_admins_drain_is_left_and_no_fault(follow: Any) -> None:
    controller = Controller("node01|drained|root|fan\nnode02|idle|Unknown|none\n")
    unusable, seconds = follow(controller)
    assert (unusable, controller.updates, seconds) == ({}, [], 0.0)


def test_a_fault_that_slurm_found_is_told_without_waiting(follow: Any) -> None:
    controller = Controller("node01|drained|slurm|Kill task failed\nnode02|idle|Unknown|none\n")
    unusable, seconds = follow(controller)
    assert unusable == {"node01": "drained: Kill task failed"}
    assert (controller.updates, seconds) == ([], 0.0)


def test_a_node_that_registers_late_is_waited_for(follow: Any) -> None:
    unusable, seconds = follow(Controller(*["down", "node01|unknown|Unknown|none\n"] * 3, GOOD))
    assert unusable == {}
    assert seconds > 0


def test_what_never_comes_is_told_after_the_limit(follow: Any) -> None:
    unusable, seconds = follow(Controller("node02|idle*|slurm|Not responding\n"))
    assert unusable == {"node01": "slurmctld does not know it", "node02": "idle*: Not responding"}
    assert seconds > 30


def test_a_silent_controller_is_told_for_every_node(follow: Any) -> None:
    unusable, _ = follow(Controller("down"))
    assert set(unusable.values()) == {"slurm_load_node: Unable to contact slurm controller"}
