"""Is there a Python for Ansible's modules?"""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.preflight.facts import Facts
from hpcprov.preflight.findings import Finding, Level
from hpcprov.preflight.look import Look
from hpcprov.preflight.rules.registry import rule

MINIMUM = (3, 8)  # what modules of ansible-core 2.19 run on


@rule("python")
def python(look: Look) -> Iterator[Finding]:
    """Ansible's modules are Python programs; the probe itself needs none."""
    for host, facts in look.hosts:
        best = max((found.release for found in facts.pythons), default=None)
        if best is None:
            yield Finding(host.name, "python", Level.ERROR, "has no python3", fix=f"as root there: {_install(facts)}")
        elif best < MINIMUM:
            found = ", ".join(f"{entry.version} ({entry.path})" for entry in facts.pythons)
            yield Finding(
                host.name, "python", Level.ERROR, f"has Python {found}, needs {'.'.join(map(str, MINIMUM))} or newer",
                fix=f"as root there: {_install(facts, newer=True)}",
            )  # fmt: skip


def _install(facts: Facts, *, newer: bool = False) -> str:
    """The package command of that system."""
    if facts.system.family == "rhel":
        old = facts.system.version.split(".")[0] in ("7", "8")
        return f"dnf install -y {'python39' if old else 'python3'}"
    if facts.system.family == "debian" and not newer:
        return "apt-get update && apt-get install -y python3"
    if facts.system.family == "debian":
        return "upgrade the system: this release has no newer Python"
    return "install python3"
