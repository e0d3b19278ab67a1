"""A failed task becomes host, role, task and a reason in a sentence."""

from __future__ import annotations

from typing import Any

import pytest
from hpcprov.ansible.events import HostStats, Status, TaskEnded
from hpcprov.ansible.failures import Failure, from_event, grouped, real, reason

CASES: dict[str, tuple[dict[str, Any], str]] = {
    "plain message": ({"msg": "munge did not start"}, "munge did not start"),
    "command": (
        {"cmd": ["slurmctld", "-V"], "rc": 127, "stderr": "sh: slurmctld: not found\n", "msg": "non-zero return code"},
        "`slurmctld -V` ended with 127: sh: slurmctld: not found",
    ),
    "silent command": ({"cmd": "false", "rc": 1, "msg": "non-zero"}, "`false` ended with 1 and said nothing"),
    "apt": (
        {
            "msg": "'/usr/bin/apt-get -y install 'slurmd'' failed: E: Unable to locate package slurmd\n",
            "stderr": "E: Unable to locate package slurmd\n",
        },
        "'/usr/bin/apt-get -y install 'slurmd'' failed: E: Unable to locate package slurmd",
    ),
    "error line before the last": (
        {"msg": "configuration refused", "stderr": "reading\nfatal: Duplicated NodeHostName c1\nbye"},
        "configuration refused: fatal: Duplicated NodeHostName c1",
    ),
    "crashed module": (
        {"msg": "MODULE FAILURE: No start of json", "module_stderr": "Traceback:\n  File x\nKeyError: 'nodes'\n"},
        "KeyError: 'nodes'",
    ),
    "exception only": ({"exception": "Traceback:\n  File x\nOSError: disk full\n"}, "OSError: disk full"),
    "attempts": ({"msg": "not active.", "attempts": 30}, "not active (after 30 attempts)"),
    "nothing": ({}, "the module gave no reason"),
    "secret": (
        {"censored": "the output has been hidden"},
        "the task handles a secret, so Ansible hides what it said; the journal of the host may say more",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_reason(name: str) -> None:
    result, sentence = CASES[name]
    assert reason(result) == sentence


def test_a_long_reason_is_cut() -> None:
    assert len(reason({"msg": "x" * 5000})) == 400


def event(host: str = "node01", status: Status = Status.FAILED, **result: Any) -> TaskEnded:
    return TaskEnded(host, "munge", "service | Munge runs", "/r/munge/tasks/service.yml:3", status, result=result)


def test_failure_with_journal() -> None:
    failure = from_event(event(msg="munge did not start", journal=["line 1", "munged: Error: Key is too short "]))
    assert failure == Failure(
        host="node01",
        role="munge",
        task="service | Munge runs",
        path="/r/munge/tasks/service.yml:3",
        reason="munge did not start",
        journal=("line 1", "munged: Error: Key is too short"),
    )
    assert failure.where == 'role munge, task "service | Munge runs" (/r/munge/tasks/service.yml:3)'


def test_loop_names_the_failed_element() -> None:
    failure = from_event(
        event(msg="One or more items failed", results=[{"msg": "fine"}, {"failed": True, "msg": "no"}])
    )
    assert failure.reason == "no"


@pytest.mark.parametrize(
    "message",
    [
        "Failed to connect to the host via ssh: Warning: x\r\nssh: connect to host 10.0.0.9 port 22: No route to host",
        'Data could not be sent to remote host "10.0.0.9". Make sure this host can be reached over ssh: '
        "ssh: connect to host 10.0.0.9 port 22: No route to host",
        "Task failed: Failed to connect to the host via ssh: "
        "ssh: connect to host 10.0.0.9 port 22: No route to host\r\n",
    ],
)
def test_unreachable_keeps_what_ssh_said(message: str) -> None:
    failure = from_event(event(status=Status.UNREACHABLE, msg=message))
    assert failure.reason == ("cannot be reached over SSH: ssh: connect to host 10.0.0.9 port 22: No route to host")


def test_only_hosts_that_ended_failed_are_told() -> None:
    rescued, broken = from_event(event("node01", msg="a")), from_event(event("node02", msg="b"))
    stats = {"node01": HostStats(ok=3, rescued=1), "node02": HostStats(failed=1)}
    assert real([rescued, broken], stats) == [broken]
    assert real([rescued, broken], None) == [rescued, broken]


def test_the_same_failure_on_many_hosts_is_one() -> None:
    failures = [from_event(event(f"node{n}", msg=f"node{n} has no key")) for n in range(3)]
    other = from_event(event("head", msg="other"))
    assert [hosts for hosts, _ in grouped([*failures, other])] == [["node0", "node1", "node2"], ["head"]]


def test_a_missing_vault_password_is_told_as_such() -> None:
    message = (
        "Task failed: Finalization of task args for 'hpc_files' failed: The lookup plugin 'ansible.builtin.unvault' "
        "failed: Attempting to decrypt but no vault secrets found."
    )
    assert reason({"msg": message}) == (
        "a file that it needs is encrypted with ansible-vault and no password was given: "
        "name a file with the password in ANSIBLE_VAULT_PASSWORD_FILE"
    )
