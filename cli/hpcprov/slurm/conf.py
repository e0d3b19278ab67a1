"""slurm.conf for a configless controller, and the files beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hpcprov.slurm import startup
from hpcprov.slurm.cgroup import cgroup_conf, constrained
from hpcprov.slurm.cluster import Cluster, SlurmFiles
from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.gres import gres_conf
from hpcprov.slurm.hostlist import fold
from hpcprov.slurm.nodes import node_keys, node_lines
from hpcprov.slurm.options import configless, default_options
from hpcprov.slurm.owned import contradiction, site_values
from hpcprov.slurm.partitions import partition_lines
from hpcprov.slurm.settings import checked, key_lines

# slurm.conf options that may stand on several lines.
_REPEATED = ("SlurmctldHost", "NodeSet", "DownNodes", "Prolog", "Epilog", "PrologSlurmctld", "EpilogSlurmctld")
_MEMORY_DEFAULTS = ("DefMemPerCPU", "DefMemPerNode", "DefMemPerGPU")


def slurm_conf(cluster: Cluster) -> str:
    """The text of slurm.conf. Raises SlurmConfigError."""
    return slurm_files(cluster).slurm_conf


def slurm_files(cluster: Cluster) -> SlurmFiles:
    """Every file of the controller. Raises SlurmConfigError with the problems."""
    config = _free_config(cluster)
    usable, notice = constrained(cluster.cgroups)
    nodes = _defined_nodes(cluster, config)
    # An option may be taken away by giving it no value.
    options = {**default_options(cluster, usable), **config}
    options["SlurmctldParameters"] = configless(config.get("SlurmctldParameters"))
    memory_is_set = any(options.get(name) for name in _MEMORY_DEFAULTS)
    sections = (
        key_lines(options, _REPEATED),
        "".join(f"{line}\n" for line in node_lines(nodes)),
        "".join(f"{line}\n" for line in partition_lines(cluster.partitions, nodes, memory_is_set=memory_is_set)),
    )
    resources = {node.name: node.gres for node in cluster.nodes if node.name in nodes}
    cgroup = cgroup_conf(usable, cluster.release, cluster.cgroup_config)
    return SlurmFiles(
        slurm_conf="\n".join(sections),
        cgroup_conf=cgroup,
        gres_conf=gres_conf(resources, cluster.nvml),
        at_start=startup.of_all(options, cgroup),
        at_start_by_node={
            name: startup.of_node(keys, gres_conf({name: resources[name]}, cluster.nvml))
            for name, keys in nodes.items()
        },
        nodes=sorted(nodes),
        partitions=[partition.name for partition in cluster.partitions],
        notices=[*([notice] if notice else []), *_left_out(cluster)],
    )


def _free_config(cluster: Cluster) -> dict[str, Any]:
    config = checked(cluster.config, "slurm.conf", cluster.release)
    values = site_values(cluster.name, cluster.databases, cluster.daemons)
    problems = [contradiction(name, value, values) for name, value in config.items()]
    wrong = [f"slurm_config: {problem}" for problem in problems if problem]
    if wrong:
        raise SlurmConfigError(wrong)
    return config


def _defined_nodes(cluster: Cluster, config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The keys of each node of which enough is known, all problems told at once."""
    overrides = "config_overrides" in str(config.get("SlurmdParameters", ""))
    whole = "linear" in str(config.get("SelectType", ""))
    problems: list[str] = []
    keys: dict[str, dict[str, Any]] = {}
    for node in cluster.nodes:
        if node.name in keys:
            problems.append(f"{node.name} stands twice; NodeNames are the first labels of the host names")
        try:
            if node.is_defined:
                keys[node.name] = node_keys(
                    node, release=cluster.release, overrides_config=overrides, whole_nodes=whole
                )
        except SlurmConfigError as error:
            problems += [problem if node.name in problem else f"{node.name}: {problem}" for problem in error.problems]
    if not keys and not problems:
        problems.append("no compute node was measured yet, so there is nothing to write into slurm.conf")
    if problems:
        raise SlurmConfigError(problems)
    return keys


def _left_out(cluster: Cluster) -> list[str]:
    names = [node.name for node in cluster.nodes if not node.is_defined]
    if not names:
        return []
    return [f"{fold(names)} not in slurm.conf until measured (or CPUs and RealMemory stand in slurm_node)"]
