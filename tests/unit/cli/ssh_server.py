"""A small real SSH server on loopback that runs commands on this machine."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import paramiko
from hpcprov.preflight.ask import BECOME
from hpcprov.site import Host


class SshServer(paramiko.ServerInterface):
    """Accepts one public key and, once it is set, a password; runs what it is asked to. `bind` may be 0.0.0.0."""

    def __init__(self, folder: Path, bind: str = "127.0.0.1") -> None:
        self.folder = folder
        self.host_key = paramiko.Ed25519Key.from_private_key_file(str(generate(folder / "host_key")))
        self.client_key_file = generate(folder / "client_key")
        self.accepted = paramiko.Ed25519Key.from_private_key_file(str(self.client_key_file))
        self.known_hosts = folder / "known_hosts"
        self.path = "/usr/bin:/bin"
        self.preflight: Callable[[], str] | None = None  # what to say to the probe, instead of running it
        self.answer: Callable[[], str] | None = None  # what to say to any command, instead of running it
        self.password: str | None = None
        self.listener = socket.create_server((bind, 0), backlog=512)
        self.port: int = self.listener.getsockname()[1]
        self.trust(self.host_key)
        threading.Thread(target=self._serve, daemon=True).start()

    def trust(self, key: paramiko.PKey | None) -> None:
        """Write known_hosts with this key for the server, or with none."""
        line = f"[127.0.0.1]:{self.port} {key.get_name()} {key.get_base64()}\n" if key else ""
        self.known_hosts.write_text(line)

    def host(self, name: str = "node01", **changes: object) -> Host:
        """The server as a host of a site."""
        values: dict[str, object] = {
            "name": name,
            "node_name": name,
            "address": "127.0.0.1",
            "cluster_address": "127.0.0.1",
            "user": "root",
            "port": self.port,
            "ssh_key": str(self.client_key_file),
            "ssh_args": f"-o UserKnownHostsFile={self.known_hosts} -o GlobalKnownHostsFile=none",
            "vars": {},
            "groups": frozenset({"compute"}),
        }
        return Host(**{**values, **changes})  # type: ignore[arg-type]

    def close(self) -> None:
        self.listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            transport = paramiko.Transport(connection)
            transport.add_server_key(self.host_key)
            try:
                transport.start_server(server=self)
            except (paramiko.SSHException, OSError, EOFError):
                continue

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        return paramiko.AUTH_SUCCESSFUL if key == self.accepted else paramiko.AUTH_FAILED

    def check_auth_password(self, username: str, password: str) -> int:
        return paramiko.AUTH_SUCCESSFUL if password == self.password else paramiko.AUTH_FAILED

    def get_allowed_auths(self, username: str) -> str:
        return "publickey,password" if self.password else "publickey"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return paramiko.OPEN_SUCCEEDED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        threading.Thread(target=self._execute, args=(channel, command), daemon=True).start()
        return True

    def _execute(self, channel: paramiko.Channel, command: bytes) -> None:
        answer = self.preflight if command.decode() == BECOME else self.answer
        if answer is not None:
            with suppress(OSError, EOFError):
                while channel.recv(65536):
                    pass
                channel.sendall(answer().encode())
                channel.send_exit_status(0)
                channel.close()
            return
        process = subprocess.Popen(
            ["/bin/sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={"PATH": self.path},
        )  # fmt: skip
        assert process.stdout is not None
        threading.Thread(target=_feed, args=(channel, process), daemon=True).start()
        with suppress(OSError, EOFError):  # the client may go first
            while data := process.stdout.read1():
                channel.sendall(data)
            channel.send_exit_status(process.wait())
            channel.close()


def _feed(channel: paramiko.Channel, process: subprocess.Popen[bytes]) -> None:
    """Standard input of the command, to its end."""
    assert process.stdin is not None
    with suppress(OSError, EOFError):
        while data := channel.recv(65536):
            process.stdin.write(data)
        process.stdin.close()


def generate(path: Path) -> Path:
    """A new private key."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path
