"""The groups that say what a host is for."""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.errors import Finding
from hpcprov.site.findings import Place, did_you_mean
from hpcprov.site.model import GROUPS
from hpcprov.site.rules.registry import Draft, rule

_REQUIRED = {
    "controller": "slurmctld runs there",
    "compute": "jobs run there",
    "database": "accounting runs there; it may be the controller itself",
}


@rule("group-missing")
def required_groups(draft: Draft) -> Iterator[Finding]:
    """A cluster has a controller, a database for its accounting, and compute nodes."""
    strangers = [name for name in draft.tree.groups if name not in GROUPS]
    for name, reason in _REQUIRED.items():
        if draft.site.groups.get(name):
            continue
        entry = draft.tree.groups.get(name)
        if entry is not None:
            if draft.misread:
                continue  # its hosts may be what could not be read
            yield entry.place.finding("group-missing", f'group "{name}" has no hosts: {reason}')
            continue
        near = next((group for group in strangers if did_you_mean(group, [name])), None)
        hint = f'rename "{near}" to "{name}"' if near else f'add the group "{name}" with a host'
        place = draft.tree.groups[near].place if near else Place(draft.site.path)
        yield place.finding("group-missing", f'group "{name}" is missing: {reason}', hint=hint)


@rule("group-nearly")
def nearly_ours(draft: Draft) -> Iterator[Finding]:
    """A group whose name is nearly one of ours would be passed over in silence."""
    for name, entry in draft.tree.groups.items():
        inside_compute = "compute" in draft.tree.ancestors(name)
        missing = [group for group in GROUPS if group not in draft.tree.groups and group not in _REQUIRED]
        near = did_you_mean(name, missing)
        if name not in GROUPS and name != "all" and near and not inside_compute:
            yield entry.place.finding("group-nearly", f'group "{name}" has no meaning here', level="warning", hint=near)


@rule("host-without-purpose")
def purposeless_hosts(draft: Draft) -> Iterator[Finding]:
    """A host with a cluster address that is in none of our groups is left alone by every role."""
    for host in draft.site.hosts.values():
        if "cluster_address" in host.vars and not host.is_in(*GROUPS):
            yield draft.host_place(host.name).finding(
                "host-without-purpose",
                f"{host.name} has a cluster_address but is in none of {', '.join(GROUPS[:5])}",
                level="warning",
                hint="put it into a group, or it only appears in the hosts file",
            )
