"""Hosts that a run goes on without. The others finish; the run is red in the end, and says who is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hpcprov.errors import ConvergeError, HostsError, HpcprovError
from hpcprov.preflight.report import hostlist
from hpcprov.site import Host, Site
from hpcprov.smoke import submit_host

# What every other host depends on. Without one of these, converging the rest would leave it half done.
ESSENTIAL = ("controller", "database", "storage")
SMOKE_NODES = 2  # as in roles/smoke/defaults


@dataclass
class Losses:
    """The hosts of a run, and those that it lost, with the first reason of each."""

    site: Site
    hosts: Sequence[Host]
    lost: dict[str, HpcprovError] = field(default_factory=dict)

    def accept(self, lost: Mapping[str, HpcprovError]) -> bool:
        """Go on without these hosts? Only when nobody depends on them, and somebody is left to be converged."""
        fresh = {name: error for name, error in lost.items() if name not in self.lost}
        if not fresh or not all(self._is_expendable(self.site.hosts[name]) for name in fresh):
            return False
        left = [host for host in self.remaining if host.name not in fresh]
        had_compute = any(host.is_in("compute") for host in self.hosts)
        if not left or (had_compute and not any(host.is_in("compute") for host in left)):
            return False
        self.lost.update(fresh)
        return True

    def _is_expendable(self, host: Host) -> bool:
        return not host.is_in(*ESSENTIAL) and host.name != submit_host(self.site).name

    @property
    def remaining(self) -> list[Host]:
        """The hosts of the run that are still part of it."""
        return [host for host in self.hosts if host.name not in self.lost]

    @property
    def smoke_nodes(self) -> int | None:
        """How many nodes can train, where that is fewer than the site asks for; None where it is not."""
        compute = self.site.group("compute")
        given = str(self.site.vars.get("smoke_nodes") or "")
        wanted = int(given) if given.isdecimal() else min(SMOKE_NODES, len(compute))
        left = len([host for host in compute if host.name not in self.lost])
        return left if left < wanted else None

    def limit(self, pattern: str | None) -> str | None:
        """The pattern for Ansible's --limit that leaves the lost hosts out. A comma and a colon must not be mixed."""
        if not self.lost:
            return pattern
        separator = "," if "," in (pattern or "") else ":"
        return separator.join([pattern or "all", *(f"!{name}" for name in self.lost)])

    def error(self, done: Sequence[str], also: HpcprovError | None = None) -> HpcprovError:
        """The end of a run that lost hosts: who, why, what the others came to, how to go on."""
        reasons: dict[str, list[str]] = {}
        for name, error in self.lost.items():
            reasons.setdefault(error.message, []).append(name)
        first = next(iter(self.lost.values()))
        lines = (
            [f"{hostlist(names)}: {reason}" for reason, names in reasons.items()] if len(reasons) > 1 else [first.why]
        )
        count = len(self.remaining)
        others = f"the other {count} hosts are" if count > 1 else "the other host is"
        lines.append(f"{others} done: {', '.join(done)}" if done else f"{others} not done either")
        if also:
            lines.append("then " + ": ".join(filter(None, [also.host, also.message])))
        kind = HostsError if all(isinstance(error, HostsError) for error in self.lost.values()) else ConvergeError
        return kind(
            first.message if len(reasons) == 1 else f"{len(self.lost)} hosts were lost",
            host=hostlist(list(self.lost)),
            why="\n".join(filter(None, lines)),
            hint=first.hint,
            journal=first.journal,
        )
