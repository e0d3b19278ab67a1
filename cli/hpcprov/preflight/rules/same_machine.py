"""Is one machine in the site twice?"""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.preflight.findings import Finding, Level
from hpcprov.preflight.look import Look
from hpcprov.preflight.rules.registry import rule
from hpcprov.slurm.hostlist import fold


@rule("same-machine")
def same_machine(look: Look) -> Iterator[Finding]:
    """Two names for one machine would start its daemons twice.

    Machine ids and SSH keys are no proof, since images are cloned; the id of the boot with the namespaces is.
    """
    owners: dict[str, list[str]] = {}
    for host, facts in look.hosts:
        if (instance := facts.identity.get("instance", "")).count(" ") == 2:
            owners.setdefault(instance, []).append(host.name)
    for names in owners.values():
        if len(names) > 1:
            message = f"one machine goes by the names {fold(names)}"
            for name in names:
                yield Finding(
                    name, "same-machine", Level.ERROR, message, "their addresses lead to one host",
                    "correct ansible_host, or keep one of the names",
                )  # fmt: skip
