"""Filters for roles: thin wrappers over hpcprov, so that one tested function serves roles and command line."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError
from hpcprov.hosts_file import HostEntry, hosts_file
from hpcprov.slurm.conf import slurm_files
from hpcprov.slurm.dbd import slurmdbd_conf
from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.hostlist import HostlistError, expand, fold
from hpcprov.slurm.partitions import partition_nodes
from hpcprov.slurm.site import compute_groups, from_ansible

Groups = Mapping[str, Sequence[str]]
# Hosts of these groups must have an address in the hosts file.
CLUSTER_GROUPS = ("controller", "database", "login", "storage", "compute", "provisioner", "monitoring")


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Say what is wrong as a filter error, without a stack of ours."""

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except SlurmConfigError as error:
            raise AnsibleFilterError("; ".join(error.problems)) from error
        except (HostlistError, ValueError) as error:
            raise AnsibleFilterError(str(error)) from error

    call.__doc__ = function.__doc__
    return call


def hosts_text(groups: Groups, hostvars: Mapping[str, Mapping[str, Any]], domain: str) -> str:
    """The hosts file of the whole site."""
    needed = {host for name in CLUSTER_GROUPS for host in groups.get(name, [])}
    entries = []
    for host in groups["all"]:
        variables = hostvars[host]
        address = str(variables.get("cluster_address") or variables.get("ansible_host") or host)
        if host in needed or _is_remote(address):
            entries.append(HostEntry(host, address, tuple(variables.get("cluster_aliases") or ())))
    return hosts_file(entries, domain)


def _is_remote(address: str) -> bool:
    try:
        return not ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def slurm_texts(
    groups: Groups, hostvars: Mapping[str, Mapping[str, Any]], facts: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Slurm's files for the controller, and notices for the admin."""
    files = slurm_files(from_ansible(groups, hostvars, facts, _children(hostvars, "compute")))
    return {
        "slurm.conf": files.slurm_conf,
        "cgroup.conf": files.cgroup_conf,
        "gres.conf": files.gres_conf,
        "at_start": files.at_start,
        "at_start_by_node": dict(files.at_start_by_node),
        "nodes": files.nodes,
        "partitions": files.partitions,
        "notices": files.notices,
    }


def _children(hostvars: Any, group: str) -> list[str]:
    """Child groups: `groups` tells members only, so ask the inventory that hostvars belongs to."""
    inventory = getattr(hostvars, "_inventory", None)
    entry = inventory.groups.get(group) if inventory is not None else None
    return [child.name for child in entry.child_groups] if entry is not None else []


def dbd_text(values: Mapping[str, Any]) -> str:
    """slurmdbd.conf from host, password, version, and the mappings options (a role's) and settings (a site's)."""
    return slurmdbd_conf(
        str(values["host"]).split(".", 1)[0],
        str(values["password"]),
        version=values.get("version"),
        options=values.get("options"),
        settings=values.get("settings"),
    )


def partition_hosts(nodes: Any, groups: Groups) -> list[str]:
    """NodeNames that `nodes` of a partition stands for: a group, a hostlist, ALL, or a list of those."""
    return list(partition_nodes(nodes, compute_groups(groups)))


class FilterModule:
    """Filters of hpcprov."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "hpcprov_hosts_file": _guarded(hosts_text),
            "hpcprov_slurm_files": _guarded(slurm_texts),
            "hpcprov_slurmdbd_conf": _guarded(dbd_text),
            "hpcprov_partition_nodes": _guarded(partition_hosts),
            "hpcprov_expand": _guarded(expand),
            "hpcprov_fold": _guarded(fold),
        }
