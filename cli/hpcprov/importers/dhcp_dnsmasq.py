"""Reservations (dhcp-host=…) and leases of dnsmasq."""

from __future__ import annotations

import re
from pathlib import Path

from hpcprov.importers.addresses import mac
from hpcprov.importers.dhcp import network, reservation
from hpcprov.importers.draft import Draft
from hpcprov.importers.format import Format
from hpcprov.site.findings import Place
from hpcprov.site.model import is_address

_LEASE = re.compile(r"^\d+\s+(?:\d\d-)?(\S+)\s+(\S+)\s+(\S+)(?:\s+(\S+))?$")
_HOST_LINE = re.compile(r"^(?:--)?dhcp-host\s*=\s*(.*)$")
_LEASE_TIME = re.compile(r"^(?:\d+[smhdw]?|infinite|ignore)$")
_SETTING = re.compile(r"^[a-z0-9-]+(?:\s*=.*)?$")


def recognises(path: Path, text: str) -> bool:
    """Lines of a lease file, or a configuration with dhcp-host or dhcp-range."""
    if re.search(r"^\s*dhcp-(?:host|range|boot)\s*=", text, re.MULTILINE):
        return True
    said = [line for line in text.splitlines() if line.strip() and not line.startswith("duid ")]
    return bool(said) and all((match := _LEASE.match(line)) and is_address(match.group(2)) for line in said)


def read_into(draft: Draft, path: Path, text: str) -> None:
    for number, line in enumerate(text.splitlines(), 1):
        said = line.strip() if _LEASE.match(line) else re.split(r"(?:^|\s)#", line, maxsplit=1)[0].strip()
        place = Place(path, number, 1)
        lease, host = _LEASE.match(said), _HOST_LINE.match(said)
        if not said:
            continue
        if lease and is_address(lease.group(2)):
            name = "" if lease.group(3) == "*" else lease.group(3)
            reservation(draft, place, name, lease.group(1), lease.group(2), lease=True)
            if lease.group(4) not in (None, "*"):
                draft.notes.left(place, "client-id", lease.group(4), "what a DHCP client calls itself")
        elif host:
            _host(draft, place, host.group(1))
        elif said.startswith("dhcp-range"):
            _range(draft, place, said.partition("=")[2])
        elif re.match(r"^domain\s*=", said):
            _domain(draft, place, said.partition("=")[2].split(",")[0].strip())
        else:
            key = said.split("=")[0].strip() if _SETTING.match(said) else said.split()[0]
            draft.notes.left(place, key, said.partition("=")[2].strip(), "a setting of the DHCP server")


def _host(draft: Draft, place: Place, text: str) -> None:
    """`mac[,mac…][,tag][,address][,name][,time]`, in any order."""
    hardware, address, name = "", "", ""
    for part in (one.strip() for one in text.split(",")):
        bare = part.strip("[]")
        if mac(part):
            if hardware:
                draft.notes.left(place, "hardware", part, "a host has one MAC address here")
            hardware = hardware or part
        elif is_address(bare):
            address = address or bare
        elif re.match(r"^(?:id|set|tag|net):", part) or not part:
            if part:
                draft.notes.left(place, part.split(":")[0], part, "a setting of the DHCP server")
        elif _LEASE_TIME.match(part):
            draft.notes.left(place, "time", part, "a setting of the DHCP server")
        elif re.match(r"^[0-9A-Fa-fx:*-]{11,}$", part):
            draft.notes.left(place, "hardware", part, "is no MAC address")
        else:
            name = part
    reservation(draft, place, name, hardware, address)


def _range(draft: Draft, place: Place, text: str) -> None:
    """`[tag,]start,end[,netmask][,time]`."""
    parts = [part.strip() for part in text.split(",")]
    addresses = [part for part in parts if is_address(part)]
    masks = [part for part in addresses if part.startswith("255.")]
    if addresses and masks:
        network(draft, place, f"{addresses[0]}/{masks[0]}", "dhcp-range", text)
    else:
        draft.notes.left(place, "dhcp-range", text, "names no netmask")


def _domain(draft: Draft, place: Place, name: str) -> None:
    draft.domains.setdefault(name.lower(), place)
    draft.notes.mapped(place, "domain", name, "cluster_domain")


FORMAT = Format("dhcp-dnsmasq", recognises, read_into, defines=False)
