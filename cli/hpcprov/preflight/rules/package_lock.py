"""Does somebody else work with the packages?"""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.preflight import needs
from hpcprov.preflight.findings import Finding, Level
from hpcprov.preflight.look import Look
from hpcprov.preflight.rules.registry import rule


@rule("package-lock")
def package_lock(look: Look) -> Iterator[Finding]:
    """Package managers exclude each other. The roles wait for a while, then fail."""
    for host, facts in look.hosts:
        first = {holder.pid: holder for holder in reversed(facts.lock_holders)}
        for holder in first.values():
            yield Finding(
                host.name, "package-lock", Level.WARNING,
                f"process {holder.pid} ({holder.command or 'unknown'}) holds {holder.lock}",
                f"the deploy waits for it, at most {needs.lock_timeout(host)} s (packages_lock_timeout)",
                f"if it hangs, there: ps -fp {holder.pid}",
            )  # fmt: skip


@rule("package-database")
def package_database(look: Look) -> Iterator[Finding]:
    """dpkg refuses all work after it was interrupted, until somebody finishes it."""
    for host, facts in look.hosts:
        if facts.lines("package-database") and not facts.lock_holders:
            yield Finding(
                host.name, "package-database", Level.ERROR, "dpkg was interrupted and refuses to install anything",
                "the machine or the package manager was stopped in the middle", "as root there: dpkg --configure -a",
            )  # fmt: skip
