"""A note on the control host for each run of verify that has left tokens on shared storage.

A run that is killed cannot take its tokens away. Its note stays, and its lock is gone with the process, so the next run
knows what to remove and never touches the tokens of a run that is still alive.
"""

from __future__ import annotations

import fcntl
import re
from contextlib import suppress
from pathlib import Path
from typing import IO

from hpcprov.secrets import private_dir

RUN_ID = re.compile(r"[0-9a-f]{8}")  # it becomes part of a path that is removed


class RunNote:
    """The note of this run; `abandoned` are the runs that died before they had tidied up."""

    def __init__(self, state_dir: Path, run_id: str) -> None:
        self.abandoned: list[str] = []
        self._folder = state_dir / "verify"
        self._run_id = run_id
        self._file: IO[str] | None = None
        if not state_dir.is_dir():
            return
        # A cluster is checked also where nothing can be noted: a full disk, a site of another admin.
        with suppress(OSError):
            self._write()
            self.abandoned = sorted(
                note.name
                for note in self._folder.iterdir()
                if note.name != run_id and RUN_ID.fullmatch(note.name) and _is_left(note)
            )

    def settle(self) -> None:
        """The tokens of this run and of the abandoned ones are gone."""
        with suppress(OSError):
            for run_id in (self._run_id, *self.abandoned):
                (self._folder / run_id).unlink(missing_ok=True)

    def _write(self) -> None:
        private_dir(self._folder)
        draft = self._folder / f".{self._run_id}"
        self._file = draft.open("w")  # open as long as we live
        fcntl.flock(self._file, fcntl.LOCK_EX)
        draft.rename(self._folder / self._run_id)  # never seen without its lock


def _is_left(note: Path) -> bool:
    try:
        with note.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held by its run, or settled at this moment
        return False
    return True
