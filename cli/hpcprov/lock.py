"""One deploy of a site at a time on this control host."""

from __future__ import annotations

import fcntl
import getpass
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hpcprov.errors import UsageError
from hpcprov.secrets import private_dir


@contextmanager
def site_lock(state_dir: Path) -> Iterator[None]:
    """Hold the site for this process; raise UsageError that says who holds it otherwise.

    The kernel drops the lock with the process, so a killed run never leaves a site locked.
    """
    private_dir(state_dir)
    path = state_dir / "deploy.lock"
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"another run works on this site: {_holder(path)}",
                hint="wait until it is over, or stop it with Ctrl-C where it runs",
            ) from None
        file.truncate(0)
        json.dump(_about_us(), file)
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def _about_us() -> dict[str, str | int]:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a uid without a name
        user = str(os.getuid())
    return {
        "pid": os.getpid(),
        "user": user,
        "host": socket.gethostname(),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
        "command": " ".join(["hpcprov", *sys.argv[1:]]),
    }


def _holder(path: Path) -> str:
    try:
        about = json.loads(path.read_text())
        return "`{command}` of {user} on {host}, process {pid}, since {since}".format(**about)
    except (ValueError, KeyError, OSError):
        return f"somebody holds {path}"
