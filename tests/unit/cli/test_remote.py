"""SSH to hosts: checked keys, all problems at once, output as it comes."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import paramiko
import pytest
from hpcprov.errors import HostsError
from hpcprov.remote import options
from hpcprov.remote.connection import Connection, fingerprint
from hpcprov.remote.stream import stream

from .ssh_server import SshServer, generate


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshServer]:
    monkeypatch.setattr(options, "CONFIG_FILES", ())
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    server = SshServer(tmp_path)
    yield server
    server.close()


def problem(host: object) -> HostsError:
    with pytest.raises(HostsError) as caught, Connection(host):  # type: ignore[arg-type]
        pass
    return caught.value


def test_known_host_runs_commands(server: SshServer) -> None:
    with Connection(server.host()) as connection:
        assert connection.run("echo out; exit 3") == (3, "out\n", "")


def test_unknown_host_key_is_refused_with_its_fingerprint(server: SshServer) -> None:
    server.trust(None)
    error = problem(server.host())
    assert error.host == "node01"
    assert error.message == f"the host key is not known: ssh-ed25519 {fingerprint(server.host_key)}"
    assert error.hint is not None and f"ssh-keyscan -p {server.port} 127.0.0.1 >> {server.known_hosts}" in error.hint


def test_no_ssh_argument_switches_the_check_off(server: SshServer) -> None:
    server.trust(None)
    arguments = f"-o StrictHostKeyChecking=no -o UserKnownHostsFile={server.known_hosts}"
    assert "not known" in problem(server.host(ssh_args=arguments)).message


def test_changed_host_key_is_refused(server: SshServer, tmp_path: Path) -> None:
    other = paramiko.Ed25519Key.from_private_key_file(str(generate(tmp_path / "other")))
    server.trust(other)
    error = problem(server.host())
    assert error.message.startswith(f"the host key changed: known_hosts has {fingerprint(other)}")
    assert error.hint is not None and "ssh-keygen -R '[127.0.0.1]" in error.hint


def test_refused_login(server: SshServer, tmp_path: Path) -> None:
    error = problem(server.host(ssh_key=str(generate(tmp_path / "stranger"))))
    assert error.message == "refuses the login of root"


def test_nobody_listens(server: SshServer) -> None:
    error = problem(server.host(port=1))
    assert error.message == "SSH does not work (root@127.0.0.1 port 1): Connection refused"


@pytest.mark.parametrize("greeting", [b"", b"SSH-2.0-x\r\n"])
def test_port_that_accepts_and_closes(server: SshServer, greeting: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    """Such as a proxy without a host behind it."""
    listener = socket.create_server(("127.0.0.1", 0))

    def close_each() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connection.sendall(greeting)
                connection.close()

    threading.Thread(target=close_each, daemon=True).start()
    port = listener.getsockname()[1]
    error = problem(server.host(port=port))
    listener.close()
    assert f"(root@127.0.0.1 port {port})" in error.message
    assert capfd.readouterr().err == ""


def test_fingerprint_is_what_ssh_keygen_prints(tmp_path: Path) -> None:
    import subprocess

    path = generate(tmp_path / "key")
    said = subprocess.run(["ssh-keygen", "-lf", str(path)], check=True, capture_output=True, text=True).stdout
    assert fingerprint(paramiko.Ed25519Key.from_private_key_file(str(path))) == said.split()[1]


def test_stream_hands_over_lines_while_the_command_runs(server: SshServer) -> None:
    arrivals: list[tuple[str, float]] = []
    with Connection(server.host()) as connection:
        code = stream(
            connection,
            "sh -c 'echo one; sleep 1; echo two; printf end; exit 5'",
            lambda line: arrivals.append((line, time.monotonic())),
        )
    assert code == 5
    assert [line for line, _ in arrivals] == ["one", "two", "end"]
    assert arrivals[1][1] - arrivals[0][1] > 0.7


def test_stream_stops_a_command_that_takes_too_long(server: SshServer) -> None:
    lines: list[str] = []
    command = "sh -c 'trap \"echo tidied; exit 1\" TERM; while :; do sleep 0.1; done'"
    with Connection(server.host()) as connection, pytest.raises(HostsError, match="no end after 1 s"):
        stream(connection, command, lines.append, timeout=1)
    assert lines == ["tidied"]


def test_stream_stops_the_command_on_ctrl_c(server: SshServer) -> None:
    lines: list[str] = []

    def interrupt(line: str) -> None:
        lines.append(line)
        if line == "ready":
            raise KeyboardInterrupt

    command = "sh -c 'trap \"echo tidied; exit 1\" TERM; echo ready; while :; do sleep 0.1; done'"
    with Connection(server.host()) as connection, pytest.raises(KeyboardInterrupt):
        stream(connection, command, interrupt)
    assert lines == ["ready", "tidied"]


def test_ssh_arguments() -> None:
    text = "-o UserKnownHostsFile='/a b/known' -oStrictHostKeyChecking=yes -i /key -J jump,gate -C -o 'Port 2222'"
    assert options.parse(text) == {
        "userknownhostsfile": "/a b/known",
        "stricthostkeychecking": "yes",
        "identityfile": "/key",
        "proxyjump": "jump,gate",
        "port": "2222",
    }


def test_route_uses_the_admins_ssh_configuration(
    server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config"
    config.write_text("Host 127.0.0.1\n  HostName 127.0.0.2\n  User admin\n  Port 2200\n  ProxyJump gate\n")
    monkeypatch.setattr(options, "CONFIG_FILES", (config,))
    way = options.route(server.host(user=None, port=None, ssh_key=None, ssh_args=""))
    assert (way.address, way.user, way.port) == ("127.0.0.2", "admin", 2200)
    assert way.proxy_command == "ssh -o BatchMode=yes -W 127.0.0.2:2200 gate"
    assert way.known_name == "[127.0.0.2]:2200"
    # what the site says comes first
    way = options.route(server.host(port=22, ssh_args="-J other"))
    assert (way.user, way.port) == ("root", 22)
    assert way.proxy_command is not None and way.proxy_command.endswith(" other")
