"""Are the ports of our daemons free?"""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.preflight import needs
from hpcprov.preflight.facts import Facts, Listener
from hpcprov.preflight.findings import Finding, Level
from hpcprov.preflight.look import Look
from hpcprov.preflight.rules.registry import rule


@rule("port")
def port(look: Look) -> Iterator[Finding]:
    """A daemon whose port is taken dies at its start."""
    for host, facts in look.hosts:
        for wanted in needs.ports(look.site, host):
            strangers = {
                (listener.program, listener.pid): listener
                for listener in facts.listeners
                if listener.port == wanted.number and _is_stranger(listener, wanted, facts)
            }
            for listener in strangers.values():
                yield Finding(
                    host.name, "port", Level.ERROR,
                    f"port {wanted.number}, which {wanted.purpose} needs, is taken by {_who(listener, facts)}",
                    fix=_fix(listener, facts),
                )  # fmt: skip


def _is_stranger(listener: Listener, wanted: needs.Port, facts: Facts) -> bool:
    """Who cannot be seen, since we are not root, is not accused. Sockets without a process are the kernel's."""
    if not listener.program and (not facts.privileged or "" in wanted.programs):
        return False
    return listener.program not in wanted.programs


def _who(listener: Listener, facts: Facts) -> str:
    if listener.pid is None:
        return "the kernel"
    unit = _unit(listener, facts)
    return f"{listener.program} (process {listener.pid}{f', {unit}' if unit else ''})"


def _fix(listener: Listener, facts: Facts) -> str:
    unit = _unit(listener, facts)
    if unit.endswith(".service") and not unit.startswith("ssh"):
        return f"as root there: systemctl disable --now {unit}; or give our daemon another port"
    return f"as root there: kill {listener.pid}; or give our daemon another port" if listener.pid else ""


def _unit(listener: Listener, facts: Facts) -> str:
    process = facts.processes.get(listener.pid or 0)
    return process.unit if process else ""
