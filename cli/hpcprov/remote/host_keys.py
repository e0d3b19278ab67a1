"""Host keys in known_hosts files. New ones can be recorded, a changed one never."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import paramiko
from paramiko.hostkeys import HostKeyEntry, InvalidHostKey

from hpcprov.errors import HostsError, UsageError
from hpcprov.remote.connection import fingerprint


def key_of(text: str) -> paramiko.PKey:
    """A public key from `ssh-ed25519 AAAA…`. Raises ValueError."""
    entry = _entry(f"host {text}")
    if entry is None or entry.key is None:
        raise ValueError(f"no public key: {text[:40]}")
    return entry.key


def good_lines(files: Iterable[Path]) -> list[str]:
    """The lines that paramiko can use. One that it cannot must not hide the others: a changed key would look new."""
    found = []
    for file in files:
        if file.is_file():
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
            found += [line.strip() for line in lines if _entry(line.strip()) is not None]
    return found


def record(file: Path, known_name: str, key: paramiko.PKey, others: Iterable[Path] = ()) -> None:
    """Append the key of a host to a known_hosts file.

    Raises HostsError when one of the files has another key for it, or says that this one is revoked.
    """
    files = list(dict.fromkeys([file, *others]))
    known = paramiko.HostKeys()
    for line in good_lines(files):
        entry = _entry(line)
        if entry is not None and entry.key is not None:
            for name in entry.hostnames:
                known.add(name, entry.key.get_name(), entry.key)
    present = known.lookup(known_name)
    if present is not None:
        if present.get(key.get_name()) == key:
            return
        raise HostsError(f"another host key is known for {known_name}; {fingerprint(key)} was not recorded")
    if _is_revoked(files, key):
        raise HostsError(f"{fingerprint(key)} is marked as revoked; it was not recorded for {known_name}")
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600), "rb+") as stream:
            stream.seek(0, os.SEEK_END)
            whole = stream.tell() == 0
            if not whole:
                stream.seek(-1, os.SEEK_END)
                whole = stream.read(1) == b"\n"
            line = f"{known_name} {key.get_name()} {key.get_base64()}\n"
            stream.write(("" if whole else "\n").encode() + line.encode())
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error


def _entry(line: str) -> HostKeyEntry | None:
    if not line or line.startswith(("#", "@")):
        return None
    try:
        return HostKeyEntry.from_line(line)
    except (InvalidHostKey, paramiko.SSHException, ValueError, IndexError, UnicodeError):
        return None


def _is_revoked(files: Iterable[Path], key: paramiko.PKey) -> bool:
    return any(
        line.startswith("@revoked") and key.get_base64() in line.split()
        for file in files
        if file.is_file()
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines()
    )
