"""A site as people look at it: hosts by purpose, the tree of groups, one host with where each variable comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from hpcprov.site.flow import flow
from hpcprov.site.model import Host, Site
from hpcprov.site.rules import Draft
from hpcprov.site.scalars import Vaulted
from hpcprov.slurm.hostlist import fold

_SECRET = re.compile(r"pass(?:wd|word)?$|passphrase|secret|token|_key$", re.IGNORECASE)
_NO_SECRET = re.compile(r"_file$|_path$|cluster_mac$")
HIDDEN = "********"


def host_rows(site: Site) -> list[dict[str, Any]]:
    """Every host with its addresses and its groups, in file order."""
    return [
        {
            "name": host.name,
            "node_name": host.node_name,
            "address": host.address,
            "cluster_address": host.cluster_address or None,
            "groups": _groups(host),
        }
        for host in site.hosts.values()
    ]


def list_lines(site: Site) -> Iterator[str]:
    """Hosts that are in the same groups on one line, as a hostlist."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for host in site.hosts.values():
        alike.setdefault(tuple(_groups(host)), []).append(host.name)
    rows = [(fold(hosts), str(len(hosts)), ", ".join(groups)) for groups, hosts in alike.items()]
    name, count = (max(len(row[column]) for row in rows) for column in (0, 1))
    for hosts, number, groups in rows:
        yield f"{hosts:{name}}  {number:>{count}}  {groups}".rstrip()


def _groups(host: Host) -> list[str]:
    return sorted(host.groups - {"all"})


def graph(draft: Draft) -> dict[str, Any]:
    """The tree of groups: for each its direct hosts and its child groups. Top-level groups are those without parent."""

    def one(name: str) -> dict[str, Any]:
        entry = draft.tree.groups[name]
        return {
            "hosts": list(entry.hosts),
            "hostlist": fold(entry.hosts),
            "children": {child: one(child) for child in entry.children},
        }

    return {name: one(name) for name, entry in draft.tree.groups.items() if not entry.parents and name != "all"}


def graph_lines(groups: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """The tree of `graph` as text."""
    for name, group in groups.items():
        count = len(group["hosts"])
        hosts = f": {group['hostlist']} ({count})" if count > 1 else f": {group['hostlist']}" if count else ""
        yield f"{indent}{name}{hosts}"
        yield from graph_lines(group["children"], indent + "  ")


def host_details(draft: Draft, name: str) -> dict[str, Any]:
    """One host: what it is, and each variable with its value and the place that decides it. Secrets are starred."""
    host = draft.site.hosts[name]
    variables = {}
    for key in sorted(host.vars):
        place = draft.place_of(host, key)
        variables[key] = {"value": hidden(key, host.vars[key]), "file": str(place.file), "line": place.line}
    return {
        "name": host.name,
        "node_name": host.node_name,
        "address": host.address,
        "cluster_address": host.cluster_address or None,
        "user": host.user,
        "port": host.port or 22,
        "groups": _groups(host),
        "vars": variables,
    }


def detail_lines(details: Mapping[str, Any]) -> Iterator[str]:
    """The result of `host_details` as text."""
    yield f"{details['name']}: {', '.join(details['groups'])}"
    login = f"{details['user']}@" if details["user"] else ""
    yield f"  SSH      {login}{details['address']} port {details['port']}"
    yield f"  cluster  {details['cluster_address'] or 'no address'}, NodeName {details['node_name']}"
    width = max((len(name) for name in details["vars"]), default=0)
    for name, variable in details["vars"].items():
        yield f"  {name:{width}}  {flow(variable['value'])}  # {variable['file']}:{variable['line']}"


def hidden(name: str, value: Any) -> Any:
    """A value as it may be shown: what is encrypted or a password is not."""
    if isinstance(value, Vaulted):
        return "(encrypted)"
    if isinstance(value, Mapping):
        return {key: hidden(str(key), item) for key, item in value.items()}
    if isinstance(value, list):
        return [hidden(name, item) for item in value]
    return HIDDEN if is_secret(name) and value not in (None, "") else value


def is_secret(name: str) -> bool:
    """Whether a variable of that name holds a secret."""
    return bool(_SECRET.search(name)) and not _NO_SECRET.search(name)
