"""Findings as a person reads them: where, what, the line itself with a caret, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from hpcprov.errors import Finding

# A setting whose value is a secret, in YAML, INI and Slurm's files; a template or a path is none.
_SECRET = re.compile(
    r"(\w*(?:pass|passwd|password|secret|token)\w*[\"']?\s*[:=]\s*)(?![\s\"']*(?:\{\{|!vault|/))(\S.*)", re.I
)


def render(findings: Iterable[Finding]) -> str:
    """All findings as text."""
    return "\n".join(line for finding in findings for line in _lines(finding))


def summary(findings: Iterable[Finding]) -> str:
    """`2 errors, 1 warning`."""
    levels = [finding.level for finding in findings]
    parts = [_count(levels.count(level), level) for level in ("error", "warning") if level in levels]
    return ", ".join(parts) or "no errors"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{finding}" if finding.level == "error" else f"{finding} ({finding.level})"
    source = _source(finding.file)
    if 0 < finding.line <= len(source):
        line = without_secrets(source[finding.line - 1].rstrip())
        yield f"    {line}"
        # A tab before the caret keeps it below its character.
        lead = "".join("\t" if char == "\t" else " " for char in line[: finding.column - 1])
        yield f"    {lead}^"
    if finding.hint:
        yield f"    {finding.hint}"


def without_secrets(line: str) -> str:
    """The line as it may be shown: what stands behind the name of a secret is starred."""
    return _SECRET.sub(lambda match: match.group(1) + "*" * 8, line)


@lru_cache(maxsize=64)
def _source(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
