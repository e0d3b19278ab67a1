"""The one place where an inventory and saved facts become the description that Slurm's files are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from hpcprov.slurm.cgroup import CgroupFacts
from hpcprov.slurm.cluster import Cluster, Daemons
from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.gres import Gres, node_gres
from hpcprov.slurm.hardware import Hardware, parse_slurmd_c
from hpcprov.slurm.nodes import Node, features_of
from hpcprov.slurm.partitions import ComputeGroups, partitions_of

if TYPE_CHECKING:
    from hpcprov.site.model import Site

Groups = Mapping[str, Sequence[str]]
Vars = Mapping[str, Any]

# Daemons' field: variable of the site.
_DAEMON_VARS = {
    "user": "slurm_user",
    "state_dir": "slurm_state_dir",
    "spool_dir": "slurm_spool_dir",
    "log_dir": "slurm_log_dir",
    "slurmctld_port": "slurm_ctld_port",
    "slurmdbd_port": "slurm_dbd_port",
}


def node_name(host: str) -> str:
    """NodeName of an inventory host: its first label."""
    return host.split(".", 1)[0]


def from_ansible(
    groups: Groups,
    hostvars: Mapping[str, Vars],
    facts: Mapping[str, Vars],
    children: Sequence[str] = (),
) -> Cluster:
    """The cluster of an inventory. Hosts without saved facts are described by the site alone.

    `children` are the child groups of `compute`, which Ansible's `groups` does not tell.
    Raises SlurmConfigError. Each variable is read once per host: Ansible templates it at every access.
    """
    compute = list(groups.get("compute", []))
    controllers = list(groups.get("controller", []))
    if not controllers or not compute:
        raise SlurmConfigError(["Slurm needs a host in controller and one in compute"])
    site = hostvars[controllers[0]]
    nodes = _nodes(compute, hostvars, facts)
    measured = {host: facts[host] for host in compute if facts.get(host)}
    return Cluster(
        name=str(site["cluster_name"]),
        controllers=[(node_name(host), cluster_address(host, hostvars[host])) for host in controllers],
        databases=[node_name(host) for host in groups.get("database", [])],
        nodes=nodes,
        partitions=partitions_of(_get(site, "slurm_partitions") or [], compute_groups(groups, children)),
        version=_oldest_version(measured),
        cgroups={node_name(host): _cgroup_facts(entry) for host, entry in measured.items()},
        pmix=bool(measured) and all(entry.get("pmix") for entry in measured.values()),
        nvml=frozenset(node_name(host) for host, entry in measured.items() if entry.get("gpu_nvml")),
        enforce_accounts=bool(_get(site, "slurm_accounts")),
        daemons=daemons_of(site),
        config=_get(site, "slurm_config") or {},
        cgroup_config=_get(site, "slurm_cgroup_config") or {},
    )


def from_site(site: Site, facts: Mapping[str, Vars]) -> Cluster:
    """The cluster of a loaded site: the same as Ansible sees it."""
    hostvars = {name: host.vars for name, host in site.hosts.items()}
    return from_ansible(site.groups, hostvars, facts, site.children.get("compute", []))


def cluster_address(host: str, variables: Vars) -> str:
    """The address by which the cluster's hosts know each other."""
    return str(_get(variables, "cluster_address") or _get(variables, "ansible_host") or host)


def compute_groups(groups: Groups, children: Sequence[str] = ()) -> ComputeGroups:
    """The compute nodes and the groups that hold some of them, by NodeName."""
    compute = list(groups.get("compute", []))
    members = set(compute)
    inside = {name: tuple(node_name(host) for host in hosts if host in members) for name, hosts in groups.items()}
    return ComputeGroups(
        nodes=tuple(node_name(host) for host in compute),
        groups={name: hosts for name, hosts in inside.items() if hosts},
        children=tuple(children),
    )


def _nodes(compute: Sequence[str], hostvars: Mapping[str, Vars], facts: Mapping[str, Vars]) -> list[Node]:
    nodes, problems = [], []
    for host in compute:
        try:
            nodes.append(_node(host, hostvars[host], facts.get(host)))
        except SlurmConfigError as error:
            problems += [f"{host}: {problem}" for problem in error.problems]
    if problems:
        raise SlurmConfigError(problems)
    return nodes


def _node(host: str, variables: Vars, facts: Vars | None) -> Node:
    weight = _get(variables, "slurm_weight")
    return Node(
        name=node_name(host),
        hardware=_hardware(facts),
        gres=_gres(variables, facts),
        features=features_of(_get(variables, "slurm_features")),
        weight=None if weight in (None, "") else int(str(weight)),
        settings=dict(_get(variables, "slurm_node") or {}),
    )


def _hardware(facts: Vars | None) -> Hardware | None:
    line = (facts or {}).get("slurmd_c")
    if not line:
        return None
    try:
        return parse_slurmd_c(str(line))
    except ValueError as error:
        raise SlurmConfigError([str(error)]) from error


def _gres(variables: Vars, facts: Vars | None) -> tuple[Gres, ...]:
    return tuple(node_gres(_get(variables, "slurm_gres"), (facts or {}).get("gpus")))


def _cgroup_facts(facts: Vars) -> CgroupFacts:
    plugins = facts.get("cgroup_plugins")
    return CgroupFacts(
        layout=str(facts.get("cgroup") or "none"),
        controllers=tuple(facts.get("cgroup_controllers") or ()),
        container=bool(facts.get("container")),
        plugins=None if plugins is None else tuple(plugins),
    )


def _oldest_version(facts: Mapping[str, Vars]) -> str | None:
    """What the oldest slurmd understands must be written; all of them read the same file."""
    versions = [str(entry["slurm_version"]) for entry in facts.values() if entry.get("slurm_version")]
    return min(versions, key=_version_key, default=None)


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.replace("-", ".").split(".") if part.isdecimal())


def daemons_of(site: Vars) -> Daemons:
    """What the site says about the daemons, our own defaults otherwise."""
    given = {field.name: _get(site, _DAEMON_VARS[field.name]) for field in fields(Daemons)}
    return Daemons(**{name: value for name, value in given.items() if value is not None})


def _get(variables: Vars, name: str) -> Any:
    return variables.get(name)
