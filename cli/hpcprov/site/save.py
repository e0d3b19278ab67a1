"""Writes a changed site file: all of it or nothing, with the mode that it had."""

from __future__ import annotations

import contextlib
import os
import tempfile
from difflib import unified_diff
from pathlib import Path

from hpcprov.errors import UsageError
from hpcprov.site.edit import Edit
from hpcprov.site.report import without_secrets


def diff(edit: Edit) -> str:
    """The change as a unified diff, secrets starred. Empty when nothing changes."""
    before, after = edit.before.splitlines(), edit.after.splitlines()
    lines = unified_diff(before, after, str(edit.path), str(edit.path), lineterm="", n=2)
    return "\n".join(without_secrets(line) for line in lines)


def save(edit: Edit) -> None:
    """Put the new text in place of the old. Raises UsageError when the file changed meanwhile or cannot be written."""
    target = edit.path.resolve()  # a symbolic link stays one
    try:
        with target.open(encoding="utf-8", newline="") as stream:
            if stream.read() != edit.before:
                raise UsageError(f"{edit.path} was changed by somebody else meanwhile", hint="try again")
        _replace(target, edit.after)
    except OSError as error:
        raise UsageError(f"{edit.path} cannot be written: {error.strerror}") from error


def _replace(target: Path, text: str) -> None:
    state = target.stat()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
            with contextlib.suppress(PermissionError):  # only root may give a file away
                os.fchown(stream.fileno(), state.st_uid, state.st_gid)
            os.fchmod(stream.fileno(), state.st_mode & 0o7777)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
