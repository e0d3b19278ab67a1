"""One finding for the hosts of one range, instead of the same words for each of them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable
from dataclasses import replace

from hpcprov.errors import Finding
from hpcprov.site.model import short_name
from hpcprov.slurm.hostlist import fold

_WORD = re.compile(r"[\w.:-]*[\w-]")


def fold_ranges(findings: Iterable[Finding], hosts: Collection[str]) -> list[Finding]:
    """Findings of one place that differ only in host names and addresses become one that names all of the hosts.

    A range such as node[001:064] is one place, so a mistake in it would be told sixty-four times.
    """
    alike: dict[tuple[object, ...], list[tuple[Finding, str | None]]] = {}
    for finding in findings:
        shape, subject = _shape(finding.message, hosts)
        key = (finding.file, finding.line, finding.column, finding.rule, finding.level, shape)
        alike.setdefault(key, []).append((finding, subject))
    return [finding for members in alike.values() for finding in _folded(members)]


def _folded(members: list[tuple[Finding, str | None]]) -> list[Finding]:
    first, _ = members[0]
    subjects = {host: None for _, host in members if host is not None}
    if len(members) == 1 or len(subjects) < len(members):
        return [finding for finding, _ in members]  # not one for each host: every one says something else
    others = list(subjects)[1:]
    return [replace(first, message=f"{first.message} (the same for {len(others)} more: {_names(others)})")]


def _names(hosts: list[str]) -> str:
    """node[02-16]; names with a domain are told by their first and last."""
    if all(short_name(host) == host for host in hosts):
        return fold(hosts)
    return hosts[0] if len(hosts) == 1 else f"{hosts[0]} to {hosts[-1]}"


def _shape(message: str, hosts: Collection[str]) -> tuple[str, str | None]:
    """The message without its host names and addresses, and the host that it names first."""
    named: list[str] = []

    def blank(match: re.Match[str]) -> str:
        word = match.group()
        if word.rstrip(":") in hosts:
            named.append(word.rstrip(":"))
            return "<host>"
        return "<address>" if _is_address(word.rstrip(":")) else word

    return _WORD.sub(blank, message), next(iter(named), None)


def _is_address(word: str) -> bool:
    if not ("." in word or ":" in word):
        return False
    try:
        ipaddress.ip_address(word)
    except ValueError:
        return False
    return True
