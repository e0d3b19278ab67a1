"""Bootstrap without its script, which tests/e2e/test_discover.py runs: results, keys, names."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from cli.ssh_server import SshServer, generate
from hpcprov import console, main
from hpcprov.bootstrap.bootstrap import check_admin
from hpcprov.bootstrap.public_key import key_pair
from hpcprov.bootstrap.report import lines, summary
from hpcprov.bootstrap.steps import HostResult, Step, read_steps
from hpcprov.errors import UsageError

DONE = """
@@ sudo
yes

@@ steps
ok packages Python 3.11.2 is there
changed user made user ops
changed key added the key
changed sudo wrote /etc/sudoers.d/hpcprov-ops

@@ end
"""


def test_steps_are_read() -> None:
    result = read_steps("n1", DONE)
    assert not result.failed
    assert result.changed
    assert result.steps[1] == Step("changed", "user", "made user ops")


def test_a_refusal_has_a_reason_and_a_next_step() -> None:
    result = read_steps("n1", "\n@@ steps\nfailed login sshd takes no keys (PubkeyAuthentication no)\n\n@@ end\n")
    assert result.error == "sshd takes no keys (PubkeyAuthentication no)"
    assert result.hint == "change that in sshd_config first, or name another --admin"


def test_what_sudo_said_is_told() -> None:
    text = (
        "@@ sudo\nsudo: a password is required\n\n@@ steps\nfailed root the login user may not become root\n\n@@ end\n"
    )
    result = read_steps("n1", text)
    assert result.error == "the login user may not become root: sudo: a password is required"
    assert "--ask-password" in result.hint


def test_a_script_that_was_cut_off_is_a_failure() -> None:
    result = read_steps("n1", DONE.partition("changed key")[0])
    assert result.error == "the work did not come to its end: changed user made user ops"


def test_alike_results_are_told_together() -> None:
    ready = [read_steps(f"n{number}", "@@ steps\nok user x\n@@ end\n") for number in (1, 2, 3)]
    for result in ready:
        result.proved = True
    bad = HostResult("n4", [Step("changed", "user", "made user ops")], error="no", hint="do this")
    assert lines([*ready, bad], dry=False) == [
        "n[1-3]: nothing to change",
        "n4: FAILED: no (before that: made user ops)",
        "    next: do this",
    ]
    assert summary([*ready, bad], dry=False) == "4 hosts: 3 ready already, 1 failed"


def test_a_login_that_could_not_be_tried_is_not_called_proved() -> None:
    assert lines([read_steps("n1", DONE)], dry=False)[0].endswith(
        "the login was not tried: the private key is not here"
    )


def test_the_script_is_posix_shell() -> None:
    script = files("hpcprov.bootstrap").joinpath("script.sh").read_text()
    checked = subprocess.run(["dash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert checked.stderr == ""


def test_the_usual_key_of_the_caller(tmp_path: Path) -> None:
    (tmp_path / ".ssh").mkdir()
    private = generate(tmp_path / ".ssh" / "id_ed25519")
    pair = key_pair(None, None, tmp_path)
    assert pair.private == private
    assert pair.text == private.with_suffix(".pub").read_text().strip()


def test_the_key_beside_the_private_one(tmp_path: Path) -> None:
    private = generate(tmp_path / "cluster")
    assert key_pair(None, private, tmp_path).private == private
    private.unlink()
    assert key_pair(private.with_suffix(".pub"), None, tmp_path).private is None


def test_a_private_key_never_goes_to_a_host(tmp_path: Path) -> None:
    private = generate(tmp_path / "cluster")
    with pytest.raises(UsageError, match="is a private key"):
        key_pair(private, None, tmp_path)


def test_no_key_at_all(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        key_pair(None, None, tmp_path)
    assert error.value.hint == "make one: ssh-keygen -t ed25519; or name one with --public-key"


@pytest.mark.parametrize("name", ["root; reboot", "Ops", "-x", "a" * 33, "", "ops$"])
def test_names_that_no_user_has(name: str) -> None:
    with pytest.raises(UsageError, match="is no user name"):
        check_admin(name)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SshServer]:
    running = SshServer(tmp_path)
    console.err.cache_clear()
    yield running
    console.err.cache_clear()
    running.close()


def test_the_command_runs_the_script_and_then_logs_in_as_the_admin(
    server: SshServer, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter([DONE, "\n@@ proof\n0\npython\n@@ end\n", DONE, "\n@@ sudo\nno\n@@ proof\n1001\npython\n@@ end\n"])
    server.answer = lambda: next(answers)
    arguments = [
        "bootstrap", "127.0.0.1", "--port", str(server.port), "--key", str(server.client_key_file), "--known-hosts",
        str(server.known_hosts), "--admin", "ops", "--json",
    ]  # fmt: skip
    assert main.main(arguments) == 0
    result = json.loads(capsys.readouterr().out)["127.0.0.1"]
    assert (result["result"], result["proved"]) == ("changed", True)
    assert main.main(arguments) == 4
    result = json.loads(capsys.readouterr().out)["127.0.0.1"]
    assert result["error"] == "the login works, but sudo says: no"
