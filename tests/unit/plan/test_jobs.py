"""Jobs that a plan touches, and what deploy asks about."""

from __future__ import annotations

from pathlib import Path

import pytest
from hpcprov.plan.compare import Plan

from .sites import answering, deployed, described, plan_of, site_of

# id, state, partition, limit, nodes wanted, nodes
JOBS = """\
7|RUNNING|main|1:00:00|2|n[1-2]
8|RUNNING|big|1:00:00|1|n3
9|PENDING|main|20:00:00|1|
10|PENDING|main,big|20:00:00|1|
11|PENDING|main|30:00|4|
"""
NODE3 = "    n3: {ansible_host: 10.0.0.13, slurm_node: {CPUs: 4, RealMemory: 4000}}\n"
BIG = '      - {name: big, nodes: "n3"}\n'
DROP = ("packages_extra", "slurm_drop_busy_nodes: true\n    packages_extra")


def plan(folder: Path, *changes: tuple[str, str], jobs: str = JOBS) -> Plan:
    saved = deployed(folder)
    return plan_of(saved, site_of(folder, *changes), answering(jobs, of=saved))


def fates(made: Plan) -> dict[str, tuple[str, ...]]:
    return {f"{entry.where} {entry.fate}": entry.jobs for entry in made.jobs}


def test_nothing_changes_nothing_is_touched(tmp_path: Path) -> None:
    made = plan(tmp_path)
    assert (made.changes, made.drift, made.jobs, made.losses, made.restarts, made.notes) == ((), (), (), (), {}, ())


ROUTINE = {
    "option": [("SlurmctldDebug: info", "SlurmctldDebug: debug")],
    "longer": [("1-00:00:00", "2-00:00:00")],
    "memory": [("CPUs: 4, RealMemory: 4000", "CPUs: 4, RealMemory: 3000")],
    "user": [("      - {name: alice", "      - {name: bob, uid: 5002}\n      - {name: alice")],
    "node": [(NODE3, NODE3 + NODE3.replace("n3", "n4").replace("13", "14"))],
    "plugin": [("{SlurmctldDebug: info}", "{SlurmctldDebug: info, TaskPlugin: task/none}")],
    "uid": [("uid: 5001", "uid: 5009")],
}


@pytest.mark.parametrize("case", ROUTINE)
def test_routine_changes_are_never_asked_about(case: str, tmp_path: Path) -> None:
    made = plan(tmp_path, *ROUTINE[case])
    assert made.changes and made.losses == ()


def test_jobs_of_a_node_that_leaves_stop_the_deploy_and_lose_nothing(tmp_path: Path) -> None:
    made = plan(tmp_path, (NODE3, ""), (BIG, ""))
    assert fates(made) == {"n3 stops the deploy": ("8",), "partition big stops the deploy": ("8", "10")}
    assert made.losses == ()


def test_jobs_end_where_the_site_lets_them(tmp_path: Path) -> None:
    made = plan(tmp_path, (NODE3, ""), (BIG, ""), DROP)
    assert fates(made) == {"n3 ends": ("8",), "partition big ends": ("8", "10")}
    assert made.losses == (
        "job 8 (n3) would end: n3 leaves the cluster",
        "jobs 8, 10 (partition big) would end: partition big goes, and pending jobs in it too",
    )


def test_other_cores_end_the_jobs_of_that_node_alone(tmp_path: Path) -> None:
    cores = ("CPUs: 4, RealMemory: 4000", "CPUs: 2, RealMemory: 4000")
    made = plan(tmp_path, cores)
    assert fates(made) == {"n3 ends": ("8",)}
    assert made.losses == ("job 8 (n3) would end: jobs on a node whose cores change in number end, or are requeued",)
    assert made.restarts == {"slurmctld": "head", "slurmd": "n3"}
    assert plan(tmp_path, cores, jobs="7|RUNNING|main|1:00:00|2|n[1-2]\n").losses == ()


def test_other_gres_may_end_jobs_of_that_node(tmp_path: Path) -> None:
    one = ("n3: {ansible_host", 'n3: {slurm_gres: "gpu:1", ansible_host')
    two = ("n3: {ansible_host", 'n3: {slurm_gres: "gpu:2", ansible_host')
    added = plan(tmp_path, one)
    assert added.losses == () and added.restarts == {"slurmctld": "head", "slurmd": "n[1-3]"}  # a first GresTypes
    saved = described(site_of(tmp_path, one))
    made = plan_of(saved, site_of(tmp_path, two), answering(JOBS, of=saved))
    assert fates(made) == {"n3 may end": ("8",)}
    assert made.losses == ("job 8 (n3) may end: jobs that hold a resource which is gone are ended",)
    assert made.restarts == {"slurmctld": "head", "slurmd": "n3"}


def test_programs_may_miss_what_is_no_longer_mounted_so(tmp_path: Path) -> None:
    made = plan(tmp_path, ("nfs_mounts: [{path: /shared}]", "nfs_mounts: [{path: /shared, options: ro}]"))
    assert fates(made) == {"mounts /shared may end": ("7", "8")}
    assert made.restarts == {}


def test_a_lower_limit_keeps_pending_jobs_of_that_partition_alone(tmp_path: Path) -> None:
    made = plan(tmp_path, ("1-00:00:00", "10:00:00"))
    assert fates(made) == {"partition main waits longer": ("9",)}
    assert made.losses == ()
    fewer = plan(tmp_path, ('max_time: "1-00:00:00"', 'max_time: "1-00:00:00", MaxNodes: 2'))
    assert fates(fewer) == {"partition main waits longer": ("11",)}


def test_lost_state_is_asked_about_with_and_without_jobs(tmp_path: Path) -> None:
    change = ("packages_extra", "slurm_state_dir: /srv/slurm\n    packages_extra")
    made = plan(tmp_path, change)
    assert fates(made) == {"slurm.conf StateSaveLocation ends": ("7", "8", "9", "10", "11")}
    assert len(made.losses) == 1 and made.losses[0].startswith("jobs 7, 8, 9, 10, 11 (slurm.conf StateSaveLocation)")
    idle = plan(tmp_path, change, jobs="")
    assert idle.jobs == () and len(idle.losses) == 1
    assert idle.losses[0].startswith("slurm.conf StateSaveLocation: slurmctld starts without its saved state")


def test_a_controller_that_is_silent_leaves_the_question_open(tmp_path: Path) -> None:
    saved = deployed(tmp_path)
    site = site_of(tmp_path, ("CPUs: 4, RealMemory: 4000", "CPUs: 2, RealMemory: 4000"))
    made = plan_of(saved, site)
    assert len(made.losses) == 1
    assert "slurmctld does not answer, so nobody knows which" in made.losses[0]
    assert made.notes == ("the controller cannot be reached: compared with what was deployed, jobs are not known",)


def test_a_first_deploy_asks_nothing(tmp_path: Path) -> None:
    made = plan_of(None, site_of(tmp_path))
    assert made.first and made.changes and made.losses == () and made.restarts == {}
