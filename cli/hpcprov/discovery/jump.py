"""One connection to a jump host, through which all others go. `ssh` itself makes it, and checks the jump host's key."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

from hpcprov.errors import HostsError
from hpcprov.remote.options import Route

WAIT = 30


class Jump:
    """Use it with `with`. `via` is as after `ssh -J`, one or more of [user@]host[:port]. Raises HostsError."""

    def __init__(self, via: str) -> None:
        self.via = via
        first, _, self.last = via.rpartition(",")
        host, _, port = self.last.rpartition(":") if ":" in self.last.rpartition("@")[2] else (self.last, "", "")
        self.target = [*(["-p", port] if port else []), *(["-J", first] if first else []), host]
        self.folder = tempfile.TemporaryDirectory(prefix="hpcprov-")
        self.socket = Path(self.folder.name) / "jump"

    def __enter__(self) -> Jump:
        command = ["ssh", "-M", "-N", "-f", "-S", str(self.socket), "-o", "BatchMode=yes",
                   "-o", f"ConnectTimeout={WAIT}", *self.target]  # fmt: skip
        # A file and no pipe: the connection stays behind and would hold a pipe open.
        with tempfile.TemporaryFile("w+") as said:
            try:
                status = subprocess.run(
                    command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, timeout=WAIT + 10, check=False
                ).returncode
            except FileNotFoundError:
                raise HostsError("there is no ssh on this machine", hint="install the OpenSSH client") from None
            except subprocess.TimeoutExpired:
                status = 255
            said.seek(0)
            words = said.read().strip().splitlines()
        if status != 0:
            self.folder.cleanup()
            why = words[-1] if words else "it does not answer"
            raise HostsError(f"the jump host {self.via} lets nobody through: {why}", hint=f"try: ssh {self.via}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        subprocess.run(
            ["ssh", "-S", str(self.socket), "-O", "exit", *self.target],
            stdin=subprocess.DEVNULL, capture_output=True, timeout=WAIT, check=False,
        )  # fmt: skip
        self.folder.cleanup()

    def command(self, way: Route) -> str:
        """What carries a connection to a host."""
        words = ["ssh", "-S", str(self.socket), "-o", "BatchMode=yes", "-W", _pair(way.address, way.port), *self.target]
        return shlex.join(words)


def _pair(address: str, port: int) -> str:
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
