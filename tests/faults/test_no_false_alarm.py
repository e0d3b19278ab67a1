"""A red that is believed comes from a tool that shows no red on a healthy cluster, not once in many times."""

from __future__ import annotations

import os

import pytest
from e2e_lab import said
from faults_lab import FaultsLab

pytestmark = pytest.mark.xdist_group("faults")

ROUNDS = int(os.environ.get("HPCPROV_ALARM_ROUNDS", "20"))


@pytest.mark.parametrize("command", ["verify", "preflight"])
def test_no_red_on_a_healthy_lab(lab: FaultsLab, command: str, notes: list[str]) -> None:
    seconds = []
    for number in range(1, ROUNDS + 1):
        done, took = lab.command(command, "{site}")
        assert done.returncode == 0, f"{command}, round {number} of {ROUNDS}: {said(done)}"
        seconds.append(took)
    seconds.sort()
    notes.append(
        f"{command}: {ROUNDS} of {ROUNDS} rounds without red, "
        f"median {seconds[ROUNDS // 2]:.1f} s, longest {seconds[-1]:.1f} s"
    )
