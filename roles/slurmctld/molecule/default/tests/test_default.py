"""Role slurmctld: the controller runs jobs by the site's configuration, and keeps them through a restart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

AS_USER = "runuser -u hpcsmoke -- "


@pytest.fixture
def head(nodes: Callable[[str], Any]) -> Any:
    return nodes("head")


def test_controller_is_up_and_starts_at_boot(head: Any) -> None:
    service = head.service("slurmctld")
    assert service.is_running and service.is_enabled
    assert "is UP" in head.check_output("scontrol ping")
    assert head.check_output("stat -c %u /proc/$(pgrep -x slurmctld)") == "64030"


# INV-17: controller and compute node in one
def test_job_runs(head: Any) -> None:
    assert head.check_output(f"cd / && {AS_USER} srun -n2 id -un </dev/null").split() == ["hpcsmoke", "hpcsmoke"]


def test_time_limit_of_a_partition_holds(head: Any) -> None:
    """A job that asks for more could never run and is refused at once, one that asks for exactly as much runs."""
    refused = head.run(f"cd /tmp && {AS_USER} sbatch --partition=short --time=31 --wrap=true")
    assert refused.rc != 0
    assert "time limit is invalid" in refused.stderr
    assert head.run(f"cd /tmp && {AS_USER} srun --partition=short --time=30 true </dev/null").rc == 0


def test_partitions_are_those_of_the_site(head: Any) -> None:
    assert head.check_output("sinfo -h -o '%P %l'").splitlines() == ["short 30:00", "main* 1-00:00:00"]


def test_free_keys_of_the_site_win(head: Any) -> None:
    assert "bf_window=2880" in head.check_output("scontrol show config | grep SchedulerParameters")


def test_node_has_the_figures_of_the_site(head: Any) -> None:
    assert head.check_output("sinfo -h -N -p main -o '%N %c %m %T'") == "head 2 1500 idle"


def test_running_job_survives_a_restart_of_the_controller(head: Any) -> None:
    job = head.check_output(f"cd /tmp && {AS_USER} sbatch --parsable --wrap='sleep 300'")
    wait(head, job, "RUNNING")
    head.check_output("systemctl restart slurmctld")
    wait(head, job, "RUNNING")
    head.check_output(f"scancel {job}")
    # Ended by us and by nobody else.
    wait(head, job, "CANCELLED")


def test_state_is_the_daemons_own(head: Any) -> None:
    state = head.file("/var/lib/slurm/slurmctld")
    assert (state.user, state.group) == ("slurm", "slurm")
    assert head.file("/var/lib/slurm/slurmctld/clustername").content_string.startswith("mol-slurmctld-")


def wait(head: Any, job: str, state: str, reason: str = "") -> None:
    """Poll until the job is in a state; Slurm answers again some seconds after a restart."""
    found = head.run(
        f"for try in $(seq 60); do now=$(scontrol show job {job} 2>&1);"
        f' case $now in *JobState={state}*Reason={reason}*) exit 0;; esac; sleep 0.5; done; echo "$now"; exit 1'
    )
    assert found.rc == 0, found.stdout
