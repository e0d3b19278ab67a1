"""Reads the text of Slurm's configuration files as Slurm's own parser does, and remembers where everything stands.

The rules are those of `src/common/parse_config.c`: `#` begins a comment unless a backslash stands before it, a
backslash at the end joins lines, another backslash takes the next character as it is, values with blanks are
quoted, keys have no case, and a line holds one setting unless its key begins a record (NodeName and the like).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hpcprov.site.findings import Place

_PAIR = re.compile(r"\s*([A-Za-z0-9_.]+)\s*([-*+/]?)=\s*(?:\"([^\"]*)\"(?=\s|$)|(\S+))")
_INCLUDE = re.compile(r"\s*include\s+(\S+)\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class Setting:
    """One `key=value`. `operator` is the sign before `=`, as in `Weight+=5`; mostly there is none."""

    key: str
    value: str
    place: Place
    value_place: Place
    operator: str = ""


@dataclass(frozen=True)
class Line:
    """A line with those that continue it. `rest` is what the parser could not read, `include` another file."""

    place: Place
    settings: tuple[Setting, ...] = ()
    rest: str = ""
    rest_place: Place | None = None
    include: str | None = None

    @property
    def key(self) -> str:
        """The first key, in lower case: it says what the line is about."""
        return self.settings[0].key.lower() if self.settings else ""

    def get(self, *keys: str) -> Setting | None:
        """The last setting with one of these keys, whatever their case."""
        wanted = {key.lower() for key in keys}
        return next((item for item in reversed(self.settings) if item.key.lower() in wanted), None)


def read(text: str, file: Path) -> list[Line]:
    """The lines that say something."""
    return [_line(joined, file) for joined in _joined(text) if joined.text.strip()]


@dataclass(frozen=True)
class _Joined:
    """Text without comments and escapes; `origins` has line and column of each of its characters."""

    text: str
    origins: list[tuple[int, int]]

    def place(self, index: int, file: Path) -> Place:
        return Place(file, *self.origins[min(index, len(self.origins) - 1)])


def _joined(text: str) -> Iterator[_Joined]:
    characters: list[tuple[str, tuple[int, int]]] = []
    for number, physical in enumerate(text.split("\n"), 1):
        kept, continues = _without_continuation(_without_comment(physical))
        characters += [(char, (number, column)) for column, char in enumerate(kept, 1)]
        if not continues:
            yield _unescaped(characters)
            characters = []
    yield _unescaped(characters)


def _without_comment(line: str) -> str:
    escaped = False
    for index, char in enumerate(line):
        if char == "#" and not escaped:
            return line[:index]
        escaped = char == "\\" and not escaped
    return line


def _without_continuation(line: str) -> tuple[str, bool]:
    stripped = line.rstrip()
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return (stripped[:-1], True) if backslashes % 2 else (line, False)


def _unescaped(characters: list[tuple[str, tuple[int, int]]]) -> _Joined:
    kept, escaped = [], False
    for entry in characters:
        if entry[0] == "\\" and not escaped:
            escaped = True
            continue
        escaped = False
        kept.append(entry)
    return _Joined("".join(char for char, _ in kept), [origin for _, origin in kept])


def _line(joined: _Joined, file: Path) -> Line:
    start = len(joined.text) - len(joined.text.lstrip())
    place = joined.place(start, file)
    included = _INCLUDE.match(joined.text)
    if included:
        return Line(place, include=included.group(1))
    settings, end = [], 0
    while match := _PAIR.match(joined.text, end):
        group = 3 if match.group(3) is not None else 4
        settings.append(
            Setting(
                match.group(1),
                match.group(group),
                joined.place(match.start(1), file),
                joined.place(match.start(group), file),
                match.group(2),
            )
        )
        end = match.end()
    rest = joined.text[end:]
    if not rest.strip():
        return Line(place, tuple(settings))
    rest_place = joined.place(end + len(rest) - len(rest.lstrip()), file)
    return Line(place, tuple(settings), rest.strip(), rest_place)


def write(lines: Iterable[Line]) -> str:
    """Text that reads as these lines. Places, comments and line breaks are not kept."""
    return "".join(_text_of(line) + "\n" for line in lines)


def _text_of(line: Line) -> str:
    if line.include is not None:
        return f"Include {_escaped(line.include)}"
    pairs = [f"{item.key}{item.operator}={_written(item.value)}" for item in line.settings]
    return " ".join([*pairs, *([_escaped(line.rest)] if line.rest else [])])


def _written(value: str) -> str:
    quoted = value == "" or re.search(r"\s", value) is not None
    return f'"{_escaped(value)}"' if quoted else _escaped(value)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("#", "\\#")
