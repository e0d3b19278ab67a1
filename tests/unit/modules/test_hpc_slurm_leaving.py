"""A node that leaves the site file takes no running job with it."""

from __future__ import annotations

from typing import Any

import pytest
from module_loader import load_module

hpc_slurm_leaving = load_module("hpc_slurm_leaving")


class EndedError(Exception):
    """What exit_json or fail_json was called with."""


class Controller:
    """A controller with three nodes and two partitions; node03 and partition old have the given jobs."""

    def __init__(
        self,
        jobs: str = "",
        *,
        nodes: list[str],
        partitions: tuple[str, ...] = ("main", "old"),
        queued: str = "",
        force: bool = False,
        check: bool = False,
    ) -> None:
        self.params = {"nodes": nodes, "partitions": list(partitions), "force": force}
        self.jobs = jobs
        self.queued = queued
        self.check_mode = check
        self.answers = True
        self.updates: list[str] = []

    def run_command(self, command: list[str]) -> tuple[int, str, str]:
        if command[0] == "sinfo" and "%R" in command:
            return (0, "main\nold\n", "") if self.answers else (1, "", "no controller")
        if command[0] == "squeue" and "-p" in command:
            return 0, self.queued if "old" in command else "", ""
        if command[0] == "sinfo":
            return (0, "node01\nnode02\nnode03\nnode03\n", "") if self.answers else (1, "", "no controller")
        if command[0] == "squeue":
            return 0, self.jobs if "node03" in command else "", ""
        self.updates.append(" ".join(command))
        return 0, "", ""

    def exit_json(self, **result: Any) -> None:
        raise EndedError(result)

    def fail_json(self, **result: Any) -> None:
        raise EndedError({"failed": True, **result})


def run(monkeypatch: pytest.MonkeyPatch, controller: Controller) -> dict[str, Any]:
    monkeypatch.setattr(hpc_slurm_leaving, "AnsibleModule", lambda **_: controller)
    with pytest.raises(EndedError) as ended:
        hpc_slurm_leaving.main()
    told: dict[str, Any] = ended.value.args[0]
    return told


def test_nodes_that_stay_or_come_are_no_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = Controller(nodes=["node01", "node02", "node03", "node04"])
    assert run(monkeypatch, controller)["leaving"] == []


def test_an_empty_node_may_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = Controller(nodes=["node01", "node02"])
    told = run(monkeypatch, controller)
    assert told["leaving"] == ["node03"]
    assert told["hpcprov_notice"] == ["node03 left the cluster; slurmd may still run there"]
    assert controller.updates == []


def test_a_busy_node_is_drained_and_the_run_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = Controller("12\n13\n", nodes=["node01", "node02"])
    told = run(monkeypatch, controller)
    assert told["failed"] is True
    assert "node03: job 12, 13" in told["msg"]
    assert "squeue -w node03" in told["msg"]
    assert controller.updates == ["scontrol update nodename=node03 state=drain reason=hpcprov: leaves the cluster"]


def test_check_mode_drains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = Controller("12\n", nodes=["node01", "node02"], check=True)
    assert run(monkeypatch, controller)["failed"] is True
    assert controller.updates == []


def test_an_admin_may_insist(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = Controller("12\n", nodes=["node01", "node02"], force=True)
    assert run(monkeypatch, controller)["jobs"] == {"node03": ["12"]}
    assert controller.updates == []


def test_a_controller_that_does_not_run_yet_has_nothing_to_lose(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = Controller(nodes=["node01"])
    controller.answers = False
    assert run(monkeypatch, controller)["leaving"] == []


def test_a_partition_with_jobs_may_not_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    controller = Controller(nodes=["node01", "node02", "node03"], partitions=("main",), queued="5\n6\n")
    told = run(monkeypatch, controller)
    assert told["failed"] is True
    assert "partition old, in which 2 jobs are (5, 6)" in told["msg"]
    assert controller.updates == []


@pytest.mark.parametrize(("queued", "force"), [("", False), ("5\n", True)], ids=["empty", "insisted"])
def test_a_partition_may_leave(monkeypatch: pytest.MonkeyPatch, queued: str, force: bool) -> None:
    controller = Controller(nodes=["node01", "node02", "node03"], partitions=("main",), queued=queued, force=force)
    assert "failed" not in run(monkeypatch, controller)
