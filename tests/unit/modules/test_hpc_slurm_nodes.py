"""Which states of a node count as usable, and who took it out of use."""

from __future__ import annotations

from types import ModuleType

import pytest
from module_loader import load_module

module = pytest.fixture(scope="module")(lambda: load_module("hpc_slurm_nodes"))


@pytest.mark.parametrize("state", ["idle", "mixed", "allocated", "completing", "idle+", "planned", "idle~"])
def test_jobs_can_run(module: ModuleType, state: str) -> None:
    assert module.usable(state)


@pytest.mark.parametrize("state", ["idle*", "down", "down*", "drained", "unknown", "inval", "fail"])
def test_jobs_cannot_run(module: ModuleType, state: str) -> None:
    assert not module.usable(state)


def test_states_are_read_with_reason_and_user(module: ModuleType) -> None:
    text = "node01|idle|Unknown|none\nnode02|drained|root|disk | tape\n"
    assert module.parse_states(text) == {
        "node01": ("idle", "Unknown", "none"),
        "node02": ("drained", "root", "disk | tape"),
    }


@pytest.mark.parametrize(
    ("state", "reason", "user", "kept_out"),
    [
        ("drained", "fan broken", "root", True),
        ("down*", "powered off", "alice", True),
        ("drained", "Low RealMemory", "slurm", False),
        ("down*", "Not responding", "slurm", False),
        ("down", "none", "Unknown", False),
        ("idle", "none", "Unknown", False),
    ],
)
def test_only_a_person_keeps_a_node_out(module: ModuleType, state: str, reason: str, user: str, kept_out: bool) -> None:
    assert module.by_admin(state, reason, user, "slurm") is kept_out
