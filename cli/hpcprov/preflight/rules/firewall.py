"""Does a packet filter close what the site needs?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from hpcprov.preflight import needs
from hpcprov.preflight.facts import Facts
from hpcprov.preflight.findings import Finding, Level
from hpcprov.preflight.firewall import Filter, Outcome, Packet
from hpcprov.preflight.look import OPEN, SILENT, Call, Look
from hpcprov.preflight.rules.registry import rule
from hpcprov.site import Host, Site
from hpcprov.slurm.hostlist import fold


@rule("firewall")
def firewall(look: Look) -> Iterator[Finding]:
    """Slurm's daemons call each other both ways; a closed port makes nodes `down` or lets `srun` hang."""
    suspects = filtering(look) | {call[0] for call, came in look.calls.items() if came == SILENT}
    if not suspects:
        return
    callers = _Callers(look)
    for host, facts in look.hosts:
        for wanted in [*needs.ports(look.site, host), *filter(None, [needs.job_ports(look.site, host)])]:
            if host.name in suspects or not suspects.isdisjoint(wanted.callers):
                yield from _findings(callers, host, facts, wanted)


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
                    for caller in _witnesses(wanted, host)
                    if caller in look.facts and behind_filters.intersection((caller, host.name))
                ]
    return calls


def _witnesses(wanted: needs.Port, host: Host) -> tuple[str, ...]:
    """Callers that stand for all: nodes are many and alike."""
    ends = (*wanted.callers[:2], *wanted.callers[-2:])
    others = tuple(dict.fromkeys(caller for caller in ends if caller != host.name))
    return others[:1] + others[-1:] if len(others) > 2 else others


class _Callers:
    """The hosts that call, in groups that no packet filter tells apart: each group is judged once."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self.tried: dict[tuple[str, int], dict[str, str]] = {}
        for (caller, target, port), came in look.calls.items():
            self.tried.setdefault((target, port), {})[caller] = came
        self._alike: dict[tuple[Filter, tuple[str, ...]], list[tuple[str, ...]]] = {}

    def alike(self, there: Filter, callers: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Groups of the callers of a host with this packet filter."""
        if (there, callers) not in self._alike:
            groups: dict[object, list[str]] = {}
            for caller in callers:
                groups.setdefault(self._likeness(there, caller), []).append(caller)
            self._alike[there, callers] = [tuple(group) for group in groups.values()]
        return self._alike[there, callers]

    def _likeness(self, there: Filter, caller: str) -> object:
        """What its own packet filter and the one at the other end can know of a caller."""
        address = self.look.site.hosts[caller].cluster_address
        if not address:
            return None
        facts = self.look.facts.get(caller)
        own = (facts.filter, facts.filter.likeness("source", address)) if facts else None
        return there.likeness("source", address), own


def _findings(callers: _Callers, host: Host, facts: Facts, wanted: needs.Port) -> Iterator[Finding]:
    look = callers.look
    tried = callers.tried.get((host.name, wanted.number), {})
    closed: dict[Outcome | None, tuple[str, ...]] = {}
    for alike in callers.alike(facts.filter, wanted.callers):
        others = [caller for caller in alike if caller != host.name]
        why = _closes(look, host, facts, others, wanted) if others else None
        shut = alike if why else tuple(caller for caller in alike if tried.get(caller) == SILENT)
        if OPEN in tried.values():
            shut = tuple(caller for caller in shut if tried.get(caller) != OPEN)
        if shut:
            closed[why] = closed.get(why, ()) + shut
    level = Level.ERROR if wanted.programs else Level.WARNING
    port = f"port {wanted.number} ({wanted.purpose})" if wanted.programs else f"ports for {wanted.purpose}"
    for why, names in closed.items():
        message = f"{'closed:' if why else 'no answer on'} {port} for {_folded(names)}"
        yield Finding(host.name, "firewall", level, message, _cause(why, facts), _fix(why, look.site))


@lru_cache(maxsize=1024)
def _folded(names: tuple[str, ...]) -> str:
    """A host stays in the group of its callers, so that the same is said of all hosts, and said once."""
    return fold(names)


def _closes(look: Look, host: Host, facts: Facts, alike: list[str], wanted: needs.Port) -> Outcome | None:
    """The rule that closes a port of `host` for other hosts that are alike, on either side."""
    caller = look.site.hosts[alike[0]]
    if not (host.cluster_address and caller.cluster_address):
        return None
    interface = facts.interfaces.get(host.cluster_address)
    packet = Packet(caller.cluster_address, host.cluster_address, wanted.number, interface)
    if why := facts.filter.closes(packet, "prerouting", "input"):
        return why
    theirs = look.facts.get(caller.name)
    leaving = theirs.filter.closes(replace(packet, interface=None), "output") if theirs else None
    where = caller.name if len(alike) == 1 else "each of them"
    return Outcome(f"on {where}, {leaving.where}", leaving.rule) if leaving else None


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
