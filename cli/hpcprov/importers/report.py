"""The list of what became of everything that was read."""

from __future__ import annotations

import json
from collections.abc import Iterable

from hpcprov.importers.notes import Fate, Note

# What matters most comes last, where it is still on the screen.
_ORDER = (Fate.MAPPED, Fate.ADDED, Fate.CHANGED, Fate.LEFT, Fate.CONFLICT, Fate.FILL)
_MOST_ALIKE = 3
_WIDEST = 64


def to_json(notes: Iterable[Note]) -> str:
    return json.dumps([note.as_dict() for note in notes], indent=2)


def report(notes: Iterable[Note]) -> str:
    """All notes as text, those of one fate together; many alike are told by the first ones and their number."""
    by_fate: dict[Fate, list[Note]] = {}
    for note in notes:
        by_fate.setdefault(note.fate, []).append(note)
    lines: list[str] = []
    for fate in _ORDER:
        if fate in by_fate:
            lines += [f"{str(fate).capitalize()} ({len(by_fate[fate])})", *_section(by_fate[fate]), ""]
    return "\n".join(lines).rstrip()


def _section(notes: list[Note]) -> Iterable[str]:
    alike: dict[tuple[str, str, str], list[Note]] = {}
    for note in notes:
        # Hosts differ, and what is said about them does not.
        result = " ".join("*" if any(char.isdigit() for char in word) else word for word in note.result.split())
        key = "" if any(char.isdigit() for char in note.key) else note.key
        alike.setdefault((str(note.place.file), key, result), []).append(note)
    width = min(_WIDEST, max(len(_left(note)) for note in notes))
    for group in alike.values():
        shown = group if len(group) <= _MOST_ALIKE or group[0].fate is Fate.FILL else group[:1]
        for note in shown:
            yield f"{_left(note):{width}}  {note.result}"
        if len(shown) < len(group):
            yield f"      and {len(group) - len(shown)} more alike (--json lists all)"
        if group[0].hint:
            yield f"      {group[0].hint}"


def _left(note: Note) -> str:
    where = f"{note.place.file}:{note.place.line}" if note.place.line else str(note.place.file)
    return f"  {where}  {note.what}"
