"""From Ansible's events to phases, results and the error that the admin reads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hpcprov import converge
from hpcprov.ansible import runner
from hpcprov.ansible.events import ErrorShown, Event, HostStats, PlayStarted, Status, TaskEnded, TaskStarted
from hpcprov.clock import Clock
from hpcprov.errors import ConvergeError, HostsError
from hpcprov.phases import Phase
from hpcprov.progress import Progress
from hpcprov.results import Result

REQUEST = runner.Request([], Path("site.yaml"), Path("run"))


class Stage:
    """A converge whose Ansible run is played from a list."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch
        self.result = Result(site="/s", hpcprov="0", started="now")
        self.lines: list[str] = []
        progress = Progress(record=self.lines.append)
        self.clock = Clock(progress, self.result, lambda: None)
        self.converge = converge.Converge(self.result, progress, self.clock)

    def play(
        self,
        *events: Event,
        code: int = 0,
        interrupted: bool = False,
        request: runner.Request = REQUEST,
        **stats: HostStats,
    ) -> None:
        def run(_request: object, *, on_event: Any, **_: Any) -> runner.Outcome:
            for event in events:
                on_event(event)
            return runner.Outcome(code, interrupted, stats or None)

        self.monkeypatch.setattr(runner, "run", run)
        self.clock.begin(Phase.BASE)
        self.converge.run(request)

    def phases(self) -> list[tuple[str, str]]:
        return [(phase.name, phase.status) for phase in self.result.phases]


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return Stage(monkeypatch)


def ended(host: str, status: Status = Status.OK, ignored: bool = False, **result: Any) -> TaskEnded:
    return TaskEnded(host, "munge", "Munge runs", "/r/service.yml:1", status, ignored, result)


def test_phases_hosts_and_services(stage: Stage) -> None:
    stage.play(
        PlayStarted("Base | Names"),
        TaskStarted("base", "Names"),
        ended("head", Status.CHANGED, restarted=["chrony"]),
        PlayStarted("Base | More"),
        ended("node01", Status.CHANGED, started=["munge"], restarted=[]),
        PlayStarted("Scheduler | Controller"),
        ended("head", ansible_facts={"hpcprov_notice": ["proctrack is linuxproc"]}),
        ended("head", hpcprov_notice="proctrack is linuxproc", nfs_backend="kernel"),
        head=HostStats(ok=3, changed=1),
        node01=HostStats(ok=1, changed=1),
    )
    assert stage.phases() == [("base", "done"), ("scheduler", "done")]
    assert stage.result.hosts["head"].model_dump() == {
        "ok": 3, "changed": 1, "failed": 0, "unreachable": 0, "restarted": ["chrony"], "started": [],
        "groups": [], "os": None,
    }  # fmt: skip
    assert stage.result.hosts["node01"].started == ["munge"]
    assert stage.result.notices == ["proctrack is linuxproc"]
    assert stage.result.nfs_backend == "kernel"
    assert any(line.startswith("base ") and "changed: head 1, node01 1" in line for line in stage.lines)
    assert any(line.startswith("scheduler ") and "nothing changed" in line for line in stage.lines)


CHANGE = {
    "changed_files": ["/etc/motd"],
    "restarted": ["munge"],
    "diff": [{"before_header": "/etc/motd", "after_header": "/etc/motd", "before": "old\n", "after": "new\n"}],
}
HEADING = "  node01: munge: Munge runs (/etc/motd; restarted: munge)"
DIFF = ["    --- /etc/motd", "    +++ /etc/motd", "    @@ -1 +1 @@", "    -old", "    +new"]


@pytest.mark.parametrize(
    ("check", "diff", "shown"),
    [(False, False, []), (True, False, [HEADING]), (False, True, [HEADING, *DIFF]), (True, True, [HEADING, *DIFF])],
)
def test_check_names_what_would_change_and_diff_shows_it(
    stage: Stage, check: bool, diff: bool, shown: list[str]
) -> None:
    stage.play(
        PlayStarted("Base | Names"),
        ended("node01", Status.CHANGED, changed=True, **CHANGE),
        ended("node02", changed=False, **CHANGE),
        request=replace(REQUEST, check=check, diff=diff),
        node01=HostStats(ok=1, changed=1),
    )
    assert [line for line in stage.lines if line.startswith("  ")] == shown
    assert stage.lines[-1].endswith("  would change: node01 1" if check else "  changed: node01 1")


def test_diff_without_a_terminal_tells_what_ansible_would(stage: Stage) -> None:
    loop = {
        "results": [{"changed": True, "diff": {"prepared": "+ curl"}}, {"changed": False, "diff": {"prepared": "-"}}]
    }
    attributes = {"diff": {"before": {"mode": "0644"}, "after": {"mode": "0600"}}}
    stage.play(
        ended("node01", Status.CHANGED, changed=True, **loop),
        ended("node01", Status.CHANGED, changed=True, **attributes),
        ended("node01", Status.CHANGED, changed=True, diff=[{"src_binary": 1}]),
        request=replace(REQUEST, diff=True),
        node01=HostStats(ok=3, changed=3),
    )
    assert [line for line in stage.lines if line.startswith("    ")] == [
        "    + curl",
        "    --- before",
        "    +++ after",
        "    @@ -1,3 +1,3 @@",
        "     {",
        '    -  "mode": "0644"',
        '    +  "mode": "0600"',
        "     }",
        "    no diff: the new content is binary",
    ]


def test_smoke_preparation_waits_for_the_job_with_its_line(stage: Stage) -> None:
    stage.play(PlayStarted("Smoke | The job is in place"), ended("head"), head=HostStats(ok=1))
    assert stage.phases() == [("base", "done")]
    assert not any(line.startswith("smoke ") and " s " in line for line in stage.lines)
    stage.clock.begin(Phase.SMOKE)
    stage.clock.end("test accuracy 0.97")
    assert stage.phases() == [("base", "done"), ("smoke", "done")]


def test_failure_names_host_role_task_reason_and_journal(stage: Stage) -> None:
    with pytest.raises(ConvergeError) as caught:
        stage.play(
            PlayStarted("Base | Names"),
            ended("node01", Status.FAILED, msg="munge did not start", journal=["Key is too short"]),
            ended("node02", Status.FAILED, msg="disk full"),
            PlayStarted("Scheduler | Controller"),
            ended("head"),
            code=2,
            head=HostStats(ok=1),
            node01=HostStats(failed=1),
            node02=HostStats(failed=1),
        )
    error = caught.value
    assert (error.exit_code, error.host, error.message) == (5, "node01", "munge did not start")
    assert error.why == (
        'in role munge, task "Munge runs" (/r/service.yml:1)\n'
        'node02: role munge, task "Munge runs" (/r/service.yml:1): disk full'
    )
    assert error.journal == ["Key is too short"]
    assert stage.phases() == [("base", "failed"), ("scheduler", "done")]
    assert stage.result.failures[0].model_dump() == {
        "phase": "base", "host": "node01", "role": "munge", "task": "Munge runs", "reason": "munge did not start",
        "journal": ["Key is too short"], "fix": None,
    }  # fmt: skip
    assert "  node01: munge did not start" in stage.lines


def test_lost_hosts_are_exit_code_4(stage: Stage) -> None:
    with pytest.raises(HostsError, match="cannot be reached over SSH: No route") as caught:
        stage.play(
            PlayStarted("Base | Names"),
            ended("node01", Status.UNREACHABLE, msg="Failed to connect to the host via ssh: No route to host"),
            code=4,
            node01=HostStats(unreachable=1),
        )
    assert caught.value.exit_code == 4


def test_ignored_and_rescued_failures_do_not_count(stage: Stage) -> None:
    stage.play(
        PlayStarted("Base | Names"),
        ended("head", Status.FAILED, ignored=True, msg="a probe"),
        ended("head", Status.FAILED, msg="tried"),
        ended("head", Status.OK),
        head=HostStats(ok=2, rescued=1),
    )
    assert stage.phases() == [("base", "done")]
    assert stage.result.failures == []


def test_nobody_converged_is_no_success(stage: Stage) -> None:
    with pytest.raises(ConvergeError, match="Ansible ran no task on any host"):
        stage.play(code=0)


def test_playbook_that_cannot_be_read(stage: Stage) -> None:
    with pytest.raises(ConvergeError, match="the role 'storage' was not found"):
        stage.play(ErrorShown("the role 'storage' was not found in /roles"), code=4)


def test_interrupted(stage: Stage) -> None:
    with pytest.raises(KeyboardInterrupt):
        stage.play(PlayStarted("Base | Names"), ended("head"), code=99, interrupted=True)
    assert stage.phases() == [("base", "interrupted")]
