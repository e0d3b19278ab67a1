"""What the controller says, and what is never kept of it."""

from __future__ import annotations

from pathlib import Path

from hpcprov.plan.live import Job, parse

from .sites import answering, deployed, plan_of, site_of


def test_jobs_as_squeue_writes_them() -> None:
    live = parse("head", "job 7|RUNNING|main|1-00:00:00|2|n[1-2]\njob 8|PENDING|a,b|UNLIMITED|3|\njob odd\nhello\n")
    assert live.jobs == (
        Job("7", "RUNNING", ("main",), "1-00:00:00", 2, frozenset({"n1", "n2"})),
        Job("8", "PENDING", ("a", "b"), "UNLIMITED", 3),
    )
    assert live.running == [live.jobs[0]]
    assert not live.answers  # no node and no partition: slurmctld did not say this


def test_a_password_in_a_file_is_a_digest_before_anybody_sees_it() -> None:
    said = "has slurm.conf\nslurm.conf # mine\nslurm.conf ClusterName=c\nslurm.conf JobCompPass = hunter2\n"
    live = parse("head", said)
    assert "hunter2" not in repr(live)
    assert live.files["slurm.conf"].startswith("# mine\nClusterName=c\nJobCompPass = sha256:")


def test_files_are_read_where_slurmctld_is_silent(tmp_path: Path) -> None:
    saved = deployed(tmp_path)
    said = "has slurm.conf\n" + "".join(f"slurm.conf {line}\n" for line in saved.files["slurm.conf"].splitlines())
    live = parse("head", said)
    assert (live.answers, set(live.files)) == (False, {"slurm.conf"})
    assert "slurmctld does not answer on head: jobs are not known" in plan_of(saved, site_of(tmp_path), live).notes


def test_a_controller_whose_files_cannot_be_read(tmp_path: Path) -> None:
    saved = deployed(tmp_path)
    made = plan_of(saved, site_of(tmp_path), answering())
    assert made.changes == ()
    assert made.notes == ("no slurm.conf can be read on head: compared with the one that was deployed",)
