"""Do names lead to the right machines?"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from hpcprov.preflight import needs
from hpcprov.preflight.facts import Facts
from hpcprov.preflight.findings import Finding, Level
from hpcprov.preflight.look import Look
from hpcprov.preflight.rules.registry import rule
from hpcprov.site import Host

MENDED = "/etc/hosts does not have the cluster's names right; role base of the deploy writes it anew"
SHOWN = 4


@rule("own-name")
def own_name(look: Look) -> Iterator[Finding]:
    """Ranks of a job that find their own name at loopback wait for each other for ever.

    A host that no deploy has seen yet need not know its name: naming the hosts is what the deploy does.
    """
    for host, facts in look.hosts:
        found = facts.own_addresses
        if not host.cluster_address or found == [host.cluster_address]:
            continue
        if not found and not facts.hosts_file_is_ours:
            continue
        if host.cluster_address in found and not any(_is_loopback(address) for address in found):
            continue  # several addresses, such as both families
        where = ", ".join(found) or "nothing"
        message = f"the own name resolves to {where}, not to the cluster address"
        yield _finding(host, facts, "own-name", message)


@rule("site-names")
def site_names(look: Look) -> Iterator[Finding]:
    """Daemons, MPI and mounts call the other hosts by name. Hosts that join now need not be known yet."""
    expected = needs.site_names(look.site)
    deployed = {host.node_name for host, facts in look.hosts if facts.hosts_file_is_ours}
    new = expected.keys() - deployed
    for host, facts in look.hosts:
        if facts.names_time_out:
            yield Finding(
                host.name, "site-names", Level.WARNING, "looking up the site's names did not end within 10 s",
                "a name server in /etc/resolv.conf does not answer", "there: getent hosts; cat /etc/resolv.conf",
            )  # fmt: skip
        elif facts.hosts_file_is_ours:
            wrong = {
                name: got
                for name, got in facts.wrong_names.items()
                if name in expected and name != host.node_name and name not in new
            }
            if wrong:
                shown = [f"{name} is {got}, not {expected[name]}" for name, got in list(wrong.items())[:SHOWN]]
                more = f", and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
                yield Finding(host.name, "site-names", Level.WARNING, f"wrong names: {', '.join(shown)}{more}", MENDED)


def _finding(host: Host, facts: Facts, rule_name: str, message: str) -> Finding:
    if "/etc/hosts" in facts.mounts:
        cause = "/etc/hosts belongs to the container engine and cannot be replaced"
        fix = f"start the container with --no-hosts, or with --add-host={host.node_name}:{host.cluster_address}"
        return Finding(host.name, rule_name, Level.ERROR, message, cause, fix)
    if _in_hosts_file(host, facts) == host.cluster_address:
        order = " ".join(facts.lines("nsswitch")).strip() or "hosts: is missing"
        cause = f"/etc/hosts is right, but something else is asked first; /etc/nsswitch.conf says {order}"
        return Finding(host.name, rule_name, Level.ERROR, message, cause, "there: put files first on that line")
    return Finding(host.name, rule_name, Level.WARNING, message, MENDED)


def _in_hosts_file(host: Host, facts: Facts) -> str | None:
    """What /etc/hosts alone says: its first line with the name. Loopback lines count, wherever they stand."""
    found = [
        words[0]
        for line in facts.lines("hosts-file")
        if (words := line.split("#")[0].split()) and host.node_name in words[1:]
    ]
    return next((address for address in found if _is_loopback(address)), found[0] if found else None)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False
