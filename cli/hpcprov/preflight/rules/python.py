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
            yield Finding(host.name, "python", Level.ERROR, "has no python3", fix=_install(look, facts))
        elif best < MINIMUM:
            found = ", ".join(f"{entry.version} ({entry.path})" for entry in facts.pythons)
            yield Finding(
                host.name, "python", Level.ERROR, f"has Python {found}, needs {'.'.join(map(str, MINIMUM))} or newer",
                fix=_install(look, facts, newer=True),
            )  # fmt: skip


def _install(look: Look, facts: Facts, *, newer: bool = False) -> str:
    """The command that brings a Python: ours from here, that of the system there."""
    ours = f"hpcprov bootstrap HOST --site {look.site.path}"
    if facts.system.family == "rhel":
        old = facts.system.version.split(".")[0] in ("7", "8")
        return f"{ours}, or as root there: dnf install -y {'python39' if old else 'python3'}"
    if facts.system.family == "debian" and newer:
        return "upgrade the system: this release has no newer Python"
    if facts.system.family == "debian":
        return f"{ours}, or as root there: apt-get update && apt-get install -y python3"
    return "as root there: install python3"
