"""The pyinfra workers against a real SSH server on loopback: keys, passwords, dead hosts, and many at once."""

from __future__ import annotations

import itertools
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import paramiko
import pytest
from cli.ssh_server import SshServer, generate
from hpcprov.discovery import connect
from hpcprov.discovery.connect import Target, run_everywhere
from hpcprov.discovery.reach import Access, ask
from hpcprov.discovery.survey import survey
from hpcprov.remote.connection import Trouble, fingerprint
from hpcprov.remote.options import Route


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SshServer]:
    running = SshServer(tmp_path)
    yield running
    running.close()


def target(server: SshServer, name: str = "n1", **changes: Any) -> Target:
    way = {"address": "127.0.0.1", "port": server.port, "user": "root", "key": str(server.client_key_file)} | {
        key: changes.pop(key) for key in ("address", "port", "user", "key") if key in changes
    }
    proxy = changes.pop("proxy_command", None)
    return Target(name, Route(name, **way, known_hosts=[server.known_hosts], proxy_command=proxy), **changes)


def no(_: object) -> bool:
    return False


def yes(_: object) -> bool:
    return True


def quiet(_: str) -> None:
    """Nobody listens."""


def asked(server: SshServer, *targets: Target, script: str = "echo hello", confirm: Callable[..., bool] = no) -> Any:
    return ask(targets or [target(server)], lambda _: script, Access(), confirm, quiet)


def test_a_script_runs_in_a_posix_shell(server: SshServer) -> None:
    said = asked(server, script="printf '%s\\n' \"it's\" \"$((1 + 1))\" '$x' 'ü'")
    output = said.outputs["n1"]
    assert output.text.splitlines()[-4:] == ["it's", "2", "$x", "ü"]
    assert output.sent <= output.received


def test_an_unknown_key_is_shown_and_not_recorded(server: SshServer) -> None:
    server.trust(None)
    said = asked(server)
    assert said.failures["n1"].trouble is Trouble.HOST_KEY
    assert fingerprint(server.host_key) in said.failures["n1"].message
    assert said.unknown["n1"] == server.host_key
    assert server.known_hosts.read_text() == ""


def test_an_unknown_key_is_recorded_once_it_is_confirmed(server: SshServer) -> None:
    server.trust(None)
    shown: dict[str, paramiko.PKey] = {}

    def confirm(keys: dict[str, paramiko.PKey]) -> bool:
        shown.update(keys)
        return True

    said = asked(server, target(server, "n1"), target(server, "n2"), confirm=confirm)
    assert set(said.outputs) == set(shown) == {"n1", "n2"}
    assert said.failures == {}
    line = f"[127.0.0.1]:{server.port} {server.host_key.get_name()} {server.host_key.get_base64()}\n"
    assert server.known_hosts.read_text() == line, "both have one address, so there is one line"


def test_a_changed_key_is_refused_whatever_was_confirmed(server: SshServer, tmp_path: Path) -> None:
    other = paramiko.Ed25519Key.from_private_key_file(str(generate(tmp_path / "other")))
    server.trust(other)
    before = server.known_hosts.read_text()
    said = asked(server, confirm=yes)
    assert said.outputs == {}
    assert said.failures["n1"].trouble is Trouble.HOST_KEY
    assert f"the host key changed: known_hosts has {fingerprint(other)}" in said.failures["n1"].message
    assert server.known_hosts.read_text() == before


def test_a_broken_line_does_not_make_a_changed_key_look_new(server: SshServer, tmp_path: Path) -> None:
    other = paramiko.Ed25519Key.from_private_key_file(str(generate(tmp_path / "other")))
    server.trust(other)
    server.known_hosts.write_text("host ssh-rsa AAAA!broken\n@cert-authority * x\n" + server.known_hosts.read_text())
    assert "the host key changed" in asked(server, confirm=yes).failures["n1"].message


def test_a_wrong_key_is_told_as_such(server: SshServer, tmp_path: Path) -> None:
    said = asked(server, target(server, key=str(generate(tmp_path / "wrong"))))
    assert said.failures["n1"].trouble is Trouble.AUTHENTICATION
    assert said.failures["n1"].message == "refuses the login of root"


def test_a_password_opens_and_is_never_an_argument(server: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
    server.password = "open sesame"
    started: list[Any] = []
    popen = subprocess.Popen

    def spy(*arguments: Any, **options: Any) -> Any:
        started.append((arguments, options.get("env")))
        return popen(*arguments, **options)

    monkeypatch.setattr(connect.subprocess, "Popen", spy)
    good = target(server, "good", key=None, password="open sesame")
    bad = target(server, "bad", key=None, password="simsalabim")
    said = asked(server, good, bad)
    assert set(said.outputs) == {"good"}
    assert said.failures["bad"].trouble is Trouble.AUTHENTICATION
    assert started
    assert "sesame" not in repr(started)
    assert "sesame" not in repr(good)


def test_a_port_that_nobody_listens_on(server: SshServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    said = asked(server, target(server, port=port), target(server, "n2"))
    assert said.failures["n1"].trouble is Trouble.UNREACHABLE
    assert "Connection refused" in said.failures["n1"].message
    assert set(said.outputs) == {"n2"}


BRIDGE = """
import socket, sys, threading
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def out():
    while data := peer.recv(65536):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
threading.Thread(target=out, daemon=True).start()
while data := sys.stdin.buffer.read1(65536):
    peer.sendall(data)
"""


def test_a_proxy_carries_the_connection(server: SshServer, tmp_path: Path) -> None:
    bridge = tmp_path / "bridge.py"
    bridge.write_text(BRIDGE)
    known = server.known_hosts.read_text().replace("127.0.0.1", "192.0.2.77")
    server.known_hosts.write_text(known)
    way = f"{sys.executable} {bridge} {server.port}"
    said = asked(server, target(server, address="192.0.2.77", proxy_command=way))
    assert said.failures == {}
    assert said.outputs["n1"].text.endswith("hello")


def test_a_proxy_that_does_not_get_through(server: SshServer) -> None:
    said = asked(server, target(server, address="192.0.2.77", proxy_command="sh -c 'exit 1'"))
    assert said.failures["n1"].trouble is Trouble.UNREACHABLE
    assert said.failures["n1"].message == (
        f"the jump host does not get through to it (root@192.0.2.77 port {server.port})"
    )


def test_a_name_that_nobody_knows(server: SshServer) -> None:
    said = asked(server, target(server, address="nobody.invalid"))
    assert said.failures["n1"].trouble is Trouble.ADDRESS


def test_a_script_that_never_ends(server: SshServer) -> None:
    said = run_everywhere([target(server)], lambda _: "sleep 60", quiet, limit=2)
    assert said.failures["n1"].message == "accepts the login, then says nothing for 2 s"


def test_a_host_without_a_shell(server: SshServer) -> None:
    server.path = "/nowhere"
    said = asked(server)
    assert said.failures["n1"].message.startswith("cannot run a shell command: ")


def test_workers_that_die_are_told(server: SshServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect.sys, "executable", "/bin/false")
    said = asked(server)
    assert said.failures["n1"].message == "was not asked to the end: it said nothing"


def test_an_address_of_a_network_may_be_silent(server: SshServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    result = survey([target(server, port=port, is_named=False), target(server, "n2", port=port)], Access(), no, quiet)
    assert result.silent == ["n1"]
    assert set(result.failures) == {"n2"}


def test_one_machine_under_two_names_counts_once(server: SshServer) -> None:
    result = survey([target(server, "a", is_named=False), target(server, "b")], Access(), no, quiet)
    assert set(result.found) == {"b"}
    assert result.same == {"a": "b"}


def test_sixty_hosts_side_by_side(server: SshServer) -> None:
    numbers = itertools.count()
    server.answer = lambda: f"\n@@ identity\nhostname=h\ninstance={next(numbers)}\n@@ end\n"
    names = [f"n{number}" for number in range(60)]
    result = survey([target(server, name) for name in names], Access(), no, quiet)
    assert set(result.found) == set(names)
    assert result.failures == {}
