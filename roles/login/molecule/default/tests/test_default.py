"""Role login: an ordinary user submits and follows jobs from a host that is neither controller nor node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

AS_ALICE = "runuser -l alice -c "


@pytest.fixture
def login(nodes: Callable[[str], Any]) -> Any:
    return nodes("login")


@pytest.fixture
def uses_sackd(login: Any) -> bool:
    """Slurm brings sackd from 23.11 on: Debian 13 has it."""
    return int(login.system_info.release.split(".")[0]) >= 13


# NET-11: an interactive job, which its node connects back to
def test_user_runs_a_job_and_sees_its_output(login: Any) -> None:
    said = login.check_output(AS_ALICE + "'srun sh -c \"hostname; id -un\"' </dev/null")
    assert said.splitlines() == ["head", "alice"]


def test_user_submits_and_cancels(login: Any) -> None:
    job = login.check_output(AS_ALICE + "\"sbatch --parsable --wrap='sleep 300'\"")
    login.check_output(AS_ALICE + f"'scancel {job}'")
    poll = f"for try in $(seq 60); do scontrol show job {job} | grep -q JobState=CANC && exit 0; sleep 1; done; exit 1"
    assert login.run(poll).rc == 0


# SLM-40
def test_nothing_runs_here_that_takes_jobs(login: Any) -> None:
    assert not login.package("slurmd").is_installed
    assert not login.package("slurmctld").is_installed


def test_configuration_is_the_controllers(login: Any, nodes: Callable[[str], Any], uses_sackd: bool) -> None:
    if uses_sackd:
        sackd = login.service("sackd")
        assert sackd.is_running and sackd.is_enabled
        assert not login.file("/etc/slurm/slurm.conf").exists
    else:
        own = login.file("/etc/slurm/slurm.conf").sha256sum
        assert own == nodes("head").file("/etc/slurm/slurm.conf").sha256sum
    log = nodes("head").file("/var/log/slurm/slurmctld.log").content_string
    assert "different slurm.conf" not in log


def test_limits_of_a_login_do_not_hinder(login: Any) -> None:
    assert login.check_output(AS_ALICE + "'sinfo -h -o %T'") == "idle"
