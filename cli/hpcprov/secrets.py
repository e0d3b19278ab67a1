"""The secrets of a site: random, made once, kept beside the site file, never overwritten.

A file may be encrypted with ansible-vault afterwards: nothing here reads a secret that exists.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

MUNGE_KEY_BYTES = 1024  # what mungekey(8) calls the longest useful key
PASSWORD_BYTES = 24  # written in hex: no character means anything to MariaDB, slurmdbd.conf or a shell


@dataclass(frozen=True)
class Secrets:
    """Where the secrets lie, and which of them were made just now."""

    munge_key: Path
    database_password: Path
    created: list[str] = field(default_factory=list)
    tightened: list[str] = field(default_factory=list)


def ensure(state_dir: Path, *, check: bool = False) -> Secrets:
    """Make the secrets of a site that do not exist yet. With `check` only say which would be made."""
    folder = state_dir / "secrets"
    made = Secrets(folder / "munge.key", folder / "database_password")
    makers: dict[Path, Callable[[], bytes]] = {
        made.munge_key: lambda: secrets.token_bytes(MUNGE_KEY_BYTES),
        made.database_password: lambda: secrets.token_hex(PASSWORD_BYTES).encode(),
    }
    if not check:
        private_dir(state_dir)
        private_dir(folder)
    for path, make in makers.items():
        if path.exists():
            _tighten(path, made.tightened, check=check)
        elif check or create_once(path, make()):
            made.created.append(path.name)
    return made


def private_dir(path: Path) -> None:
    """A directory that only its owner can enter, also when it existed with a wider mode."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if stat.S_IMODE(path.stat().st_mode) != 0o700:
        path.chmod(0o700)


def create_once(path: Path, content: bytes) -> bool:
    """Create `path` with mode 0600 and all of `content`, or leave it alone if somebody was faster.

    A hard link appears whole or not at all and fails where a file exists, so that neither a crash nor
    two runs at once can leave half a key or replace one that hosts already have.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            path.hardlink_to(draft)
        except FileExistsError:
            return False
        return True
    finally:
        draft.unlink()


def _tighten(path: Path, tightened: list[str], *, check: bool) -> None:
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        tightened.append(path.name)
        if not check:
            path.chmod(0o600)
