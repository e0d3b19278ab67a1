"""Does a packet filter close what the site needs?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hpcprov.preflight import needs
from hpcprov.preflight.facts import Facts
from hpcprov.preflight.findings import Finding, Level
from hpcprov.preflight.firewall import Outcome, Packet
from hpcprov.preflight.look import OPEN, SILENT, Call, Look
from hpcprov.preflight.rules.registry import rule
from hpcprov.site import Host, Site
from hpcprov.slurm.hostlist import fold


@rule("firewall")
def firewall(look: Look) -> Iterator[Finding]:
    """Slurm's daemons call each other both ways; a closed port makes nodes `down` or lets `srun` hang."""
    suspects = filtering(look) | {call[0] for call, came in look.calls.items() if came == SILENT}
    for host, facts in look.hosts:
        for wanted in [*needs.ports(look.site, host), *filter(None, [needs.job_ports(look.site, host)])]:
            if host.name in suspects or suspects.intersection(wanted.callers):
                yield from _findings(look, host, facts, wanted)


def filtering(look: Look) -> set[str]:
    """The hosts that show packet filters."""
    return {host.name for host, facts in look.hosts if facts.filter.active}


def doubtful_calls(look: Look) -> list[Call]:
    """Connections worth a try: a daemon listens, and a packet filter on the way might not let them through.

    Where no host filters anything nobody calls, since daemons log callers that say nothing.
    """
    behind_filters = filtering(look)
    calls = []
    for host, facts in look.hosts:
        listening = {listener.port for listener in facts.listeners}
        for wanted in needs.ports(look.site, host):
            if wanted.number in listening:
                calls += [
                    (caller, host.name, wanted.number)
                    for caller in _witnesses(wanted)
                    if caller in look.facts and behind_filters.intersection((caller, host.name))
                ]
    return calls


def _witnesses(wanted: needs.Port) -> tuple[str, ...]:
    """Callers that stand for all: nodes are many and alike."""
    return wanted.callers[:1] + wanted.callers[-1:] if len(wanted.callers) > 2 else wanted.callers


def _findings(look: Look, host: Host, facts: Facts, wanted: needs.Port) -> Iterator[Finding]:
    closed: dict[Outcome | None, list[str]] = {}
    for caller in wanted.callers:
        came = look.calls.get((caller, host.name, wanted.number))
        why = _closes(look, host, facts, look.site.hosts[caller], wanted)
        if came != OPEN and (why or came == SILENT):
            closed.setdefault(why, []).append(caller)
    level = Level.ERROR if wanted.programs else Level.WARNING
    port = f"port {wanted.number} ({wanted.purpose})" if wanted.programs else f"ports for {wanted.purpose}"
    for why, callers in closed.items():
        message = f"{'closed:' if why else 'no answer on'} {port} for {fold(callers)}"
        yield Finding(host.name, "firewall", level, message, _cause(why, facts), _fix(why, look.site))


def _closes(look: Look, host: Host, facts: Facts, caller: Host, wanted: needs.Port) -> Outcome | None:
    """The rule that closes a port of `host` for another host, on either of them."""
    if not (host.cluster_address and caller.cluster_address):
        return None
    interface = facts.interfaces.get(host.cluster_address)
    packet = Packet(caller.cluster_address, host.cluster_address, wanted.number, interface)
    if why := facts.filter.closes(packet, "prerouting", "input"):
        return why
    theirs = look.facts.get(caller.name)
    leaving = theirs.filter.closes(replace(packet, interface=None), "output") if theirs else None
    return Outcome(f"on {caller.name}, {leaving.where}", leaving.rule) if leaving else None


def _cause(why: Outcome | None, facts: Facts) -> str:
    if why:
        return f"{why.where}: {why.rule}"
    if facts.filter.active:
        return "its packet filter, whose rules only a try can tell, or a firewall in between"
    return "no packet filter of this host says so: one of the caller or in between"


def _fix(why: Outcome | None, site: Site) -> str:
    network = site.cluster_network
    if why is None:
        return f"let {network} talk to itself on all TCP ports"
    where = why.where
    if "firewalld" in where:
        return f"as root there: firewall-cmd --permanent --zone=trusted --add-source={network} && firewall-cmd --reload"
    if "ufw" in where:
        return f"as root there: ufw allow from {network}"
    if "iptables" in where:
        chain = "OUTPUT -d" if "OUTPUT" in where else "INPUT -s"
        return f"as root there: iptables -I {chain} {network} -j ACCEPT, and keep it over a boot"
    table, _, name = where.partition("nft table ")[2].partition(", chain ")
    side = "daddr" if where.startswith("on ") else "saddr"
    added = f"nft insert rule {table} {name} {'ip6' if ':' in network else 'ip'} {side} {network} accept"
    return f"as root there: {added}, and keep it in /etc/nftables.conf"
