"""Which options each release of Slurm knows, from the option tables of its own parsers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from importlib import resources
from typing import Any

from hpcprov.errors import UsageError

# slurm.conf options that are still read, and how they are written today.
RENAMED = {"AccountingStoreJobComment": "AccountingStoreFlags: job_comment"}


@dataclass(frozen=True)
class Key:
    """One option. Releases are written as in the table: `22.05`."""

    name: str
    type: str
    since: str | None = None
    last: str | None = None
    defunct_since: str | None = None

    def problem(self, release: str) -> str | None:
        """Why this option must not be written for a release, if so."""
        if self.since and release < self.since:
            return f"{self.name} came with Slurm {self.since}; this cluster runs {release}"
        if self.last and release > self.last:
            return f"{self.name} went after Slurm {self.last}; this cluster runs {release}"
        if self.defunct_since and release >= self.defunct_since:
            return f"{self.name} does nothing since Slurm {self.defunct_since}; this cluster runs {release}"
        return None


@dataclass(frozen=True)
class KeyTable:
    """The options of one file or record, found without regard to case."""

    what: str
    keys: Mapping[str, Key]

    def find(self, name: str) -> Key | None:
        return self.keys.get(name.lower())

    def find_loose(self, name: str) -> Key | None:
        """As `find`, and `max_time` finds MaxTime."""
        return self.keys.get(name.replace("_", "").lower())

    def knows(self, name: str, release: str) -> bool:
        key = self.find(name)
        return key is not None and key.problem(release) is None

    def suggestion(self, name: str) -> str:
        """`, did you mean "MaxTime"?`, or nothing."""
        near = get_close_matches(name.replace("_", "").lower(), list(self.keys), n=1, cutoff=0.7)
        return f', did you mean "{self.keys[near[0]].name}"?' if near else ""

    def problem(self, name: str, release: str | None) -> str | None:
        """Why `name` cannot be written, if so. Without a release only the name is judged."""
        key = self.find_loose(name)
        if key is None:
            return f'{self.what} has no option "{name}"{self.suggestion(name)}'
        return key.problem(release) if release else None


@lru_cache(maxsize=1)
def _tables() -> dict[str, Any]:
    text = resources.files("hpcprov.slurm").joinpath("slurm-keys.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@lru_cache(maxsize=32)
def table(what: str) -> KeyTable:
    """`slurm.conf`, `slurm.conf NodeName`, `cgroup.conf` and so on, as the table calls them."""
    entries = _tables()[what]
    keys = {name.lower(): Key(name, **entry) for name, entry in entries.items()}
    return KeyTable(what, keys)


def releases() -> list[str]:
    """The releases in the table, oldest first."""
    return sorted(_tables()["about"]["releases"])


def release_of(version: str | None) -> str:
    """The release in the table that describes a version best: `22.05.8` is 22.05; unknown is the oldest."""
    known = releases()
    match = re.match(r"(\d+)\.(\d+)", version or "")
    if not match:
        return known[0]
    wanted = f"{match.group(1)}.{match.group(2):0>2}"
    return max((release for release in known if release <= wanted), default=known[0])


def release_named(version: str) -> str:
    """The release that an admin names, such as 24.05 or 24.05.3. Raises UsageError for one we know nothing about."""
    match = re.fullmatch(r"(\d{2})[.-](\d{1,2})(?:[.-].*)?", version.strip())
    release = f"{match.group(1)}.{match.group(2):0>2}" if match else ""
    if release not in releases():
        raise UsageError(f'no key table for Slurm "{version}"', hint=f"known are {', '.join(releases())}")
    return release
