"""A hosts file, the same that the cluster's hosts get."""

from __future__ import annotations

from hpcprov.errors import UsageError
from hpcprov.hosts_file import HostEntry, hosts_file
from hpcprov.site.rules import Draft


def hosts(draft: Draft) -> str:
    """Every host of the cluster with its address and names. Raises UsageError where a host has no usable address."""
    entries = [
        HostEntry(host.name, host.cluster_address, [str(name) for name in host.vars.get("cluster_aliases") or ()])
        for host in draft.site.cluster_hosts
    ]
    try:
        return hosts_file(entries, draft.site.cluster_domain)
    except ValueError as error:
        raise UsageError(f"no hosts file can be made: {error}") from error
