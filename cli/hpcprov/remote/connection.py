"""An SSH connection to one host. Its host key is checked against known_hosts, without a way around."""

from __future__ import annotations

import base64
import hashlib
import socket
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import NoReturn

import paramiko
from paramiko.ssh_exception import NoValidConnectionsError

from hpcprov.errors import HostsError
from hpcprov.remote.options import Route, route
from hpcprov.site import Host

TIMEOUT = 15.0


class Trouble(StrEnum):
    """Why there is no connection. The value is the name of the preflight rule that tells it."""

    UNREACHABLE = "unreachable"  # nobody answers: off, booting, or the network is wrong
    HOST_KEY = "host-key"
    AUTHENTICATION = "authentication"
    ADDRESS = "address"
    SSH = "ssh"


class ConnectionFailedError(HostsError):
    """There is no connection to a host."""

    def __init__(self, message: str, trouble: Trouble, *, host: str, hint: str) -> None:
        super().__init__(message, host=host, hint=hint)
        self.trouble = trouble


class UnknownHostKeyError(paramiko.SSHException):
    """The host shows a key that no known_hosts file has."""


class _Refuse(paramiko.MissingHostKeyPolicy):
    """Like paramiko's RejectPolicy, and tells the fingerprint, so that an admin can compare it."""

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> NoReturn:
        raise UnknownHostKeyError(f"{key.get_name()} {fingerprint(key)}")


def fingerprint(key: paramiko.PKey) -> str:
    """As `ssh-keygen -l` prints it."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")


class Connection:
    """Open it with `with`; raises ConnectionFailedError with the reason in words."""

    def __init__(self, host: Host, *, timeout: float = TIMEOUT) -> None:
        self.host = host
        self.route: Route = route(host)
        self.timeout = timeout
        self.client = paramiko.SSHClient()
        for file in self.route.known_hosts:
            _load(self.client, file)
        self.client.set_missing_host_key_policy(_Refuse())

    def __enter__(self) -> Connection:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        """Connect and authenticate."""
        way = self.route
        password = self.host.vars.get("ansible_password") or self.host.vars.get("ansible_ssh_pass")
        try:
            self.client.connect(
                way.address,
                port=way.port,
                username=way.user,
                password=str(password) if password else None,
                key_filename=way.key,
                look_for_keys=way.key is None,
                sock=paramiko.ProxyCommand(way.proxy_command) if way.proxy_command else None,
                timeout=self.timeout,
                banner_timeout=self.timeout,
                auth_timeout=self.timeout,
            )
        except (paramiko.SSHException, OSError, EOFError) as error:
            self.close()
            raise explained(error, way) from error

    def close(self) -> None:
        """Drop the connection; harmless when there is none."""
        self.client.close()

    def run(self, command: str, *, timeout: float = 60.0, stdin: str = "") -> tuple[int, str, str]:
        """Run a shell command; its exit status, standard output and standard error."""
        writer, out, err = self.client.exec_command(command, timeout=timeout)
        with suppress(OSError):  # a command that ends early reads no more; what it said counts
            if stdin:
                writer.write(stdin)
            writer.channel.shutdown_write()
        text, errors = out.read().decode(errors="replace"), err.read().decode(errors="replace")
        return out.channel.recv_exit_status(), text, errors

    def as_root(self, command: str) -> str:
        """The same command with root's rights, by sudo when the login user is another."""
        return command if self.route.user == "root" else f"sudo -n -- {command}"


def _load(client: paramiko.SSHClient, file: Path) -> None:
    if file.is_file():
        client.load_system_host_keys(str(file))


def _reason(error: Exception) -> str:
    """Paramiko keeps what the system said about each address of a host, and says none of it."""
    if isinstance(error, NoValidConnectionsError):
        return ", ".join(dict.fromkeys(getattr(each, "strerror", None) or str(each) for each in error.errors.values()))
    return str(error)


def explained(error: Exception, way: Route) -> ConnectionFailedError:
    """What went wrong and what to do about it."""
    target = f"{way.user}@{way.address} port {way.port}"
    known = way.known_hosts[0] if way.known_hosts else Path("~/.ssh/known_hosts")
    port = "" if way.port == 22 else f"-p {way.port} "
    match error:
        case paramiko.BadHostKeyException():
            trouble = Trouble.HOST_KEY
            message = (
                f"the host key changed: known_hosts has {fingerprint(error.expected_key)}, "
                f"the host shows {fingerprint(error.key)}"
            )
            hint = f"find out why; if the host was reinstalled: ssh-keygen -R '{way.known_name}' -f {known}"
        case UnknownHostKeyError():
            trouble = Trouble.HOST_KEY
            message = f"the host key is not known: {error}"
            hint = f"compare it with the host's own, then: ssh-keyscan {port}{way.address} >> {known}"
        case paramiko.PasswordRequiredException():
            trouble = Trouble.AUTHENTICATION
            message = "the private key has a passphrase"
            hint = "load it with ssh-add"
        case paramiko.AuthenticationException():
            trouble = Trouble.AUTHENTICATION
            message = f"refuses the login of {way.user}"
            hint = f"put the public key on the host: ssh-copy-id {port}{way.user}@{way.address}"
        case paramiko.SSHException() if "No authentication methods" in str(error):
            trouble = Trouble.AUTHENTICATION
            message = f"there is neither a key nor a password to log in with as {way.user}"
            hint = "make a key with ssh-keygen, or load one with ssh-add"
        case socket.gaierror():
            trouble = Trouble.ADDRESS
            message = f"the name {way.address} cannot be resolved"
            hint = "set ansible_host"
        case TimeoutError():
            trouble = Trouble.UNREACHABLE
            message = f"does not answer ({target})"
            hint = "is it on, and is the network right?"
        case EOFError():
            trouble = Trouble.UNREACHABLE
            message = f"closes the connection before the login ({target})"
            hint = f"try: ssh {port}{way.user}@{way.address}"
        case _:
            trouble = Trouble.UNREACHABLE if _is_silence(error) else Trouble.SSH
            message = f"SSH does not work ({target}): {_reason(error)}"
            hint = f"try: ssh {port}{way.user}@{way.address}"
    return ConnectionFailedError(message, trouble, host=way.host, hint=hint)


def _is_silence(error: Exception) -> bool:
    """The network, not SSH, says no: refused, no route, reset, or a server that closes before it said a word."""
    return isinstance(error, OSError) or isinstance(error.__cause__ or error.__context__, EOFError | OSError)
