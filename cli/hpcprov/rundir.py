"""The directory of one run: log, Ansible's events and result.json; `runs/latest` points at the newest."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class RunDir:
    """`runs/<time>/`, made new for each run."""

    def __init__(self, home: Path) -> None:
        self.path = _new_directory(home / "runs")
        self.log_path = self.path / "run.log"
        self.result_path = self.path / "result.json"
        self._log = os.fdopen(os.open(self.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", buffering=1)
        _point_latest(self.path)

    def __enter__(self) -> RunDir:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._log.close()

    @property
    def ansible(self) -> Path:
        """What Ansible leaves."""
        return self.path / "ansible"

    def log(self, lines: str | Iterable[str]) -> None:
        """Add lines to the full log."""
        for line in [lines] if isinstance(lines, str) else lines:
            self._log.write(_ESCAPES.sub("", line).rstrip() + "\n")

    def write_result(self, document: str) -> None:
        """Put result.json in place whole, so that a reader never sees half of it."""
        write_atomically(self.result_path, document)


def write_atomically(path: Path, text: str) -> None:
    """Replace `path` in one step, readable by its owner only."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as handle:
        handle.write(text)
    draft.replace(path)


def _new_directory(runs: Path) -> Path:
    """Two runs in one second get two directories. Only the owner may look in: logs tell much about a site."""
    runs.mkdir(parents=True, exist_ok=True)
    stamp = time.strftime("%Y-%m-%dT%H-%M-%S")
    number = 1
    while True:
        path = runs / (stamp if number == 1 else f"{stamp}.{number}")
        try:
            path.mkdir(mode=0o700)
            return path
        except FileExistsError:
            number += 1


def _point_latest(path: Path) -> None:
    link = path.parent / "latest"
    draft = path.parent / f".latest.{os.getpid()}"
    draft.unlink(missing_ok=True)
    draft.symlink_to(path.name)
    draft.replace(link)
