"""Which hosts `--limit` means, by Ansible's rules for host patterns."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from hpcprov.errors import UsageError
from hpcprov.site import Host, Site


def limited(site: Site, pattern: str | None) -> list[Host]:
    """The cluster hosts that a pattern such as `compute:!node07` leaves. Raises UsageError when that is none."""
    hosts = site.cluster_hosts
    if pattern is None:
        return hosts
    if not pattern.strip():
        raise UsageError("--limit is empty", hint="leave it out to converge all hosts")
    try:
        chosen = _chosen(site, pattern)
    except re.error as error:
        raise UsageError(f"--limit {pattern}: {error}", hint="after ~ stands a regular expression") from None
    if not chosen:
        raise UsageError(
            f"--limit {pattern}: no host of the site matches", hint="use host or group names of the site file"
        )
    return [host for host in hosts if host.name in chosen]


def _chosen(site: Site, pattern: str) -> set[str]:
    hosts = site.cluster_hosts
    terms = [term.strip() for term in re.split(r"[,:](?![^\[]*\])", pattern) if term.strip()]
    # As Ansible: first everything named, then intersections, then exclusions, whatever the order.
    named = [term for term in terms if term[0] not in "&!"]
    chosen = {host.name for term in named for host in hosts if _matches(site, host, term)}
    if not named:
        chosen = {host.name for host in hosts}
    for term in terms:
        if term[0] == "&":
            chosen &= {host.name for host in hosts if _matches(site, host, term[1:])}
    for term in terms:
        if term[0] == "!":
            chosen -= {host.name for host in hosts if _matches(site, host, term[1:])}
    return chosen


def _matches(site: Site, host: Host, term: str) -> bool:
    if term in ("all", "*"):
        return True
    if term.startswith("~"):
        return any(re.match(term[1:], name) for name in (host.name, *host.groups))
    # `compute[0:3]` are the first four hosts of the group; it is no range of names
    name, numbers = _subscript(term)
    members = [member for group in site.groups if fnmatchcase(group, name) for member in site.groups[group]]
    members = members or [member for member in site.hosts if fnmatchcase(member, name)]
    return host.name in (members if numbers is None else members[numbers])


def _subscript(term: str) -> tuple[str, slice | None]:
    found = re.fullmatch(r"(.+)\[(-?\d+)(?:([:-])(-?\d*))?\]", term)
    if not found:
        return term, None
    name, first, separator, last = found.groups()
    start = int(first)
    if not separator:
        return name, slice(start, start + 1 if start != -1 else None)
    return name, slice(start, int(last) + 1 if last else None)
