"""A deploy that dies at any moment and is run again ends where an undisturbed one ends: files, services, Slurm's view.

Each round starts from bare containers. Its deploys are killed one after the other, each at a moment that the seed drew,
and the last one is let through. HPCPROV_KILL_SEED and HPCPROV_KILLS (per round) change the draw.
"""

from __future__ import annotations

import os
import time
from typing import Any

import pytest
from e2e_lab import Lab, said
from end_state import differences, end_state
from recovery_lab import HOSTS, KILLS, Undisturbed, deploy_and_kill, draw_kills

pytestmark = pytest.mark.xdist_group("recovery")

SEED = int(os.environ.get("HPCPROV_KILL_SEED", "2026"))
COUNT = int(os.environ.get("HPCPROV_KILLS", "8"))
ROUNDS = 2
PHASES = ("lab", "base", "storage", "accounting", "scheduler", "mpi", "frameworks", "verify")


@pytest.fixture(scope="module")
def undisturbed(lab: Lab) -> tuple[dict[str, dict[str, Any]], Undisturbed]:
    """The end of a deploy from bare containers that nobody touched, and how long its phases took."""
    done = lab.hpcprov("deploy", str(lab.site), "--no-smoke")
    assert done.returncode == 0, said(done)
    timing = Undisturbed({phase["name"]: phase["seconds"] for phase in lab.result()["phases"]})
    state = {host: end_state(lab, host) for host in HOSTS}
    again = lab.hpcprov("deploy", str(lab.site), "--no-smoke", "--no-verify")
    assert again.returncode == 0, said(again)
    assert {host: end_state(lab, host) for host in HOSTS} == state, "the comparison itself is not stable"
    return state, timing


@pytest.mark.parametrize("number", range(ROUNDS))
def test_state_is_the_undisturbed_one(
    lab: Lab, undisturbed: tuple[dict[str, dict[str, Any]], Undisturbed], number: int
) -> None:
    state, timing = undisturbed
    down = lab.hpcprov("lab", "down", str(lab.site))
    assert down.returncode == 0, said(down)
    phases = {name: timing.seconds[name] for name in PHASES if name in timing.seconds}
    start = time.monotonic()
    for kill in draw_kills(SEED + number, phases, COUNT):
        KILLS.append(f"round {number + 1}, {kill}: {deploy_and_kill(lab, kill, phases[kill.phase])}")
    done = lab.hpcprov("deploy", str(lab.site), "--no-smoke")
    assert done.returncode == 0, said(done)
    told = [f"{host}: {line}" for host in HOSTS for line in differences(state[host], end_state(lab, host))]
    KILLS.append(f"round {number + 1}: {len(told)} differences, {time.monotonic() - start:.0f} s")
    assert told == [], "\n".join(told)
    again = lab.hpcprov("deploy", str(lab.site), "--no-smoke", "--no-verify")
    assert again.returncode == 0, said(again)
    assert {host: counts["changed"] for host, counts in lab.result()["hosts"].items()} == dict.fromkeys(HOSTS, 0)
