"""ClusterShell's groups, for /etc/clustershell/groups.d/NAME.yaml."""

from __future__ import annotations

from hpcprov.site.flow import flow
from hpcprov.site.rules import Draft
from hpcprov.slurm.hostlist import fold


def clustershell(draft: Draft) -> str:
    """One group source named after the cluster. `all` holds the hosts of the cluster."""
    site = draft.site
    groups = {"all": [host.name for host in site.cluster_hosts]}
    groups |= {name: list(names) for name, names in site.groups.items() if name != "all" and names}
    lines = [f"  {flow(name)}: {flow([fold(names)])[1:-1]}" for name, names in groups.items()]
    return "\n".join([f"# Groups of cluster {site.cluster_name}", f"{flow(site.cluster_name)}:", *lines]) + "\n"
