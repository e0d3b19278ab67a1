"""The site that grows while files are read: hosts, what they are for, variables; and what is told about them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hpcprov.importers.notes import Fate, Notes
from hpcprov.site.findings import Place
from hpcprov.site.model import is_address, short_name

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class Value:
    """A value and where it was read."""

    value: Any
    place: Place


@dataclass
class HostDraft:
    """A host by its short name. `roles` are our groups, `groups` further ones that the admin keeps.

    `is_defined`: a file says that it belongs to the cluster; the others only know its name or address.
    """

    name: str
    place: Place
    variables: dict[str, Value] = field(default_factory=dict)
    roles: dict[str, None] = field(default_factory=dict)
    groups: dict[str, None] = field(default_factory=dict)
    aliases: dict[str, None] = field(default_factory=dict)
    is_defined: bool = False

    @property
    def address(self) -> str | None:
        """Its address in the cluster as far as it is known."""
        for name in ("cluster_address", "ansible_host"):
            if name in self.variables and is_address(self.variables[name].value):
                return str(self.variables[name].value)
        return None


@dataclass
class Draft:
    """Everything read so far. `remarks` become comments above a variable of the site."""

    notes: Notes = field(default_factory=Notes)
    variables: dict[str, Value] = field(default_factory=dict)
    hosts: dict[str, HostDraft] = field(default_factory=dict)
    domains: dict[str, Place] = field(default_factory=dict)
    networks: dict[Network, Place] = field(default_factory=dict)
    remarks: dict[str, list[str]] = field(default_factory=dict)

    def host(self, name: str, place: Place, *, defined: bool = True) -> HostDraft:
        """The host of this name or full name, new if need be."""
        short = short_name(name)
        host = self.hosts.setdefault(short.lower(), HostDraft(short, place))
        host.is_defined = host.is_defined or defined
        if short != name:
            self.domains.setdefault(name.split(".", 1)[1].lower(), place)
        return host

    def set_host(self, host: HostDraft, name: str, value: Any, place: Place, key: str, *, tell: bool = True) -> None:
        """Give a host a variable. The first file that says it wins; another value is a conflict, which is told."""
        before = host.variables.setdefault(name, Value(value, place))
        if before.value == value:
            if tell:
                self.notes.mapped(place, key, value, f"{name} of {host.name}")
            return
        self._conflict(place, key, value, f"{name} of {host.name}", before)

    def set_site(self, name: str, value: Any, place: Place, key: str, *, tell: bool = True) -> None:
        """Give the site a variable. A conflict is told in any case."""
        before = self.variables.setdefault(name, Value(value, place))
        if before.value == value:
            if tell:
                self.notes.mapped(place, key, value, name)
            return
        self._conflict(place, key, value, name, before)

    def _conflict(self, place: Place, key: str, value: Any, what: str, before: Value) -> None:
        where = f"{before.place.file}:{before.place.line}"
        self.notes.add(Fate.CONFLICT, place, key, value, f"{what} is {before.value} by {where}, which was kept")

    def setting(self, variable: str, name: str, value: Any, place: Place) -> bool:
        """Put a free setting into slurm_config and the like. False when it is there with another value."""
        mapping = self.variables.setdefault(variable, Value({}, place)).value
        if name in mapping and mapping[name] != value:
            return False
        mapping[name] = value
        return True

    def remark(self, variable: str, *lines: str) -> None:
        """Lines of comment above a variable."""
        kept = self.remarks.setdefault(variable, [])
        kept += [line for line in lines if line not in kept]

    def with_role(self, role: str) -> list[HostDraft]:
        return [host for host in self.hosts.values() if role in host.roles]

    def by_address(self) -> dict[str, HostDraft]:
        """Hosts that have a name, by their address."""
        return {host.address: host for host in self.hosts.values() if host.address and not is_address(host.name)}

    def defined(self) -> Iterator[HostDraft]:
        """The hosts that will stand in the site."""
        return (host for host in self.hosts.values() if host.is_defined)

    def give_role(self, hosts: Iterable[HostDraft], role: str) -> None:
        for host in hosts:
            host.roles[role] = None
