"""What the rules look at: the site, and what all hosts said, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hpcprov.preflight.facts import Facts
from hpcprov.remote.connection import ConnectionFailedError
from hpcprov.site import Host, Site

# (from, to, port)
Call = tuple[str, str, int]
OPEN, REFUSED, SILENT = "open", "refused", "silent"


@dataclass(frozen=True)
class Look:
    """`facts` has the hosts that answered, `failures` the others; together they are the hosts that were asked.

    `calls` are connections that were tried, with what came of them: `open`, `refused` or `silent`.
    """

    site: Site
    facts: Mapping[str, Facts] = field(default_factory=dict)
    failures: Mapping[str, ConnectionFailedError] = field(default_factory=dict)
    calls: Mapping[Call, str] = field(default_factory=dict)

    @property
    def hosts(self) -> list[tuple[Host, Facts]]:
        """The hosts that answered, in the order of the site file."""
        return [(host, self.facts[host.name]) for host in self.site.cluster_hosts if host.name in self.facts]
