"""What a task changed, or would change, in words: the things by name, and the diff."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any

from hpcprov.ansible.events import TaskEnded

# Lists in the results of our own modules that name what changed.
NAMED = ("created", "started", "restarted", "reloaded", "stopped", "enabled")
NO_TEXT = {
    "src_binary": "the new content is binary",
    "dst_binary": "the old content is binary",
    "src_larger": "the new content is too large to be shown",
    "dst_larger": "the old content is too large to be shown",
}


def heading(event: TaskEnded) -> str:
    """Host, role and task, and what it changes by name."""
    where = f"{event.role}: {event.task}" if event.role else event.task
    names = _names(event.result)
    return f"{event.host}: {where}" + (f" ({names})" if names else "")


def diff_lines(event: TaskEnded) -> list[str]:
    """The unified diff of everything that the task changed; empty when the module tells none."""
    return [line for result in _results(event.result) for diff in _diffs(result) for line in _lines(diff)]


def _results(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The results of a loop's elements, else the one result."""
    items = result.get("results")
    if isinstance(items, list) and items and all(isinstance(item, dict) for item in items):
        return items
    return [result]


def _names(result: dict[str, Any]) -> str:
    parts = []
    for key in ("changed_files", *NAMED):
        named = [str(name) for item in _results(result) for name in _list(item.get(key))]
        if named:
            parts.append(", ".join(named) if key == "changed_files" else f"{key}: {', '.join(named)}")
    return "; ".join(parts)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _diffs(result: dict[str, Any]) -> list[dict[str, Any]]:
    if not result.get("changed"):
        return []
    found = result.get("diff") or []
    return [diff for diff in (found if isinstance(found, list) else [found]) if isinstance(diff, dict)]


def _lines(diff: dict[str, Any]) -> Iterator[str]:
    for key, words in NO_TEXT.items():
        if diff.get(key):
            yield f"no diff: {words}"
    if "before" in diff and "after" in diff:
        old = str(diff.get("before_header") or "before")
        new = str(diff.get("after_header") or "after")
        before, after = _text(diff["before"]), _text(diff["after"])
        yield from difflib.unified_diff(before, after, old, new, lineterm="")
    if prepared := diff.get("prepared"):
        yield from str(prepared).splitlines()


def _text(value: Any) -> list[str]:
    """The lines of a file; modules that compare attributes hand over a mapping instead."""
    if isinstance(value, str):
        return value.splitlines()
    return json.dumps(value, indent=2, sort_keys=True).splitlines() if value else []
