"""What a YAML parser's error means to the person who wrote the line."""

from __future__ import annotations

from pathlib import Path

import yaml

from hpcprov.site.findings import Place


def syntax_error(path: Path, content: str, error: yaml.YAMLError) -> tuple[Place, str, str, str | None]:
    """Place, rule, message and hint."""
    mark = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", None) or error).strip()
    start = getattr(error, "context_mark", None)
    if "unexpected end of stream" in problem and start is not None:
        mark, problem = start, "what starts here does not end: a quote or bracket is not closed"
    if mark is None:
        return Place(path), "yaml-syntax", problem, None
    lines = content.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    hint = None
    if "\t" in line[: mark.column + 1]:
        hint = "indent with spaces; YAML does not allow tabs"
    elif "mapping values are not allowed" in problem:
        hint = "quote a value that holds a colon, or check the indentation"
    elif "did not find expected" in problem or "could not find expected" in problem:
        hint = "check the indentation, quotes and brackets at this line and the one before"
    elif line.lstrip().startswith(("%", "@", "`")) or "{{" in line:
        hint = 'quote a value that starts with a special character: "{{ … }}"'
    return Place(path, mark.line + 1, mark.column + 1), "yaml-syntax", problem, hint
