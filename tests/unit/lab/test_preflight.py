"""A host that cannot run the lab is told everything at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hpcprov.errors import LabError
from hpcprov.lab.host import CgroupLayout, HostFacts
from hpcprov.lab.preflight import advice, can_ask_podman, preflight, require

Facts = Callable[..., HostFacts]


def test_a_good_host_has_no_problems(facts: Facts) -> None:
    assert preflight(facts()) == []


def test_everything_is_listed_with_one_apt_command(facts: Facts) -> None:
    host = facts(
        without=("podman", "runc", "crun", "mmdebstrap"), root=False, podman_version=(), disk_free=1 << 30,
        memory_available=1 << 30,
    )  # fmt: skip
    with pytest.raises(LabError) as caught:
        require(preflight(host))
    assert caught.value.exit_code == 4
    why, hint = caught.value.why or "", caught.value.hint or ""
    for words in (
        "podman is not installed",
        "OCI runtime",
        "mmdebstrap",
        "need root",
        "1.0 GiB are free under",
        "memory",
    ):
        assert words in why
    assert hint.startswith("apt-get install -y podman runc mmdebstrap; run hpcprov as root")


def test_an_image_that_exists_needs_no_builder(facts: Facts) -> None:
    host = facts(without=("mmdebstrap",), keyrings=())
    assert [problem.package for problem in preflight(host)] == ["mmdebstrap", "debian-archive-keyring"]
    assert preflight(host, build=False) == []


def test_nodes_that_run_already_need_no_room(facts: Facts) -> None:
    assert preflight(facts(memory_available=1 << 30), room=False) == []


def test_crun_alone_does_not_help_on_a_hybrid_host(facts: Facts) -> None:
    host = facts(without=("runc",), cgroups=CgroupLayout.HYBRID)
    (problem,) = preflight(host)
    assert problem.package == "runc"
    assert "hybrid" in problem.what
    assert not can_ask_podman(host)


def test_an_old_podman_is_named(facts: Facts) -> None:
    (problem,) = preflight(facts(podman_version=(3, 4)))
    assert problem.what == "podman 3.4 is too old, 4.0 or newer is needed"


def test_the_same_package_is_named_once() -> None:
    from hpcprov.lab.preflight import Problem

    assert advice([Problem("a", "p"), Problem("b", "p", "do"), Problem("c", hint="do")]) == "apt-get install -y p; do"
