"""Do the roles know the operating system?"""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.preflight.facts import System
from hpcprov.preflight.findings import Finding, Level
from hpcprov.preflight.look import Look
from hpcprov.preflight.rules.registry import rule

# The oldest release whose packages the roles name.
OLDEST = {"debian": 12, "ubuntu": 22, "rhel": 8, "rocky": 8, "almalinux": 8, "centos": 8, "ol": 8}
ADVICE = "Debian 12 and newer, Ubuntu 22.04 and newer, and the RHEL family from 8 on work"


@rule("system")
def system(look: Look) -> Iterator[Finding]:
    """Package and service names differ by system; on an unknown one the roles would stop half-way."""
    for host, facts in look.hosts:
        if facts.system.family is None:
            name = facts.system.name or "an unknown system"
            yield Finding(host.name, "system", Level.ERROR, f"runs {name}", "its packages are not known", ADVICE)
        elif _is_old(facts.system):
            yield Finding(
                host.name, "system", Level.ERROR, f"runs {facts.system.name}", "the release is too old", ADVICE
            )


def _is_old(found: System) -> bool:
    """Releases without a number (testing, unstable) are new."""
    major = found.version.split(".")[0]
    return major.isdecimal() and int(major) < OLDEST.get(found.id, 0)
