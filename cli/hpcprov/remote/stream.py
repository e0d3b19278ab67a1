"""Run a command on a host and hand over its lines as they come."""

from __future__ import annotations

import codecs
import shlex
import time
from collections.abc import Callable

import paramiko

from hpcprov.errors import HostsError
from hpcprov.remote.connection import Connection

CHUNK = 16384
POLL_SECONDS = 0.2
KEEPALIVE_SECONDS = 15
GRACE_SECONDS = 20.0  # for a command that tidies up after it was told to stop
_PID_MARK = "hpcprov-pid "


def stream(
    connection: Connection,
    command: str,
    on_line: Callable[[str], None],
    *,
    user: str | None = None,
    timeout: float | None = None,
) -> int:
    """Run `command`, call `on_line` for each line of its output and errors, return its exit status.

    `user` runs it as another user of the host, in that user's own environment. Ctrl-C and `timeout` (seconds) send it
    SIGTERM, wait for what it says to that, then raise KeyboardInterrupt or HostsError.
    """
    run = _Stream(connection, command, on_line, user)
    try:
        return run.follow(timeout)
    except (KeyboardInterrupt, TimeoutError) as stop:
        run.stop()
        if isinstance(stop, KeyboardInterrupt):
            raise
        raise HostsError(f"no end after {timeout:.0f} s: {command}", host=connection.host.name) from None
    finally:
        run.channel.close()


class _Stream:
    def __init__(self, connection: Connection, command: str, on_line: Callable[[str], None], user: str | None) -> None:
        transport = connection.client.get_transport()
        if transport is None or not transport.is_active():
            raise HostsError("the SSH connection is gone", host=connection.host.name)
        transport.set_keepalive(KEEPALIVE_SECONDS)
        self.connection = connection
        self.on_line = on_line
        self.pid: str | None = None
        self.rest = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.channel: paramiko.Channel = transport.open_session()
        self.channel.set_combine_stderr(True)
        # The process id comes first, so that the command can be told to stop. No terminal is asked for: it
        # would change the output.
        script = f'echo "{_PID_MARK}$$"; exec {command}'
        # A login gives the user's own HOME; the shell in passwd may be one that forbids logins.
        start = connection.as_root(f"runuser -l -s /bin/sh {shlex.quote(user)} -c") if user else "sh -c"
        self.channel.exec_command(f"{start} {shlex.quote(script)}")
        self.channel.shutdown_write()

    def follow(self, timeout: float | None) -> int:
        """Hand over lines until the command ends."""
        deadline = None if timeout is None else time.monotonic() + timeout
        self.channel.settimeout(POLL_SECONDS)
        while True:
            if deadline is not None and time.monotonic() > deadline:
                raise TimeoutError
            try:
                data = self.channel.recv(CHUNK)
            except TimeoutError:
                continue
            if not data:
                break
            self._feed(self.decoder.decode(data))
        self._feed(self.decoder.decode(b"", final=True))
        if self.rest:
            self._line(self.rest)
        status = self.channel.recv_exit_status()
        if status == -1:
            raise HostsError("the SSH connection broke while a command ran", host=self.connection.host.name)
        return status

    def stop(self) -> None:
        """Ask the command to end, and listen to its last words."""
        if self.pid is None:
            return
        try:
            self.connection.run(self.connection.as_root(f"kill -TERM {self.pid}"), timeout=GRACE_SECONDS)
            self.follow(GRACE_SECONDS)
        except (HostsError, paramiko.SSHException, OSError):
            return

    def _feed(self, text: str) -> None:
        *lines, self.rest = (self.rest + text).split("\n")
        for line in lines:
            self._line(line)

    def _line(self, line: str) -> None:
        line = line.rstrip("\r")
        if self.pid is None and line.startswith(_PID_MARK):
            self.pid = line.removeprefix(_PID_MARK)
        else:
            self.on_line(line)
