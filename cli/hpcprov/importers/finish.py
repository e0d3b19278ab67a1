"""What only the whole can tell, once every file was read: names for addresses, missing roles, the network."""

from __future__ import annotations

import ipaddress
import re

from hpcprov.importers.draft import Draft, Value
from hpcprov.importers.groups import guessed_roles
from hpcprov.importers.notes import Fate
from hpcprov.site.model import CLUSTER_GROUPS, is_address

# Underscores are let through: validate says what is wrong with them.
_NAME = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?")


def finish(draft: Draft) -> None:
    """Complete a draft as far as its files allow, and tell what was decided."""
    _odd_names(draft)
    _name_addresses(draft)
    _choose_hosts(draft)
    _give_database(draft)
    _without_purpose(draft)
    _domain(draft)
    _aliases(draft)
    _network(draft)


def _odd_names(draft: Draft) -> None:
    """What can be no name of a host was a slip in some file."""
    for key, host in list(draft.hosts.items()):
        if not is_address(host.name) and not _NAME.fullmatch(host.name):
            draft.notes.left(host.place, host.name, None, "is no name of a host")
            del draft.hosts[key]


def _name_addresses(draft: Draft) -> None:
    """A host that an inventory calls by its address gets the name that another file has for it."""
    names = draft.by_address()
    for key, host in list(draft.hosts.items()):
        if not is_address(host.name):
            continue
        owner = names.get(host.name)
        if owner is None:
            host.variables.setdefault("ansible_host", Value(host.name, host.place))
            if host.is_defined:
                hint = "give the host a name, or import a hosts file or DHCP reservations that have one too"
                draft.notes.add(Fate.FILL, host.place, host.name, None, "is an address; Slurm needs names", hint=hint)
            continue
        draft.notes.changed(host.place, host.name, None, f"host {owner.name}, which has this address")
        owner.is_defined = owner.is_defined or host.is_defined
        owner.roles.update(host.roles)
        owner.groups.update(host.groups)
        for name, value in host.variables.items():
            owner.variables.setdefault(name, value)
        del draft.hosts[key]


def _choose_hosts(draft: Draft) -> None:
    """Without a file that says what belongs to the cluster, every known host does; its name says what for."""
    if any(host.is_defined for host in draft.hosts.values()):
        for key, host in list(draft.hosts.items()):
            if not host.is_defined:
                result = "no file puts it into the cluster, and only its name or address is known"
                draft.notes.left(host.place, host.name, None, result)
                del draft.hosts[key]
        if any(host.roles for host in draft.hosts.values()):
            return
    for host in draft.hosts.values():
        host.is_defined = True
        roles = guessed_roles(host.name)
        draft.give_role([host], roles[0])
        result = f"group {roles[0]}, guessed by its name; check it"
        draft.notes.add(Fate.ADDED, host.place, host.name, None, result)


def _give_database(draft: Draft) -> None:
    controllers = draft.with_role("controller")
    if controllers and not draft.with_role("database"):
        first = controllers[0]
        first.roles["database"] = None
        result = f"no file names a database; {first.name} gets it, being the controller"
        draft.notes.add(Fate.ADDED, first.place, "database", first.name, result)


def _without_purpose(draft: Draft) -> None:
    for key, host in list(draft.hosts.items()):
        if not host.roles:
            hint = f"put it into one of {', '.join(CLUSTER_GROUPS)}"
            draft.notes.left(host.place, host.name, None, "no group says what it is for", hint)
            del draft.hosts[key]


def _domain(draft: Draft) -> None:
    if "cluster_domain" in draft.variables or not draft.domains:
        return
    domain, place = next(iter(draft.domains.items()))
    if len(draft.domains) == 1:
        draft.variables["cluster_domain"] = Value(domain, place)
        draft.notes.add(Fate.ADDED, place, "cluster_domain", domain, "the domain of the hosts' full names")
    else:
        for other, where in draft.domains.items():
            hint = "set cluster_domain to the one that the hosts shall have"
            draft.notes.left(where, "domain", other, "the hosts have several domains", hint)


def _aliases(draft: Draft) -> None:
    owned = {host.name.lower() for host in draft.hosts.values()}
    for host in draft.hosts.values():
        names = [name for name in host.aliases if name.lower() not in owned]
        if names:
            host.variables.setdefault("cluster_aliases", Value(names, host.place))


def _network(draft: Draft) -> None:
    """The network that a DHCP server has for the hosts, else a hint for the admin."""
    if "cluster_network" in draft.variables:
        return
    addresses = [ipaddress.ip_address(host.address) for host in draft.hosts.values() if host.address]
    fitting = [net for net in draft.networks if addresses and all(address in net for address in addresses)]
    if fitting:
        chosen = max(fitting, key=lambda network: network.prefixlen)
        draft.variables["cluster_network"] = Value(str(chosen), draft.networks[chosen])
        draft.notes.add(Fate.ADDED, draft.networks[chosen], "cluster_network", str(chosen), "holds every host")
        return
    covering = _covering([address for address in addresses if address.version == 4])
    known = f"; the hosts lie in {covering}" if covering else ""
    draft.remark("cluster_network", f"Fill in the network between the hosts{known}:", "cluster_network: 10.1.0.0/16")


def _covering(addresses: list[ipaddress.IPv4Address | ipaddress.IPv6Address]) -> ipaddress.IPv4Network | None:
    """The smallest network that holds all of them, at least a /24."""
    if not addresses:
        return None
    network = ipaddress.ip_network(f"{min(addresses)}/24", strict=False)
    while not all(address in network for address in addresses) and network.prefixlen > 8:
        network = network.supernet()
    return network if isinstance(network, ipaddress.IPv4Network) and network.prefixlen > 8 else None
