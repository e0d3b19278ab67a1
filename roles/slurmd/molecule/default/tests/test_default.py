"""Role slurmd: every node takes its configuration from the controller and runs real jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

AS_USER = "cd /tmp && runuser -u hpcsmoke -- "


@pytest.fixture
def head(nodes: Callable[[str], Any]) -> Any:
    return nodes("head")


@pytest.mark.parametrize("name", ["node01", "node02"])
def test_job_runs_on_each_node(head: Any, name: str) -> None:
    assert head.check_output(f"{AS_USER} srun -w {name} hostname </dev/null") == name


def test_job_runs_across_both_nodes(head: Any) -> None:
    said = head.check_output(
        f"{AS_USER} srun -N2 --ntasks-per-node=1 sh -c 'echo $SLURM_PROCID $(hostname)' </dev/null"
    )
    assert sorted(said.splitlines()) == ["0 node01", "1 node02"]


# SLM-39: the paths of either release
@pytest.mark.groups("compute")
def test_configuration_comes_from_the_controller_only(node: Any) -> None:
    assert not node.file("/etc/slurm/slurm.conf").exists
    cached = node.check_output(
        "cat /var/lib/slurm/slurmd/conf-cache/slurm.conf /run/slurm/conf/slurm.conf 2>/dev/null || true"
    )
    assert "ClusterName=mol-slurmd-" in cached


@pytest.mark.groups("compute")
def test_daemon_starts_at_boot_after_munge(node: Any) -> None:
    service = node.service("slurmd")
    assert service.is_running and service.is_enabled
    assert "munge.service" in node.check_output("systemctl show -P After slurmd").split()


def test_nodes_have_the_figures_of_the_site(head: Any) -> None:
    found = head.check_output("sinfo -h -N -o '%N %c %m %f %T'").splitlines()
    assert found == ["node01 2 1200 (null) idle", "node02 1 1100 big idle"]


def test_gpu_of_a_node_is_found_counted_and_given_to_jobs(head: Any) -> None:
    """SLM-27, SLM-30, SLM-32: its file is written, the count is the node's own, and slurmctld drains nobody."""
    assert head.check_output("sinfo -h -N -o '%N %G %T'").splitlines() == ["node01 gpu:1 idle", "node02 (null) idle"]
    assert head.file("/etc/slurm/gres.conf").content_string.splitlines()[-1] == (
        "NodeName=node01 Name=gpu File=/dev/nvidia0"
    )
    given = head.check_output(f"{AS_USER} srun --gres=gpu:1 sh -c 'hostname; echo $CUDA_VISIBLE_DEVICES' </dev/null")
    assert given.split() == ["node01", "0"]
    assert head.run(f"{AS_USER} sbatch --gres=gpu:2 --wrap=true").rc != 0


def test_more_memory_than_a_node_has_is_refused(head: Any) -> None:
    refused = head.run(f"{AS_USER} sbatch --mem=1201 --wrap=true")
    assert refused.rc != 0
    assert "configuration is not available" in refused.stderr


def test_running_job_survives_a_restart_of_the_daemon(head: Any, nodes: Callable[[str], Any]) -> None:
    job = head.check_output(f"{AS_USER} sbatch --parsable -w node01 -o /tmp/survivor --wrap='sleep 8; echo survived'")
    poll(head, f"squeue -h -j {job} -o %T | grep -x RUNNING")
    nodes("node01").check_output("systemctl restart slurmd")
    poll(head, f"scontrol show job {job} | grep JobState=COMPLETED")
    assert nodes("node01").file("/tmp/survivor").content_string == "survived\n"


def test_a_node_that_was_away_comes_back_by_itself(head: Any, nodes: Callable[[str], Any]) -> None:
    nodes("node02").check_output("systemctl stop slurmd")
    head.check_output("scontrol update nodename=node02 state=down reason=test")
    nodes("node02").check_output("systemctl start slurmd")
    poll(head, "sinfo -h -n node02 -o %T | grep -x idle")
    assert head.check_output(f"{AS_USER} srun -w node02 hostname </dev/null") == "node02"


def poll(host: Any, command: str) -> None:
    """Wait until a command succeeds; say what it said last."""
    found = host.run(f"for try in $(seq 120); do {command} && exit 0; sleep 0.5; done; sinfo -R; squeue; exit 1")
    assert found.rc == 0, found.stdout + found.stderr
