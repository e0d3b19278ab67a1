"""What all DHCP files say: a host has a MAC address, an address and a name."""

from __future__ import annotations

import ipaddress

from hpcprov.importers.addresses import mac
from hpcprov.importers.draft import Draft
from hpcprov.site.findings import Place
from hpcprov.site.model import is_address
from hpcprov.site.rules.leftovers import is_placeholder


def reservation(draft: Draft, place: Place, name: str, hardware: str, address: str, *, lease: bool = False) -> None:
    """A reservation or a lease. Empty text is what the file does not say; each given part leaves a note.

    A lease may be another one tomorrow, so it never contradicts what is known already.
    """
    parts = {"hostname": name, "hardware": hardware, "address": address}
    given = {key: value for key, value in parts.items() if value}
    by_address = next((host for host in draft.hosts.values() if address and host.address == address), None)
    if (not name or is_placeholder(name)) and by_address is None:
        for key, value in given.items():
            hint = "give it a host name there, or name the host in another file with this address"
            draft.notes.left(place, key, value, "no name of a host belongs to it", hint)
        return
    host = by_address if not name and by_address else draft.host(name, place, defined=False)
    if name:
        draft.notes.mapped(place, "hostname", name, f"host {host.name}")
    for variable, key, written, usable in (
        ("cluster_mac", "hardware", hardware, mac(hardware)),
        ("cluster_address", "address", address, address if is_address(address) else None),
    ):
        before = host.variables.get(variable)
        if not written:
            continue
        if usable is None:
            draft.notes.left(place, key, written, "is no address")
        elif lease and before is not None and before.value != usable:
            draft.notes.left(place, key, written, f"only a lease; {host.name} has {before.value}")
        else:
            draft.set_host(host, variable, usable, place, key)


def network(draft: Draft, place: Place, text: str, key: str, written: str = "") -> None:
    """A subnet that the server serves; it may be the cluster network. `written` is how the file says it."""
    try:
        draft.networks.setdefault(ipaddress.ip_network(text, strict=False), place)
    except ValueError:
        draft.notes.left(place, key, written or text, "is no network")
        return
    draft.notes.mapped(place, key, written or text, "cluster_network, if it holds every host")
