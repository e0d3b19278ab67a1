"""What all parts of the probe use: run a program, read a file, name an owner."""

from __future__ import annotations

import grp
import os
import pwd
import stat
import subprocess
from pathlib import Path
from typing import Any

COMMAND_LIMIT = 15  # seconds; a hung mount or daemon must not hang verify


def command(*words: str, stdin: str = "", limit: int = COMMAND_LIMIT) -> tuple[int, str, str]:
    """Exit code, output and errors. A child that cannot even be killed (hung NFS) is left behind."""
    env = dict(os.environ, LC_ALL="C")
    pipe = subprocess.PIPE
    try:
        child = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd="/", text=True)
    except OSError as error:
        return 127, "", f"{words[0]}: {error.strerror}"
    try:
        out, err = child.communicate(stdin, timeout=limit)
    except subprocess.TimeoutExpired:
        child.kill()
        return 124, "", f"no answer within {limit} s"
    return child.returncode, out.strip(), err.strip()


def last_line(text: str) -> str:
    """What a program said last, mostly the reason."""
    return text.strip().splitlines()[-1] if text.strip() else ""


def read(path: str) -> str:
    """Text of a file, empty when it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def owner_and_mode(path: str) -> dict[str, Any] | None:
    """Owner, group and mode of a path, None when it is not there."""
    try:
        info = Path(path).stat()
    except OSError:
        return None
    return {"path": path, "owner": user_name(info.st_uid), "group": group_name(info.st_gid),
            "mode": f"{stat.S_IMODE(info.st_mode):04o}"}  # fmt: skip


def user_name(uid: int) -> str:
    """Name of a uid, the number where it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def group_name(gid: int) -> str:
    """Name of a gid, the number where it has none."""
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)
