"""Do the clocks agree?"""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.preflight import needs
from hpcprov.preflight.facts import Facts
from hpcprov.preflight.findings import Finding, Level
from hpcprov.preflight.look import Look
from hpcprov.preflight.rules.registry import rule
from hpcprov.site import Host

MOST = 1.0  # seconds; logs and file times suffer beyond
TOO_FAR = 5.0  # seconds; package managers and munge refuse what comes from the future


@rule("clock")
def clock(look: Look) -> Iterator[Finding]:
    """Munge refuses credentials from another time, and the error then names everything but the clock."""
    known = [(host, facts, bounds) for host, facts in look.hosts if (bounds := facts.clock_bounds)]
    off = [(host, facts, bounds) for host, facts, bounds in known if distance(bounds) > MOST]
    if _agree([bounds for _, _, bounds in known]) and len(off) == len(known):
        for host, _, bounds in off:
            cause = "the hosts agree with each other, so the control host's clock is the wrong one"
            fix = "set the clock of this control host, such as: chronyc makestep"
            yield Finding(host.name, "clock", Level.WARNING, _message(bounds), cause, fix)
        return
    for host, facts, bounds in off:
        yield _finding(host, facts, bounds)


def distance(bounds: tuple[float, float]) -> float:
    """Seconds by which the clock is off at least, whatever the time on the way was. Never negative."""
    low, high = bounds
    return max(low, -high, 0.0)


def _agree(bounds: list[tuple[float, float]]) -> bool:
    """Whether several clocks can have one and the same offset."""
    return len(bounds) > 1 and max(low for low, _ in bounds) <= min(high for _, high in bounds)


def _finding(host: Host, facts: Facts, bounds: tuple[float, float]) -> Finding:
    chrony_comes = needs.manages_time(host) and not facts.container
    if distance(bounds) <= TOO_FAR and chrony_comes:
        cause = "no time server is reached, or none is set; the deploy installs chrony, which steps the clock"
        return Finding(host.name, "clock", Level.WARNING, _message(bounds), cause)
    if facts.container:
        cause = "a container has its machine's clock"
        fix = "set the clock of that machine; without one look for a fake clock: cat /etc/ld.so.preload"
    else:
        cause = "no time server is reached"
        fix = f"there: chronyc makestep; without chrony: date -u -s '@{facts.received:.0f}'"
    return Finding(host.name, "clock", Level.ERROR, _message(bounds), cause, fix)


def _message(bounds: tuple[float, float]) -> str:
    """Rounded to what is known, so that hosts that are off alike are told together."""
    offset, doubt = sum(bounds) / 2, (bounds[1] - bounds[0]) / 2
    digits = 1 if doubt < 0.5 and abs(offset) < 60 else 0
    return f"the clock is {abs(offset):.{digits}f} s {'ahead of' if offset > 0 else 'behind'} the control host's"
