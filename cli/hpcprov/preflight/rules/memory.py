"""Is there enough memory?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hpcprov.preflight.findings import Finding, Level
from hpcprov.preflight.look import Look
from hpcprov.preflight.needs import whole
from hpcprov.preflight.rules.registry import rule
from hpcprov.site import Host

# MiB. Less is no machine for a daemon and a package manager; a kernel keeps some of what is built in.
LEAST = 450
COMFORTABLE = {"database": 1800, "controller": 900}


@rule("memory")
def memory(look: Look) -> Iterator[Finding]:
    """The kernel kills slurmctld, MariaDB or the package manager on a machine without memory."""
    for host, facts in look.hosts:
        present = facts.memory_mib
        if present is None:
            continue
        wanted, purpose = max(((COMFORTABLE[g], g) for g in COMFORTABLE if host.is_in(g)), default=(0, ""))
        if present < LEAST:
            yield Finding(
                host.name, "memory", Level.ERROR, f"{present} MiB of memory, needs {LEAST}", fix="give it more"
            )
        elif present < wanted:
            message = f"{present} MiB of memory; a {purpose} wants {wanted}"
            yield Finding(host.name, "memory", Level.WARNING, message, "large clusters will not fit")


@rule("hardware")
def hardware(look: Look) -> Iterator[Finding]:
    """slurmctld drains a node that has less than the site file promises."""
    for host, facts in look.hosts:
        node = host.vars.get("slurm_node")
        if not isinstance(node, Mapping) or not host.is_in("compute") or _overrides(look, host):
            continue
        for key, present in (("RealMemory", facts.memory_mib), ("CPUs", facts.cpus)):
            promised = whole(node.get(key))
            if promised is not None and present is not None and promised > present:
                unit = " MiB" if key == "RealMemory" else ""
                yield Finding(
                    host.name, "hardware", Level.ERROR,
                    f"{key} is {promised} in the site file, the host has {present}{unit}",
                    "slurmctld would drain the node", f"correct or remove {key} in slurm_node",
                )  # fmt: skip


def _overrides(look: Look, host: Host) -> bool:
    """slurmd is told to believe the file, as in simulations."""
    speaker = next(iter(look.site.group("controller")), host)
    config = speaker.vars.get("slurm_config")
    given = config.get("SlurmdParameters", "") if isinstance(config, Mapping) else ""
    return "config_overrides" in str(given)
