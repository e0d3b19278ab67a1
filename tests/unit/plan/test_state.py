"""deployed.json: what a run leaves there, whatever part of a deploy it was."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from pathlib import Path

import pytest
from hpcprov.phases import Phase
from hpcprov.plan import state
from hpcprov.plan.description import Description
from hpcprov.plan.parts import PARTS, SLURM
from hpcprov.plan.state import Scope
from hpcprov.site import Site

from .sites import EVERYONE, deployed, described, plan_of, site_of

ALL = [phase.value for phase in Phase]


def scope_of(phases: Iterable[str], hosts: Collection[str] = EVERYONE) -> Scope:
    """All these phases on all these hosts."""
    return Scope({phase: set(hosts) for phase in phases})


CHANGED = (
    ("SlurmctldDebug: info", "SlurmctldDebug: debug"),
    ("uid: 5001", "uid: 5009"),
    ("Priority: 10", "Priority: 20"),
    ("nfs_exports: [{path: /shared}]", "nfs_exports: [{path: /shared, options: ro}]"),
)


def pending(before: Description, now: Description, scope: Scope, site: Site) -> set[str]:
    """The parts that a plan still tells after the run."""
    merged = state.merge(before, now, scope, site) or before
    return {change.part for change in plan_of(merged, site, wanted=now).changes}


@pytest.mark.parametrize(
    ("scope", "left"),
    [
        (scope_of(ALL, EVERYONE), set()),
        (scope_of(set(), EVERYONE), {"slurm.conf", "users", "qos", "exports"}),
        (scope_of({"base"}, EVERYONE), {"slurm.conf", "qos", "exports"}),
        (scope_of({"base", "storage", "accounting"}, EVERYONE), {"slurm.conf"}),
        # head is controller, database and storage: what belongs there is done, what belongs to every host is not.
        (scope_of(ALL, {"head"}), {"users"}),
        (scope_of(ALL, {"n1", "n2", "n3"}), {"slurm.conf", "users", "qos", "exports"}),
        (scope_of({"scheduler"}, {"head", "n1"}), {"users", "qos", "exports"}),
    ],
)
def test_a_part_is_done_when_every_host_that_it_concerns_has_it(scope: Scope, left: set[str], tmp_path: Path) -> None:
    before = deployed(tmp_path)
    site = site_of(tmp_path, *CHANGED)
    assert pending(before, described(site), scope, site) == left


def test_a_host_that_was_converged_alone_is_a_host_of_the_cluster(tmp_path: Path) -> None:
    before = deployed(tmp_path)
    site = site_of(tmp_path, ("login: {hosts: {head: }}", "login: {hosts: {head: , door: {ansible_host: 10.0.0.9}}}"))
    assert pending(before, described(site), scope_of({"scheduler"}, ["door"]), site) == {"hosts"}
    assert pending(before, described(site), scope_of(ALL, ["door"]), site) == set()


def test_a_node_that_was_lost_stays_to_be_added(tmp_path: Path) -> None:
    before = deployed(tmp_path)
    n4 = "    n3: {ansible_host: 10.0.0.13, slurm_node: {CPUs: 4, RealMemory: 4000}}\n"
    site = site_of(tmp_path, (n4, n4 + "    n4: {ansible_host: 10.0.0.14}\n"))
    merged = state.merge(before, described(site), scope_of(ALL, ["head", "n1", "n2", "n3"]), site)
    plan = plan_of(merged, site)
    assert [(change.part, change.name, change.action) for change in plan.changes] == [("nodes", "n4", "added")]
    assert "not measured yet, so without hardware here: n4" in plan.notes


def test_what_is_kept_can_be_read_again_and_by_nobody_else(tmp_path: Path) -> None:
    site = site_of(tmp_path)
    assert state.load(site.state_dir) == (None, "")
    assert state.record(site, described(site), scope_of(ALL, EVERYONE))
    path = site.state_dir / "deployed.json"
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700
    document = json.loads(path.read_text())
    assert document["schema"] == 1 and set(document["files"]) == {"slurm.conf", "cgroup.conf", "gres.conf"}
    assert set(document["parts"]) == set(PARTS) - set(SLURM)
    saved, trouble = state.load(site.state_dir)
    assert saved is not None and trouble == ""
    assert plan_of(saved, site).changes == ()


def test_a_run_that_did_nothing_writes_nothing(tmp_path: Path) -> None:
    site = site_of(tmp_path)
    assert not state.record(site, described(site), scope_of({"validate", "preflight"}, EVERYONE))
    assert not (site.state_dir / "deployed.json").exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 99, "cluster": "tiny"}', '{"schema": 1, "odd": 1}'])
def test_a_file_of_no_use_is_told_and_never_raises(text: str, tmp_path: Path) -> None:
    site = site_of(tmp_path)
    site.state_dir.mkdir(parents=True)
    (site.state_dir / "deployed.json").write_text(text)
    saved, trouble = state.load(site.state_dir)
    assert saved is None and "deployed.json" in trouble


def test_secrets_of_the_site_are_not_in_it(tmp_path: Path) -> None:
    from hpcprov import secrets
    from hpcprov.plan.description import of_site

    site = site_of(tmp_path)
    made = secrets.ensure(site.state_dir)
    state.record(site, of_site(site), scope_of(ALL, EVERYONE))
    text = (site.state_dir / "deployed.json").read_text()
    assert made.database_password.read_text() not in text
    assert made.munge_key.read_bytes().hex()[:32] not in text
    before = of_site(site)
    made.munge_key.unlink()
    secrets.ensure(site.state_dir)
    assert before.parts["munge"] != of_site(site).parts["munge"]
