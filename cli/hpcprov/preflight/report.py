"""Findings as text. Hosts about which the same is to be said are told together."""

from __future__ import annotations

from collections.abc import Iterable

from hpcprov.preflight.findings import Finding
from hpcprov.preflight.result import PreflightResult
from hpcprov.site.model import short_name
from hpcprov.slurm.hostlist import fold


def folded(findings: Iterable[Finding]) -> list[tuple[str, Finding]]:
    """Each different finding once, with its hosts as a hostlist."""
    alike: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        key = (finding.level.value, finding.rule, finding.message, finding.cause, finding.fix)
        alike.setdefault(key, []).append(finding)
    return [(hostlist([each.host for each in members]), members[0]) for members in alike.values()]


def hostlist(names: list[str]) -> str:
    """node[01-04]; names with a domain are told one by one."""
    unique = list(dict.fromkeys(names))
    return fold(unique) if all(short_name(name) == name for name in unique) else ", ".join(unique)


def render(findings: Iterable[Finding]) -> list[str]:
    """Lines for a person: what, why, what to do."""
    lines = []
    for hosts, finding in folded(findings):
        lines.append(f"{finding.level.value}: {hosts}: {finding.message} ({finding.rule})")
        if finding.cause:
            lines.append(f"    cause: {finding.cause}")
        if finding.fix:
            lines.append(f"    fix:   {finding.fix}")
    return lines


def summary(result: PreflightResult) -> str:
    """One line: how many were asked, and what came of it."""
    hosts = _count(len(result.asked), "host")
    if not result.findings:
        return f"{hosts}, nothing found"
    counts = [(result.errors, "error"), (result.warnings, "warning")]
    return f"{hosts}, " + ", ".join(_count(len(folded(found)), word) for found, word in counts if found)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
