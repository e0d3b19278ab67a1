"""A login password: asked for, or read where other users cannot see it. Never an argument, which `ps` would show."""

from __future__ import annotations

import getpass
import os
import sys
from pathlib import Path

from hpcprov.errors import UsageError

VARIABLE = "HPCPROV_SSH_PASSWORD"


def login_password(ask: bool, file: Path | None) -> str | None:
    """The password of the file, else the one typed, else the environment's; None where there is none.

    Raises UsageError when it cannot be read or asked for.
    """
    if file is not None:
        return _from_file(file.expanduser())
    if ask:
        if not sys.stdin.isatty():
            raise UsageError(
                "--ask-password needs a terminal", hint=f"put it into a file for --password-file, or into ${VARIABLE}"
            )
        return getpass.getpass("SSH password: ") or None
    return os.environ.get(VARIABLE) or None


def _from_file(file: Path) -> str:
    try:
        text = file.read_text(encoding="utf-8")
        mode = file.stat().st_mode
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    if mode & 0o077:
        raise UsageError(f"{file} can be read by other users", hint=f"chmod 600 {file}")
    password = text.split("\n", 1)[0]
    if not password:
        raise UsageError(f"{file} is empty", hint="its first line is the password")
    return password
