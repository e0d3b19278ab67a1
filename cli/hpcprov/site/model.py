"""A site: its hosts, groups and variables, resolved. What the rest of hpcprov works with."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hpcprov.paths import site_home, state_dir

# The groups that say what a host is for; all of our plays target the first five.
CLUSTER_GROUPS = ("controller", "database", "login", "storage", "compute")
GROUPS = (*CLUSTER_GROUPS, "provisioner", "monitoring")
DEFAULT_DOMAIN = "cluster.internal"


@dataclass(frozen=True)
class Host:
    """One machine. `address` is where SSH goes, `cluster_address` what the other hosts call."""

    name: str
    node_name: str
    address: str
    cluster_address: str
    user: str | None
    port: int | None
    ssh_key: str | None
    ssh_args: str
    vars: Mapping[str, Any] = field(repr=False)
    groups: frozenset[str]

    def is_in(self, *groups: str) -> bool:
        return not self.groups.isdisjoint(groups)


@dataclass(frozen=True)
class Site:
    """A cluster as its site file describes it."""

    path: Path
    cluster_name: str
    cluster_network: str
    cluster_domain: str
    hosts: Mapping[str, Host]
    groups: Mapping[str, list[str]]
    vars: Mapping[str, Any] = field(repr=False)
    # Direct child groups of each group that has some.
    children: Mapping[str, list[str]] = field(default_factory=dict)

    @property
    def home(self) -> Path:
        """Where the runs of this site are kept."""
        return site_home(self.path)

    @property
    def state_dir(self) -> Path:
        """Secrets, keys and saved facts of this site."""
        return state_dir(self.path, self.cluster_name)

    def group(self, name: str) -> list[Host]:
        """The hosts of a group and of its children, in file order; none when there is no such group."""
        return [self.hosts[host] for host in self.groups.get(name, [])]

    @property
    def cluster_hosts(self) -> list[Host]:
        """The hosts that our plays converge; others in the file (localhost, a switch) are left alone."""
        return [host for host in self.hosts.values() if host.is_in(*CLUSTER_GROUPS)]

    def names_in(self, *groups: str) -> tuple[str, ...]:
        """The cluster's hosts in these groups, each once, group after group. The same object for the same groups."""
        if groups not in self._names:
            members = (host.name for group in groups for host in self.cluster_hosts if host.is_in(group))
            self._names[groups] = tuple(dict.fromkeys(members))
        return self._names[groups]

    @cached_property
    def _names(self) -> dict[tuple[str, ...], tuple[str, ...]]:
        return {}


def short_name(host: str) -> str:
    """NodeName and hostname of a host: its first label; an address has no labels."""
    return host if is_address(host) else host.split(".", 1)[0]


def is_address(text: object) -> bool:
    try:
        ipaddress.ip_address(str(text))
    except ValueError:
        return False
    return True


def build_host(name: str, variables: Mapping[str, Any], groups: frozenset[str]) -> Host:
    """A host from its resolved variables."""
    address = text_of(variables.get("ansible_host")) or name
    cluster_address = text_of(variables.get("cluster_address")) or (address if is_address(address) else "")
    port = variables.get("ansible_port")
    key = text_of(variables.get("ansible_ssh_private_key_file"))
    ssh_args = (variables.get("ansible_ssh_common_args"), variables.get("ansible_ssh_extra_args"))
    return Host(
        name=name,
        node_name=short_name(name),
        address=address,
        cluster_address=cluster_address,
        user=text_of(variables.get("ansible_user")),
        port=int(port) if isinstance(port, int) or (isinstance(port, str) and port.isdecimal()) else None,
        ssh_key=str(Path(key).expanduser()) if key else None,
        ssh_args=" ".join(str(part) for part in ssh_args if part),
        vars=variables,
        groups=groups,
    )


def text_of(value: object) -> str | None:
    return None if value is None or value == "" else str(value)
