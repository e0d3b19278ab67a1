"""The shell script itself, in the shells at hand, and over a real SSH connection."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from cli.ssh_server import SshServer, generate
from hpcprov.preflight.ask import BECOME, ask, become_password, parameters, run_script
from hpcprov.preflight.calls import SCRIPT, parse_calls
from hpcprov.preflight.facts import parse
from hpcprov.remote import options
from hpcprov.remote.connection import ConnectionFailedError, Trouble
from hpcprov.site.scalars import Vaulted

from .cluster_look import site

PROBE = files("hpcprov.preflight").joinpath("probe.sh").read_text()
SHELLS = [shell for shell in ("sh", "dash", "bash", "ksh", "mksh", "busybox") if shutil.which(shell)]


def run(shell: str, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    words = [shell, "sh"] if shell == "busybox" else [shell]
    return subprocess.run(
        [*words, "-c", script], capture_output=True, text=True, timeout=120, check=False,
        env={"PATH": os.environ["PATH"], **environment},
    )  # fmt: skip


@pytest.mark.parametrize("shell", SHELLS)
def test_probe_runs_to_its_end(shell: str) -> None:
    made = site()
    before = time.time()
    done = run(shell, parameters(made, made.hosts["head"]) + PROBE)
    facts = parse(done.stdout, sent=before, received=time.time())
    assert (facts.complete, done.stderr, done.returncode) == (True, "", 0)
    assert facts.hostname == Path("/proc/sys/kernel/hostname").read_text().strip()
    assert facts.identity["instance"].count(" ") == 2
    assert facts.clock_bounds is not None
    low, high = facts.clock_bounds
    assert low <= 0.0 <= high
    assert facts.pythons[0].release >= (3, 8)
    assert facts.memory_mib == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    assert facts.mount_of("/") == "/" and facts.disk and facts.writable["/tmp"]
    assert facts.privileged is (os.geteuid() == 0)


def resolving(tmp_path: Path, answers: str) -> str:
    """The probe on a deployed host whose getent says this."""
    hosts = tmp_path / "hosts"
    hosts.write_text("# Ansible managed\n")
    getent = tmp_path / "getent"
    getent.write_text(f"#!/bin/sh\n[ $1 = ahostsv4 ] || exit 2\n{answers}\n")
    getent.chmod(0o755)
    return parameters(site(), site().hosts["head"]) + PROBE.replace("PATH=$PATH", f"PATH={tmp_path}:$PATH").replace(
        "/etc/hosts", str(hosts)
    )


@pytest.mark.parametrize("shell", SHELLS)
def test_only_names_that_lead_elsewhere_are_told(tmp_path: Path, shell: str) -> None:
    answers = """cat <<.
10.89.101.11    STREAM head.lab.internal
10.89.101.11    DGRAM
10.89.101.12    STREAM store
10.89.101.99    STREAM store
10.89.101.99    STREAM node01
10.89.101.21    STREAM node01
."""
    facts = parse(run(shell, resolving(tmp_path, answers)).stdout)
    assert facts.wrong_names == {"node01": "10.89.101.99", "node02": "nothing"}
    assert not facts.names_time_out


@pytest.mark.parametrize("shell", SHELLS)
def test_names_that_take_too_long(tmp_path: Path, shell: str) -> None:
    script = resolving(tmp_path, "exec sleep 60").replace("within 10 getent", "within 1 getent")
    facts = parse(run(shell, script).stdout)
    assert facts.names_time_out and not facts.wrong_names


@pytest.fixture
def listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def minimal(tmp_path: Path) -> str:
    """A PATH without `ss`, as on a host that lacks iproute2."""
    for program in ("ls", "grep", "awk", "sed", "tr", "cut", "sort", "date", "id", "cat", "head", "uname", "readlink"):
        found = shutil.which(program)
        assert found
        (tmp_path / program).symlink_to(found)
    return str(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="who listens is told to root only")
@pytest.mark.parametrize("with_ss", [True, False])
def test_listener_is_named(listener: int, tmp_path: Path, with_ss: bool) -> None:
    if with_ss and not shutil.which("ss"):
        pytest.skip("no ss here")
    script = f"ports={listener}\n" + PROBE
    if not with_ss:
        script = script.replace("PATH=$PATH:/usr/sbin:/usr/bin:/sbin:/bin\n", f"PATH={minimal(tmp_path)}\n")
    facts = parse(run("sh", script).stdout)
    (found,) = [entry for entry in facts.listeners if entry.port == listener]
    assert found.pid == os.getpid()
    assert found.program == Path("/proc/self/comm").read_text().strip()


@pytest.mark.skipif(os.geteuid() != 0, reason="open files of others are seen by root only")
def test_lock_holder_is_named(tmp_path: Path) -> None:
    lock = tmp_path / "lock-frontend"
    with lock.open("w") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        facts = parse(run("sh", PROBE.replace("/var/lib/dpkg/lock-frontend", str(lock))).stdout)
    (holder,) = [entry for entry in facts.lock_holders if entry.lock == str(lock)]
    assert holder.pid == os.getpid() and "python" in holder.command
    # The file is there, the lock is not.
    facts = parse(run("sh", PROBE.replace("/var/lib/dpkg/lock-frontend", str(lock))).stdout)
    assert not [entry for entry in facts.lock_holders if entry.lock == str(lock)]


def test_packages_half_installed(tmp_path: Path) -> None:
    (tmp_path / "0001").touch()
    script = "dpkg() { :; }\n" + PROBE.replace("/var/lib/dpkg/updates", str(tmp_path))
    assert parse(run("sh", script).stdout).lines("package-database") == ("interrupted",)
    (tmp_path / "0001").unlink()
    assert parse(run("sh", script).stdout).lines("package-database") == ()


SUDO = """#!/bin/sh
case $1 in
  -n) {asks}; shift ;;
  -S) read -r given; [ "$given" = secret ] || {{ echo "Sorry, try again." >&2; exit 1; }}; shift 3 ;;
esac
PROBED_BY=sudo "$@"
"""


@pytest.mark.parametrize(
    ("asks", "password", "said", "by"),
    [
        (":", "", "yes", "sudo"),
        ("echo 'sudo: a password is required' >&2; exit 1", "", "sudo: a password is required", ""),
        ("exit 1", "secret", "yes", "sudo"),
        ("exit 1", "wrong", "Sorry, try again.", ""),
    ],
)
def test_becoming_root(tmp_path: Path, asks: str, password: str, said: str, by: str) -> None:
    """The script runs once, whichever way sudo goes; the password is never an argument."""
    (tmp_path / "sudo").write_text(SUDO.format(asks=asks))
    (tmp_path / "id").write_text("#!/bin/sh\necho 1000\n")
    for program in ("sudo", "id"):
        (tmp_path / program).chmod(0o755)
    script = 'echo "@@ identity"; echo "by=$PROBED_BY"; echo "@@ end"'
    done = subprocess.run(
        ["/bin/sh", "-c", BECOME], input=f"{password}\n{script}\n", capture_output=True, text=True, check=True,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, timeout=30,
    )  # fmt: skip
    facts = parse(done.stdout)
    assert (facts.sudo, facts.identity["by"]) == (said, by)
    assert done.stdout.count("@@ end") == 1 and done.stderr == ""


def test_become_password_is_what_the_site_gives() -> None:
    assert become_password(site({"ansible_become_password": "secret"}).hosts["head"]) == "secret"
    assert become_password(site({"ansible_become_password": "{{ vault }}"}).hosts["head"]) is None
    assert become_password(site({"ansible_become_pass": Vaulted("$ANSIBLE_VAULT;1.1;AES256")}).hosts["head"]) is None
    assert become_password(site().hosts["head"]) == ""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshServer]:
    monkeypatch.setattr(options, "CONFIG_FILES", ())
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    server = SshServer(tmp_path)
    yield server
    server.close()


def test_all_hosts_are_asked_and_all_failures_told(server: SshServer, tmp_path: Path) -> None:
    hosts = [
        server.host("good"),
        server.host("off", port=1),
        server.host("locked", ssh_key=str(generate(tmp_path / "stranger"))),
        server.host("new", ssh_args="-o UserKnownHostsFile=none -o GlobalKnownHostsFile=none"),
        server.host("lost", address="no-such-host.invalid"),
    ]
    answers = ask(site(), hosts)
    assert list(answers.facts) == ["good"]
    assert answers.facts["good"].complete
    assert {name: error.trouble for name, error in answers.failures.items()} == {
        "off": Trouble.UNREACHABLE,
        "locked": Trouble.AUTHENTICATION,
        "new": Trouble.HOST_KEY,
        "lost": Trouble.ADDRESS,
    }


def test_host_without_working_commands(server: SshServer) -> None:
    server.path = "/nonexistent"
    error = ask(site(), [server.host("node01")]).failures["node01"]
    assert error.trouble is Trouble.SSH
    assert error.message.startswith("cannot run a shell command: ")


def test_host_that_hangs(server: SshServer) -> None:
    with pytest.raises(ConnectionFailedError, match="accepts the login, then says nothing for 1 s") as caught:
        run_script(server.host(), "sleep 5", limit=1)
    assert caught.value.trouble is Trouble.SSH


def test_who_is_waited_for_is_said(server: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hpcprov.preflight.ask.REPORT_SECONDS", 0.05)
    said: list[str] = []
    ask(site(), [server.host("node01"), server.host("node02")], said.append)
    assert "0 of 2 hosts have answered; waiting for node[01-02]" in said


@pytest.mark.skipif(not shutil.which("bash"), reason="bash makes the connections")
def test_calls(listener: int) -> None:
    open_port, closed_port = listener, 1
    done = run("sh", f"targets='127.0.0.1 {open_port} 127.0.0.1 {closed_port}'\n{SCRIPT}")
    calls = {
        ("127.0.0.1", open_port): ("a", "b", open_port),
        ("127.0.0.1", closed_port): ("a", "b", closed_port),
    }
    assert parse_calls(done.stdout, calls) == {("a", "b", open_port): "open", ("a", "b", closed_port): "refused"}
    assert done.stderr == ""
