"""Changes in YAML text that touch only the lines they must.

A round trip through a library rewrites blanks, indents and folds all over a file. Here the parser only tells where
things stand; the text is cut there and nowhere else, so comments, order, quotes and anchors stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from hpcprov.errors import UsageError
from hpcprov.site.flow import flow

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML without libyaml: slower, the same result
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

_STEP = 2


@dataclass
class Part:
    """A piece of YAML text: `text[start:end]`, with its anchor and tag. An alias is a part of its own."""

    kind: str
    start: int
    end: int
    column: int = 0
    value: str = ""
    anchor: str | None = None
    is_flow: bool = False
    items: list[tuple[Part, Part]] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written here, as behind `head:`."""
        return self.kind == "scalar" and self.start == self.end

    @property
    def is_null(self) -> bool:
        return self.kind == "scalar" and self.value in ("", "~", "null")

    @property
    def is_block(self) -> bool:
        return self.kind == "map" and not self.is_flow

    def entry(self, key: str) -> tuple[Part, Part] | None:
        """The last entry of that key: the one that counts."""
        return next(((name, value) for name, value in reversed(self.items) if name.value == key), None)


class YamlText:
    """YAML text with the changes that were asked for. Nothing changes before `result`.

    `text` must be valid YAML with a mapping at its top. Raises UsageError where it is written in a way that cannot be
    changed piece by piece.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.root = self._read()
        self._cuts: list[tuple[int, int, str]] = []

    def result(self) -> str:
        """The text with all changes."""
        text, behind = self.text, len(self.text)
        # From the end, so that the places before stay right; what is inserted at one place keeps its order.
        ordered = sorted(enumerate(self._cuts), key=lambda cut: (cut[1][0], cut[0]), reverse=True)
        for _, (start, end, new) in ordered:
            if end > behind:
                raise UsageError("two changes of the site file overlap", hint="make them one after the other")
            text, behind = text[:start] + new + text[end:], start
        return text

    def line(self, part: Part) -> int:
        """The line of a part, from 1."""
        return self.text.count("\n", 0, part.start) + 1

    def rekey(self, mapping: Part, changes: Mapping[int, Sequence[str]]) -> None:
        """Give the entries with these indices other keys: none drops the entry, several write it several times."""
        if mapping.is_flow:
            self._rekey_flow(mapping, changes)
            return
        for index, names in changes.items():
            key, value = mapping.items[index]
            if not names:
                self._cut(self._line_start(key.start), self._line_end(max(key.end, value.end)) + 1, "")
                continue
            self._cut(key.start, key.end, flow(names[0]))
            pad = " " * key.column
            copies = "".join(f"\n{pad}{flow(name)}{self._copied(key, value)}" for name in names[1:])
            end = self._line_end(max(key.end, value.end))
            if copies:
                self._cut(end, end, copies)

    def _rekey_flow(self, mapping: Part, changes: Mapping[int, Sequence[str]]) -> None:
        kept: list[tuple[str, str]] = []  # what stands before the entry, the entry
        behind = mapping.items[0][0].start
        for index, (key, value) in enumerate(mapping.items):
            before = self.text[behind : key.start] if index else ""
            end = behind = max(key.end, value.end)
            names = changes.get(index)
            if names is None:
                kept.append((before, self.text[key.start : end]))
                continue
            for number, name in enumerate(names):
                tail = self._copied(key, value) if number else self.text[key.end : end]
                kept.append((", " if number else before, _inside(name) + tail))
        inside = "".join((before or ", ") + entry if number else entry for number, (before, entry) in enumerate(kept))
        self._cut(mapping.items[0][0].start, behind, inside)

    def _copied(self, key: Part, value: Part) -> str:
        """What stands behind a key, once more. An anchor has one place only, so a copy refers to it."""
        if value.anchor is not None and value.kind != "alias":
            return f": *{value.anchor}"
        return self.text[key.end : max(key.end, value.end)]

    def add(self, mapping: Part, entries: Mapping[str, Any], *, levels: int = 0) -> None:
        """Put entries behind the others of a mapping that has some. `levels` of the values are written as blocks."""
        last_key, last_value = mapping.items[-1]
        end = max(last_key.end, last_value.end)
        if mapping.is_flow:
            self._cut(end, end, "".join(f", {_flow_entry(key, value)}" for key, value in entries.items()))
            return
        column = mapping.items[0][0].column
        at = self._behind_comments(self._line_end(end), column)
        lines = _block_lines(entries, column, levels)
        self._cut(at, at, "".join(f"\n{line}" for line in lines))

    def fill(self, key: Part, value: Part, entries: Mapping[str, Any], *, levels: int = 0, in_flow: bool) -> None:
        """Give a key that holds nothing (`head:`, `{}`) these entries; with `levels` as a block below it."""
        if in_flow or levels == 0 or (value.kind == "map" and value.is_flow):
            self.replace(key, value, dict(entries))
            return
        if not value.is_empty:
            self._cut(value.start, value.end, "")
        at = self._line_end(key.end)
        lines = _block_lines(entries, key.column + _STEP, levels - 1)
        self._cut(at, at, "".join(f"\n{line}" for line in lines))

    def replace(self, key: Part, value: Part, new: Any) -> None:
        """Give a key another value, on one line."""
        written = _inside(new)
        if value.is_empty:
            colon = self.text.find(":", key.end, max(value.end, key.end) + 1)
            at = key.end if colon < 0 else colon + 1
            self._cut(at, at, f": {written}" if colon < 0 else f" {written}")
        elif "\n" in self.text[key.end : value.start]:
            colon = self.text.index(":", key.end) + 1
            self._cut(colon, colon, f" {written}")
            self._cut(self._line_end(key.end), self._line_end(value.end), "")
        else:
            self._cut(value.start, value.end, written)

    def append(self, lines: Mapping[str, Any], *, levels: int) -> None:
        """Put entries at the end of the whole file."""
        if self.root.is_flow:
            self.add(self.root, lines)
            return
        lead = "" if self.text.endswith("\n") else "\n"
        self._cut(len(self.text), len(self.text), lead + "\n" + "\n".join(_block_lines(lines, 0, levels)) + "\n")

    def _cut(self, start: int, end: int, new: str) -> None:
        self._cuts.append((start, min(end, len(self.text)), new))

    def _column(self, index: int) -> int:
        return index - self._line_start(index)

    def _line_start(self, index: int) -> int:
        return self.text.rfind("\n", 0, index) + 1

    def _line_end(self, index: int) -> int:
        """Before the line break; the blank that a carriage return is stays with it."""
        end = self.text.find("\n", index)
        end = len(self.text) if end < 0 else end
        return end - 1 if end and self.text[end - 1] == "\r" and end > index else end

    def _behind_comments(self, at: int, column: int) -> int:
        """The end of the comments below `at` that are indented deeper than `column`: they belong to what is above."""
        while at < len(self.text):
            start = self.text.find("\n", at) + 1
            end = self._line_end(start)
            line = self.text[start:end]
            if start == 0 or not line.lstrip().startswith("#") or len(line) - len(line.lstrip()) <= column:
                break
            at = end
        return at

    def _read(self) -> Part:
        events = yaml.parse(self.text, Loader=_Loader)
        for event in events:
            if isinstance(event, yaml.MappingStartEvent):
                return self._part(event, events)
            if isinstance(event, yaml.ScalarEvent | yaml.SequenceStartEvent):
                break
        raise UsageError("the site file holds no groups", hint="hpcprov init writes one to start from")

    def _part(self, event: yaml.Event, events: Iterator[yaml.Event]) -> Part:
        start, end = _index(event.start_mark), _index(event.end_mark)
        if isinstance(event, yaml.ScalarEvent):
            if event.style in ("|", ">"):
                end = start + len(self.text[start:end].rstrip())
            return Part("scalar", start, end, self._column(start), event.value, event.anchor)
        if isinstance(event, yaml.AliasEvent):
            return Part("alias", start, end, self._column(start), anchor=event.anchor)
        if isinstance(event, yaml.MappingStartEvent):
            part = Part("map", start, end, anchor=event.anchor, is_flow=bool(event.flow_style))
            return self._mapping(part, events)
        assert isinstance(event, yaml.SequenceStartEvent), "no other event begins a value"
        part = Part("list", start, end, anchor=event.anchor, is_flow=bool(event.flow_style))
        for inner in events:
            if isinstance(inner, yaml.SequenceEndEvent):
                part.end = _index(inner.end_mark) if part.is_flow else part.end
                break
            part.end = max(part.end, self._part(inner, events).end)
        return part

    def _mapping(self, part: Part, events: Iterator[yaml.Event]) -> Part:
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                part.end = _index(event.end_mark) if part.is_flow else part.end
                break
            key = self._part(event, events)
            value = self._part(next(events), events)
            part.items.append((key, value))
            part.end = max(part.end, key.end, value.end)
        return part


def _index(mark: Any) -> int:
    return int(mark.index)


def _flow_entry(key: str, value: Any) -> str:
    return f"{_inside(key)}:" if value is None else f"{_inside(key)}: {_inside(value)}"


def _inside(value: Any) -> str:
    """A key or value as it is written between braces, where brackets need quotes."""
    return flow([value])[1:-1]


def _block_lines(entries: Mapping[str, Any], column: int, levels: int) -> list[str]:
    pad, lines = " " * column, []
    for key, value in entries.items():
        if value is None or value == {}:
            lines.append(f"{pad}{flow(key)}:")
        elif levels > 0 and isinstance(value, Mapping):
            lines.append(f"{pad}{flow(key)}:")
            lines += _block_lines(value, column + _STEP, levels - 1)
        else:
            lines.append(f"{pad}{flow(key)}: {_inside(value)}")
    return lines
