"""What a run may lose and still go on, and what it says in the end."""

from __future__ import annotations

from pathlib import Path

import pytest
from hpcprov.errors import ConvergeError, HostsError
from hpcprov.losses import Losses
from hpcprov.site import Site, load_site

SITE = """\
all:
  vars: {cluster_name: c, cluster_network: 10.0.0.0/24, nfs_backend: external, nfs_mounts: [{path: /shared}]}
controller: {hosts: {head: {ansible_host: 10.0.0.1}}}
database: {hosts: {head: }}
login: {hosts: {login1: {ansible_host: 10.0.0.2}, login2: {ansible_host: 10.0.0.3}}}
storage: {hosts: {store: {ansible_host: 10.0.0.4}}}
compute: {hosts: {n1: {ansible_host: 10.0.0.11}, n2: {ansible_host: 10.0.0.12}, n3: {ansible_host: 10.0.0.13}}}
"""
DEAD = HostsError("SSH does not answer: timed out", hint="is it on?")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    file = tmp_path / "site.yaml"
    file.write_text(SITE)
    return load_site(file)


@pytest.fixture
def losses(site: Site) -> Losses:
    return Losses(site, site.cluster_hosts)


def test_compute_nodes_and_further_login_hosts_may_be_missing(losses: Losses) -> None:
    assert losses.accept({"n2": DEAD, "login2": DEAD})
    assert [host.name for host in losses.remaining] == ["head", "login1", "store", "n1", "n3"]


@pytest.mark.parametrize("name", ["head", "store", "login1"])
def test_what_others_depend_on_may_not(losses: Losses, name: str) -> None:
    assert not losses.accept({name: DEAD, "n2": DEAD})
    assert losses.lost == {}


def test_somebody_must_be_left_to_compute(losses: Losses) -> None:
    assert losses.accept({"n1": DEAD, "n2": DEAD})
    assert not losses.accept({"n3": DEAD})


def test_no_loss_is_nothing_to_accept(losses: Losses) -> None:
    assert not losses.accept({})


def test_a_limit_to_the_lost_host_leaves_nobody(site: Site) -> None:
    assert not Losses(site, [site.hosts["n1"]]).accept({"n1": DEAD})


@pytest.mark.parametrize(
    ("given", "wanted"),
    [(None, "all:!n2"), ("compute", "compute:!n2"), ("n1,n2", "n1,n2,!n2"), ("compute:!n1", "compute:!n1:!n2")],
)
def test_ansible_is_told_to_leave_them_out(losses: Losses, given: str | None, wanted: str) -> None:
    assert losses.limit(given) == given
    losses.accept({"n2": DEAD})
    assert losses.limit(given) == wanted


def test_the_job_asks_for_no_more_nodes_than_are_left(losses: Losses) -> None:
    assert losses.smoke_nodes is None
    losses.accept({"n1": DEAD})
    assert losses.smoke_nodes is None  # two are enough
    losses.accept({"n2": DEAD})
    assert losses.smoke_nodes == 1


def test_the_end_names_who_is_missing_and_what_the_others_did(losses: Losses) -> None:
    losses.accept({"n1": DEAD, "n2": DEAD})
    error = losses.error(["base", "scheduler"])
    assert (type(error), error.exit_code, error.host) == (HostsError, 4, "n[1-2]")
    assert error.message == "SSH does not answer: timed out"
    assert error.why == "the other 5 hosts are done: base, scheduler"
    assert error.hint == "is it on?"


def test_a_role_that_failed_weighs_more_than_a_silent_host(losses: Losses) -> None:
    losses.accept({"n1": DEAD})
    losses.accept({"n2": ConvergeError("the disk is full", why='in role base, task "Install"')})
    error = losses.error(["base"], HostsError("the shared path is not mounted", host="n3"))
    assert error.exit_code == 5
    assert error.message == "2 hosts were lost"
    assert error.why == (
        "n1: SSH does not answer: timed out\nn2: the disk is full\nthe other 5 hosts are done: base\n"
        "then n3: the shared path is not mounted"
    )
