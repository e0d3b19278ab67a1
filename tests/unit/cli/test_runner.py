"""The runner against tiny playbooks on this machine."""

from __future__ import annotations

import json
import os
import signal
import stat
import threading
import time
from pathlib import Path

import pytest
from hpcprov.ansible import failures
from hpcprov.ansible.events import (
    ErrorShown,
    Event,
    PlayStarted,
    RunEnded,
    Status,
    TaskEnded,
    TaskStarted,
    TaskStartedOnHost,
)
from hpcprov.ansible.runner import Outcome, Request, run

INVENTORY = """\
all:
  hosts:
    one: {ansible_connection: local}
    two: {ansible_connection: local}
    # nobody listens on port 1
    gone: {ansible_host: 127.0.0.1, ansible_port: 1, ansible_ssh_common_args: -o BatchMode=yes}
  vars: {ansible_python_interpreter: "{{ ansible_playbook_python }}"}
"""


class Bench:
    """A folder with an inventory and playbooks, and what a run of them said."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events: list[Event] = []
        self.output: list[str] = []
        (folder / "site.yaml").write_text(INVENTORY)

    def playbook(self, name: str, text: str) -> Path:
        path = self.folder / f"{name}.yml"
        path.write_text(text)
        return path

    def run(self, *playbooks: Path, **options: object) -> Outcome:
        request = Request(playbooks, self.folder / "site.yaml", self.folder / "run", **options)  # type: ignore[arg-type]
        return run(
            request,
            on_event=self.events.append,
            on_output=self.output.append,
            on_stop=lambda: self.output.append("stopping"),
        )

    def failures(self) -> list[failures.Failure]:
        return [
            failures.from_event(event)
            for event in self.events
            if isinstance(event, TaskEnded) and event.status in (Status.FAILED, Status.UNREACHABLE)
        ]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


PLAY = """\
- name: {phase} | Something
  hosts: {hosts}
  gather_facts: false
  tasks: {tasks}
"""


def play(phase: str, hosts: str, *tasks: str) -> str:
    return PLAY.format(phase=phase, hosts=hosts, tasks="[" + ", ".join(tasks) + "]")


def test_success_in_one_run_with_phases_and_stats(bench: Bench) -> None:
    first = bench.playbook("base", play("base", "one:two", "{name: Say, ansible.builtin.debug: {msg: x}}"))
    second = bench.playbook(
        "storage",
        play("storage", "one", "{name: Touch, ansible.builtin.command: echo, changed_when: true}"),
    )
    outcome = bench.run(first, second)

    assert outcome.return_code == 0 and not outcome.interrupted
    assert [event.phase for event in bench.events if isinstance(event, PlayStarted)] == ["base", "storage"]
    assert [event.task for event in bench.events if isinstance(event, TaskStarted)] == ["Say", "Touch"]
    assert {event.host for event in bench.events if isinstance(event, TaskStartedOnHost)} == {"one", "two"}
    assert outcome.stats is not None
    assert (outcome.stats["one"].ok, outcome.stats["one"].changed) == (2, 1)
    assert (outcome.stats["two"].ok, outcome.stats["two"].changed) == (1, 0)
    assert any(line.startswith("PLAY RECAP") for line in bench.output)
    assert not any("\x1b" in line for line in bench.output)


def test_no_environment_and_no_arguments_stay_on_disk(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SITE_TOKEN", "do-not-keep-me")
    book = bench.playbook(
        "base", play("base", "one", "{name: Argument, ansible.builtin.command: echo other, no_log: true}")
    )
    bench.run(book, verbosity=3)
    folder = bench.folder / "run"
    kept = sorted(path.name for path in folder.rglob("*") if path.is_file())
    assert kept == ["events.jsonl", "playbook.yml"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    events = (folder / "events.jsonl").read_text()
    assert "do-not-keep-me" not in events and "echo other" not in events
    assert [json.loads(line)["event"] for line in events.splitlines()][-1] == "playbook_on_stats"


def test_host_keys_are_checked_though_ansible_runner_would_not(bench: Bench) -> None:
    book = bench.playbook(
        "base",
        play(
            "base", "one", "{name: Show, ansible.builtin.debug: {msg: \"{{ lookup('config', 'HOST_KEY_CHECKING') }}\"}}"
        ),
    )
    bench.run(book)
    shown = [event.result["msg"] for event in bench.events if isinstance(event, TaskEnded)]
    assert shown == [True]


def test_failing_task_on_one_host(bench: Bench) -> None:
    book = bench.playbook(
        "base",
        play(
            "base",
            "one:two",
            "{name: Break, ansible.builtin.command: sh -c 'echo the disk is full >&2; exit 3',"
            " when: inventory_hostname == 'two'}",
        ),
    )
    outcome = bench.run(book)
    assert outcome.return_code == 2
    (failure,) = failures.real(bench.failures(), outcome.stats)
    assert (failure.host, failure.task, failure.unreachable) == ("two", "Break", False)
    assert failure.reason == "`sh -c echo the disk is full >&2; exit 3` ended with 3: the disk is full"


def test_unreachable_host(bench: Bench) -> None:
    outcome = bench.run(bench.playbook("base", play("base", "gone", "{name: Ping, ansible.builtin.ping: }")))
    assert outcome.return_code == 4
    assert outcome.stats is not None and outcome.stats["gone"].unreachable == 1
    (failure,) = failures.real(bench.failures(), outcome.stats)
    assert failure.unreachable
    # What ssh said; where it ended before Ansible could write to it, Ansible's own words.
    said = failure.reason.removeprefix("cannot be reached over SSH: ")
    assert said.startswith(
        ("ssh: connect to host 127.0.0.1 port 1", "Data could not be sent to remote host '127.0.0.1'")
    )


def test_check_mode_changes_nothing(bench: Bench) -> None:
    target = bench.folder / "made"
    book = bench.playbook(
        "base",
        play(
            "base", "one", f"{{name: Make, ansible.builtin.file: {{path: {target}, state: directory, mode: '0755'}}}}"
        ),
    )
    outcome = bench.run(book, check=True, diff=True)
    assert outcome.return_code == 0
    assert outcome.stats is not None and outcome.stats["one"].changed == 1
    assert not target.exists()


def test_rescued_failure_is_not_a_failure(bench: Bench) -> None:
    book = bench.playbook(
        "base",
        play(
            "base",
            "one",
            "{name: Try, block: [{name: Break, ansible.builtin.command: 'false'}],"
            " rescue: [{name: Mend, ansible.builtin.debug: {msg: x}}]}",
        ),
    )
    outcome = bench.run(book)
    assert outcome.return_code == 0
    assert len(bench.failures()) == 1
    assert failures.real(bench.failures(), outcome.stats) == []


def test_playbook_that_cannot_be_read_is_told(bench: Bench) -> None:
    outcome = bench.run(bench.playbook("base", "- hosts: all\n  nonsense: 1\n"))
    assert outcome.return_code == 4 and outcome.stats is None
    shown = [event.text for event in bench.events if isinstance(event, ErrorShown)]
    assert any("nonsense" in text for text in shown), bench.output


def test_ctrl_c_stops_in_an_orderly_way(bench: Bench) -> None:
    book = bench.playbook("base", play("base", "one", "{name: Wait, ansible.builtin.command: sleep 60}"))
    before = signal.getsignal(signal.SIGINT)  # a shell that runs the tests in the background ignores it
    threading.Timer(3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    started = time.monotonic()
    outcome = bench.run(book)
    assert outcome.interrupted
    assert "stopping" in bench.output
    assert time.monotonic() - started < 20
    assert not any(isinstance(event, RunEnded) for event in bench.events)
    assert signal.getsignal(signal.SIGINT) is before
