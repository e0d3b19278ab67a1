"""Results of a bootstrap for people. Hosts with the same result are told together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hpcprov.bootstrap.steps import HostResult
from hpcprov.discovery.report import count
from hpcprov.preflight.report import hostlist


def lines(results: Iterable[HostResult], *, dry: bool) -> list[str]:
    """One line for each different result, with its hosts; what to do about failures below it."""
    alike: dict[tuple[str, str], list[str]] = {}
    for result in results:
        alike.setdefault((_words(result, dry), result.hint), []).append(result.host)
    said = []
    for (words, hint), hosts in alike.items():
        said.append(f"{hostlist(hosts)}: {words}")
        if hint:
            said.append(f"    next: {hint}")
    return said


def _words(result: HostResult, dry: bool) -> str:
    done = [step.words for step in result.steps if step.status in ("changed", "note")]
    if result.failed:
        return "FAILED: " + result.error + (f" (before that: {', '.join(done)})" if done else "")
    unproved = "; the login was not tried: the private key is not here" if result.proved is None and not dry else ""
    return (", ".join(done) if done else "nothing to change") + unproved


def summary(results: Sequence[HostResult], *, dry: bool) -> str:
    """One line."""
    failed = sum(result.failed for result in results)
    changed = sum(result.changed and not result.failed for result in results)
    words = "would change" if dry else "changed"
    parts = [f"{changed} {words}", f"{len(results) - failed - changed} ready already", f"{failed} failed"]
    return f"{count(len(results), 'host')}: {', '.join(part for part in parts if not part.startswith('0 '))}"
