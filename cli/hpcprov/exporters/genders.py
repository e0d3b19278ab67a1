"""A genders file: attributes of hosts, for pdsh -g and others."""

from __future__ import annotations

from hpcprov.site.rules import Draft
from hpcprov.slurm.hostlist import fold


def genders(draft: Draft) -> str:
    """Groups are attributes. Hosts with the same ones share a line."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for host in draft.site.cluster_hosts:
        alike.setdefault(tuple(sorted(host.groups - {"all"})), []).append(host.node_name)
    lines = [f"{fold(names)} {','.join(groups)}" for groups, names in alike.items()]
    return "\n".join([f"# Hosts of cluster {draft.site.cluster_name}", *lines]) + "\n"
