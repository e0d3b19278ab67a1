"""Collects what is wrong in a site, so that every mistake is told in one pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from hpcprov.errors import Finding, SiteError


@dataclass(frozen=True)
class Place:
    """A position in a file. Lines and columns count from 1; line 0 means the whole file."""

    file: Path
    line: int = 0
    column: int = 0

    def finding(self, rule: str, message: str, *, level: str = "error", hint: str | None = None) -> Finding:
        return Finding(self.file, self.line, self.column, rule, message, level, hint)


@dataclass
class Findings:
    """The findings of one check."""

    items: list[Finding] = field(default_factory=list)

    def error(self, place: Place, rule: str, message: str, hint: str | None = None) -> None:
        self.items.append(place.finding(rule, message, hint=hint))

    def warning(self, place: Place, rule: str, message: str, hint: str | None = None) -> None:
        self.items.append(place.finding(rule, message, level="warning", hint=hint))

    def ordered(self) -> list[Finding]:
        """Findings in file order, each said once."""
        return sorted(dict.fromkeys(self.items), key=lambda f: (str(f.file), f.line, f.column, f.rule))


def errors_of(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.level == "error"]


def site_error(path: Path, findings: Iterable[Finding]) -> SiteError:
    """The exception for a site with errors."""
    errors = errors_of(findings)
    count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
    return SiteError(f"{path} has {count}", errors)


# What these say about a host of a placeholder follows from it.
_FOLLOWS = ("address", "cluster-n", "host-name", "short-name", "mac")


def without_consequences(findings: Iterable[Finding]) -> list[Finding]:
    """Without findings that say once more of a placeholder, or of a number that YAML misreads, that it is no good."""
    listed = list(findings)
    lines = {(one.file, one.line) for one in listed if one.rule == "placeholder"}
    numbers = {(one.file, one.line, one.column) for one in listed if one.rule == "octal"}
    return [
        one
        for one in listed
        if not ((one.file, one.line) in lines and one.rule.startswith(_FOLLOWS))
        and not ((one.file, one.line, one.column) in numbers and one.rule != "octal")
    ]


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """`did you mean "x"?`, or nothing when no known word is near."""
    by_lower = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.7)
    return f'did you mean "{by_lower[near[0]]}"?' if near else None
