"""The plan of a deployed cluster: empty, true to one change, and a deploy that does not lose a job unasked."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from e2e_lab import said
from living import QUICK, SCHEDULER, Living

pytestmark = pytest.mark.xdist_group("e2e")


def plan(living: Living) -> dict[str, Any]:
    """`hpcprov plan --json`."""
    done = living.lab.hpcprov("plan", str(living.site), "--json")
    assert done.returncode == 0, said(done)
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


def test_plan_of_a_deployed_cluster(living: Living) -> None:
    living.deploy(*QUICK)
    made = plan(living)
    assert made["deployed"] and made["controller"]["answers"]
    assert (made["changes"], made["drift"], made["notes"]) == ([], [], [])

    with living.site_says(living.edited("1-00:00:00", "2-00:00:00")):
        (change,) = plan(living)["changes"]
        assert (change["part"], change["name"], change["effect"]) == ("partitions", "main", "scontrol reconfigure")
        assert [(one["key"], one["from"], one["to"]) for one in change["details"]] == [
            ("MaxTime", "1-00:00:00", "2-00:00:00")
        ]

    living.inside("head", "sed -i s/SlurmctldDebug=info/SlurmctldDebug=verbose/ /etc/slurm/slurm.conf")
    (drift,) = plan(living)["drift"]
    assert (drift["name"], drift["details"][0]["to"]) == ("SlurmctldDebug", "verbose")
    mended = living.deploy(*SCHEDULER)
    assert "edited by hand on head, set back: SlurmctldDebug" in mended["said"]
    assert plan(living)["changes"] == []


def test_other_cores_would_end_a_job_so_deploy_refuses_without_an_answer(living: Living) -> None:
    text = living.edited("CPUs: 2, RealMemory: 2000", "CPUs: 1, RealMemory: 2000")
    with living.job_lives("-w", "node01") as job, living.site_says(text):
        refused = living.deploy(*SCHEDULER, expect=2)
        assert re.search(rf"jobs? [\d, ]*\b{job} \(node01\) would end", refused["said"]), refused["said"]
        assert "the same command with --yes" in refused["said"]
        shown = living.lab.hpcprov("plan", str(living.site))
        assert re.search(r"CPUs 2 → 1\b.*needs drained nodes", shown.stdout), said(shown)
