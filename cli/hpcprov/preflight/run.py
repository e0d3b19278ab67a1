"""Look at hosts before anything changes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from hpcprov.preflight.ask import ask
from hpcprov.preflight.calls import try_calls
from hpcprov.preflight.look import Look
from hpcprov.preflight.result import PreflightResult, reached
from hpcprov.preflight.rules import run_rules
from hpcprov.preflight.rules.firewall import doubtful_calls
from hpcprov.site import Host, Site


def preflight(site: Site, hosts: Sequence[Host], report: Callable[[str], None] = lambda _: None) -> PreflightResult:
    """Ask `hosts` of a site and judge what they say. Nothing is changed, and no host's state raises.

    One round trip per host. A second one goes only to hosts behind a packet filter, to try what its rules leave open.
    """
    started = time.monotonic()
    answers = ask(site, hosts, report)
    look = Look(site, answers.facts, answers.failures)
    if calls := doubtful_calls(look):
        look = replace(look, calls=try_calls(site, calls, report))
    return PreflightResult(
        asked=tuple(host.name for host in hosts),
        reached={host.name: reached(host.name, facts) for host, facts in look.hosts},
        findings=tuple(run_rules(look)),
        seconds=round(time.monotonic() - started, 2),
    )
