"""A node leaves the cluster: never with its jobs, and quietly when it is idle. After all tests that need node03."""

from __future__ import annotations

import pytest
from living import QUICK, SCHEDULER, Joined, Living, changed, restarted

pytestmark = pytest.mark.xdist_group("e2e")

REASON = "hpcprov: leaves the cluster"


def without_node03(living: Living) -> str:
    text = living.site.read_text()
    return text[: text.index("    node03:")]


def test_a_busy_node_keeps_its_job_and_may_come_back(living: Living, joined: Joined) -> None:
    with living.job_lives("-w", "node03") as job:
        with living.site_says(without_node03(living)):
            refused = living.deploy(*QUICK, expect=5)
        assert f"node03: job {job}" in refused["said"]
        assert "nothing was changed" in refused["said"]
        assert living.node_state("node03") == f"draining {REASON}"
        assert "node03" in living.inside("head", "cat /etc/hosts /etc/slurm/slurm.conf")

        back = living.deploy(*SCHEDULER)
        assert living.node_state("node03").startswith("mixed ")
        assert [notice for notice in back["notices"] if notice.startswith("node03 was resumed")], back["notices"]


def test_an_idle_node_leaves_and_the_others_are_left_alone(living: Living, joined: Joined) -> None:
    hosts = ("head", "store", "node01", "node02")
    before = living.started(*hosts)
    with living.job_lives("-w", "node01"):
        living.site.write_text(without_node03(living))
        result = living.deploy("--to", "scheduler")
    living.verify()
    assert restarted(result) == {"head": ["slurmctld"]}
    assert changed(before, living.started(*hosts)) == ["head slurmctld"]
    assert "node03" not in living.inside("head", "cat /etc/hosts /etc/slurm/slurm.conf; sinfo -h -N")
    assert living.podman.try_run("container", "exists", living.container("node03")).returncode != 0
