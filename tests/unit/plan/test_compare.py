"""What a plan compares with: what was deployed, the controller, and the part of the site that a run is about."""

from __future__ import annotations

from pathlib import Path

from hpcprov.plan.compare import Plan
from hpcprov.plan.description import of_site
from hpcprov.plan.render import full, short

from .sites import answering, deployed, described, plan_of, site_of

DEBUG = ("SlurmctldDebug: info", "SlurmctldDebug: debug")


def told(made: Plan) -> list[tuple[str, str, str]]:
    return [(change.part, change.name, change.action) for change in made.changes]


def test_what_was_edited_by_hand_is_told_and_set_back(tmp_path: Path) -> None:
    saved = deployed(tmp_path)
    edited = saved.files["slurm.conf"].replace("SlurmctldDebug=info", "SlurmctldDebug=debug5")
    made = plan_of(saved, site_of(tmp_path), answering(of=saved, **{"slurm.conf": edited}))
    assert told(made) == [("slurm.conf", "SlurmctldDebug", "changed")]
    assert (made.changes[0].details[0].old, made.changes[0].details[0].new) == ("debug5", "info")
    (drift,) = made.drift
    assert (drift.details[0].old, drift.details[0].new) == ("info", "debug5")
    text = "\n".join(full(made))
    assert "Edited on head since the last deploy, which this one sets back\n  SlurmctldDebug info → debug5" in text
    assert short(made)[-1] == "edited by hand on head, set back: SlurmctldDebug"


def test_what_a_run_wrote_before_it_failed_is_no_drift(tmp_path: Path) -> None:
    saved = deployed(tmp_path)
    site = site_of(tmp_path, DEBUG)
    made = plan_of(saved, site, answering(of=described(site)))
    assert made.drift == () and told(made) == []


def test_a_cluster_of_an_older_hpcprov_is_compared_by_its_files_alone(tmp_path: Path) -> None:
    files = deployed(tmp_path)
    made = plan_of(None, site_of(tmp_path, DEBUG), answering(of=files))
    assert not made.first
    assert told(made) == [("slurm.conf", "SlurmctldDebug", "changed")]
    assert made.notes[0].startswith("nothing is saved of an earlier deploy: only Slurm's files are compared")


def test_the_phases_of_a_run_bound_its_plan(tmp_path: Path) -> None:
    saved = deployed(tmp_path)
    site = site_of(tmp_path, DEBUG, ("uid: 5001", "uid: 5009"), ("Priority: 10", "Priority: 20"))
    live = answering(of=saved)
    assert [part for part, _, _ in told(plan_of(saved, site, live))] == ["slurm.conf", "users", "qos"]
    assert [part for part, _, _ in told(plan_of(saved, site, live, phases={"scheduler"}))] == ["slurm.conf"]
    assert [part for part, _, _ in told(plan_of(saved, site, live, phases={"base", "mpi"}))] == ["users"]


def test_without_the_controller_slurms_files_stay(tmp_path: Path) -> None:
    saved = deployed(tmp_path)
    site = site_of(tmp_path, DEBUG, ("uid: 5001", "uid: 5009"))
    made = plan_of(saved, site, answering(of=saved), hosts={"n1"})
    assert told(made) == [("users", "alice", "changed")]
    assert made.notes == ("no controller is part of the run: Slurm's files stay as they are",)


def test_a_controller_without_its_files_is_configured_anew(tmp_path: Path) -> None:
    saved = deployed(tmp_path).model_copy(update={"files": {}})
    made = plan_of(saved, site_of(tmp_path), answering())
    assert ("slurm.conf", "slurm.conf", "added") in told(made)
    assert ("nodes", "n1", "added") in told(made)


def test_many_alike_nodes_are_one_line(tmp_path: Path) -> None:
    saved = deployed(tmp_path)
    more = "".join(f"    m{n}: {{ansible_host: 10.0.0.{n}, slurm_node: {{CPUs: 8, RealMemory: 900}}}}\n"
                   for n in range(100, 200))  # fmt: skip
    made = plan_of(saved, site_of(tmp_path, ("    n3: {", more + "    n3: {")), answering(of=saved))
    assert len(made.changes) == 100
    assert short(made) == ["Nodes: + m[100-199] [slurmctld restart (jobs go on)]"]
    assert [line for line in full(made) if "m[" in line] == [
        "  + m[100-199]  CPUs=8 RealMemory=900  [slurmctld restart (jobs go on)]"
    ]


def test_an_unchanged_cluster_is_one_line(tmp_path: Path) -> None:
    saved = deployed(tmp_path)
    made = plan_of(saved, site_of(tmp_path), answering(of=saved))
    assert full(made) == ["tiny: nothing would change."]
    assert short(made) == []


def test_a_plan_in_full(tmp_path: Path) -> None:
    saved = deployed(tmp_path)
    site = site_of(
        tmp_path,
        DEBUG,
        ("CPUs: 4, RealMemory: 4000", "CPUs: 2, RealMemory: 3000"),
        ("      - {name: alice", "      - {name: bob, uid: 5002}\n      - {name: alice"),
    )
    assert full(plan_of(saved, site, answering("8|RUNNING|big|1:00:00|1|n3", of=saved))) == [
        "tiny: 4 changes, since the deploy of 2026-12-01T10:00:00+00:00; the most that one needs: needs drained nodes",
        "",
        "Nodes",
        "  ~ n3",
        "      CPUs 4 → 2  [needs drained nodes]",
        "        jobs on a node whose cores change in number end, or are requeued",
        "      RealMemory 4000 → 3000  [slurmctld and slurmd restart (jobs go on)]",
        "",
        "Partitions",
        "  ~ big  DefMemPerCPU 1000 → 1500  [scontrol reconfigure]",
        "",
        "slurm.conf",
        "  ~ SlurmctldDebug  info → debug  [no effect on jobs]",
        "",
        "Users",
        "  + bob  uid=5002  [no effect on jobs]",
        "",
        "Jobs",
        "  job 8 (n3) ends: jobs on a node whose cores change in number end, or are requeued",
        "",
        "Asked before a deploy, unless --yes",
        "  job 8 (n3) would end: jobs on a node whose cores change in number end, or are requeued",
        "",
        "A deploy restarts slurmctld on head, slurmd on n3; running jobs go on unless it says so above.",
    ]


def test_a_munge_key_that_is_gone_is_made_anew_and_everything_restarts(tmp_path: Path) -> None:
    saved = deployed(tmp_path)
    site = site_of(tmp_path)
    wanted = of_site(site)  # no key lies there
    made = plan_of(saved, site, answering(of=saved), wanted)
    assert [part for part, _, _ in told(made)] == ["munge", "database"]
    assert made.restarts == {"slurmctld": "head", "slurmd": "n[1-3]"} and made.losses == ()
    assert short(made)[0] == "Munge: munge.key digest (secret) → (secret) [slurmctld and slurmd restart (jobs go on)]"
