"""A survey for people and for programs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hpcprov.discovery.facts import HostFacts
from hpcprov.discovery.new_site import describe
from hpcprov.discovery.survey import Survey
from hpcprov.preflight.report import hostlist
from hpcprov.remote.connection import ConnectionFailedError

if TYPE_CHECKING:
    from rich.table import Table

_TARGET = re.compile(r" \(\S+@\S+ port \d+\)")
_CLOCK = 1.0  # seconds; below this nobody needs to care


def failures(errors: Mapping[str, ConnectionFailedError]) -> list[str]:
    """Hosts that could not be asked, those with the same reason together."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name, error in errors.items():
        alike.setdefault((_TARGET.sub("", error.message), error.trouble.value), []).append(name)
    lines = []
    for (message, trouble), names in alike.items():
        first = errors[names[0]]
        text = message if len(names) > 1 else first.message
        lines.append(f"{hostlist(names)}: {text} ({trouble})")
        if first.hint:
            hint = first.hint if len(names) == 1 else first.hint + f"   (here for {names[0]})"
            lines.append(f"    next: {hint}")
    return lines


def table(names: Mapping[str, str], found: Mapping[str, HostFacts]) -> Table:
    """One line for each host. `names` has what each target is called in the site."""
    from rich.table import Table

    view = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("host", "address", "what it is"):
        view.add_column(column, overflow="fold")
    for target, facts in found.items():
        view.add_row(names.get(target, target), _address(target, facts), describe(facts))
    return view


def _address(target: str, facts: HostFacts) -> str:
    own = [text.partition("/")[0] for one in facts.interfaces if one.is_real for text in one.addresses]
    return target if target in own else next(iter(own), "")


def remarks(result: Survey, names: Mapping[str, str]) -> list[str]:
    """What is odd, but no failure."""
    lines = [
        f"{name} is the same machine as {names.get(first, first)} and was left out"
        for name, first in result.same.items()
        if result.targets[name].is_named
    ]
    for target, facts in result.found.items():
        offset, doubt = facts.clock_offset, facts.clock_doubt or 0.0
        if offset is not None and abs(offset) - doubt > _CLOCK:
            where = "ahead of" if offset > 0 else "behind"
            lines.append(f"{names.get(target, target)}: the clock is {abs(offset):.0f} s {where} this machine's")
    unprivileged = [names.get(target, target) for target, facts in result.found.items() if not facts.privileged]
    if unprivileged:
        lines.append(
            f"{hostlist(unprivileged)}: not asked as root, so serial numbers and management controllers may be missing"
        )
    return lines


def as_dict(result: Survey, names: Mapping[str, str], now: str) -> dict[str, Any]:
    """As `--json` prints it."""
    return {
        "time": now,
        "hosts": {
            names.get(target, target): {"address": result.targets[target].route.address, "facts": facts.as_dict()}
            for target, facts in result.found.items()
        },
        "failed": {
            name: {"rule": error.trouble.value, "message": error.message, "fix": error.hint or ""}
            for name, error in result.failures.items()
        },
        "same": dict(result.same),
        "silent": list(result.silent),
    }


def summary(result: Survey, seconds: float) -> str:
    """One line."""
    parts = [f"{count(len(result.found), 'host')} found"]
    if result.failures:
        parts.append(f"{len(result.failures)} not reached")
    if result.silent:
        parts.append(f"{count(len(result.silent), 'address', 'addresses')} silent")
    return f"{', '.join(parts)}, in {seconds:.1f} s"


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 host`, `2 hosts`."""
    return f"{number} {one if number == 1 else many or one + 's'}"
