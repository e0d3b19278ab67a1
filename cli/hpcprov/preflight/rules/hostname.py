"""Is the host called what the site calls it?"""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.preflight import needs
from hpcprov.preflight.facts import Facts
from hpcprov.preflight.findings import Finding, Level
from hpcprov.preflight.look import Look
from hpcprov.preflight.rules.registry import rule
from hpcprov.site import Host
from hpcprov.slurm.hostlist import fold


@rule("hostname")
def hostname(look: Look) -> Iterator[Finding]:
    """slurmd finds its line in slurm.conf by the hostname."""
    for host, facts in look.hosts:
        found = short(facts)
        if found and found != host.node_name:
            level, cause, fix = remedy(host, facts)
            message = f"the hostname is {found}, not the node name of the site file"
            yield Finding(host.name, "hostname", level, message, cause, fix)


@rule("same-hostname")
def same_hostname(look: Look) -> Iterator[Finding]:
    """Two machines of one name are one node to Slurm, and take turns in losing its jobs."""
    owners: dict[str, list[tuple[Host, Facts]]] = {}
    for host, facts in look.hosts:
        owners.setdefault(short(facts), []).append((host, facts))
    for name, members in owners.items():
        machines = {facts.identity.get("instance") or host.name for host, facts in members}
        if not name or len(machines) < 2:
            continue
        listed = fold(host.name for host, _ in members)
        for host, facts in members:
            level, cause, fix = remedy(host, facts)
            if name == host.node_name:  # rightly so; what is said about the others covers it
                continue
            message = f"{len(members)} machines have the hostname {name}: {listed}"
            yield Finding(host.name, "same-hostname", level, message, cause, fix)


def short(facts: Facts) -> str:
    """The first label of the hostname."""
    return facts.hostname.split(".")[0]


def remedy(host: Host, facts: Facts) -> tuple[Level, str, str]:
    """Level, cause and fix of a wrong hostname: mostly the deploy sets it."""
    if not needs.manages_hostname(host):
        fix = f"there: hostnamectl set-hostname {host.node_name}; or let the deploy do it: base_manage_hostname: true"
        return Level.ERROR, "the site says that hostnames are not ours to set (base_manage_hostname: false)", fix
    if "/etc/hostname" in facts.mounts:
        fix = f"start the container with --hostname={host.node_name}; for now, there: hostname {host.node_name}"
        return Level.ERROR, "it cannot be set here: /etc/hostname belongs to the container engine", fix
    return Level.WARNING, "the deploy sets it (base_manage_hostname)", ""
