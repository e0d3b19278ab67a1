"""What became of each thing that an imported file says. Nothing may be missing here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from hpcprov.site.findings import Place

_SECRET = re.compile(r"pass(?:word|wd|phrase)?(?:$|[_\d])|pass$|secret|token|private_key$|credential", re.IGNORECASE)


class Fate(StrEnum):
    """`added` is what the importer decided by itself; `fill` is what the admin must write."""

    MAPPED = "mapped"
    CHANGED = "changed"
    LEFT = "not carried"
    CONFLICT = "conflict"
    ADDED = "added"
    FILL = "to fill in"


@dataclass(frozen=True)
class Note:
    """One `key` of the input at `place`. `what` shows it, `result` says where it went or why it did not."""

    fate: Fate
    place: Place
    key: str
    what: str
    result: str
    hint: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The note as `--json` prints it."""
        return {
            "fate": str(self.fate),
            "file": str(self.place.file),
            "line": self.place.line,
            "key": self.key,
            "what": self.what,
            "result": self.result,
            "hint": self.hint,
        }


@dataclass
class Notes:
    """Notes in the order in which they were made, each once."""

    _items: dict[Note, None] = field(default_factory=dict)

    @property
    def items(self) -> list[Note]:
        return list(self._items)

    def add(self, fate: Fate, place: Place, key: str, value: object, result: str, *, hint: str | None = None) -> None:
        self._items[Note(fate, place, key, shown(key, value), result, hint)] = None

    def mapped(self, place: Place, key: str, value: object, result: str) -> None:
        self.add(Fate.MAPPED, place, key, value, result)

    def changed(self, place: Place, key: str, value: object, result: str, hint: str | None = None) -> None:
        self.add(Fate.CHANGED, place, key, value, result, hint=hint)

    def left(self, place: Place, key: str, value: object, result: str, hint: str | None = None) -> None:
        self.add(Fate.LEFT, place, key, value, result, hint=hint)


def is_secret(key: str) -> bool:
    """Whether a variable of this name holds a password or the like."""
    return bool(_SECRET.search(key)) and not key.lower().endswith(("_file", "_path"))


def shown(key: str, value: object) -> str:
    """`key=value` as it may stand in a list; a secret is not shown, a long value is cut."""
    if value is None or value == "":
        return key
    if is_secret(key):
        return f"{key}=(a secret)"
    if isinstance(value, Mapping | list | tuple):
        return f"{key} ({len(value)} parts)"  # one of them may be a secret
    text = " ".join(str(value).split())
    return f"{key}={text if len(text) <= 60 else text[:57] + '...'}"
