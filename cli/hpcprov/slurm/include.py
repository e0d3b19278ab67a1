"""A configuration file with the files that it includes, read from disk."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

from hpcprov.errors import Finding
from hpcprov.slurm.read import Line, read

Load = Callable[[Path], str]


def load_text(path: Path) -> str:
    """The text of a file. Raises OSError, also for what is no text."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if "\0" in text:
        raise OSError(errno.EINVAL, "it is no text file")
    return text


def read_with_includes(path: Path, load: Load = load_text) -> tuple[list[Line], list[Finding]]:
    """The lines of a file, those of included files in their place, and what could not be read.

    A name without a directory is sought beside the first file; `%c` in it is the ClusterName. Raises OSError when
    `path` itself cannot be read.
    """
    reader = _Reader(path.parent, load)
    return reader.file(path, ()), reader.findings


class _Reader:
    def __init__(self, folder: Path, load: Load) -> None:
        self.folder = folder
        self.load = load
        self.cluster = ""
        self.findings: list[Finding] = []

    def file(self, path: Path, above: tuple[Path, ...]) -> list[Line]:
        found: list[Line] = []
        for line in read(self.load(path), path):
            if line.key == "clustername":
                self.cluster = line.settings[0].value.lower()
            found.append(line)
            if line.include is not None:
                found += self._included(line, (*above, path))
        return found

    def _included(self, line: Line, above: tuple[Path, ...]) -> list[Line]:
        path = self.folder / (line.include or "").replace("%c", self.cluster)
        if path.resolve() in {one.resolve() for one in above}:
            self.findings.append(line.place.finding("include", f"{path} includes itself", hint="remove this line"))
            return []
        try:
            return self.file(path, above)
        except OSError as error:
            message = f"cannot read the included file {path}: {error.strerror}"
            self.findings.append(line.place.finding("include", message, hint="Slurm ends here; give it the file"))
            return []
