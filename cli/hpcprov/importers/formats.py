"""The formats that can be imported, and how a file is recognised by what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hpcprov.importers import (
    csv_nodes,
    dhcp_dnsmasq,
    dhcp_isc,
    dhcp_kea,
    hosts_file,
    inventory_ini,
    inventory_yaml,
    slurm_conf,
)
from hpcprov.importers.draft import Draft


@dataclass(frozen=True)
class Format:
    """`defines`: such a file says which hosts belong to the cluster; the others only know names and addresses."""

    name: str
    recognises: Callable[[Path, str], bool]
    read_into: Callable[[Draft, Path, str], None]
    defines: bool


# The first that recognises a file reads it: strict forms stand before loose ones.
FORMATS = {
    name: Format(name, module.recognises, module.read_into, defines)
    for name, module, defines in (
        ("dhcp-kea", dhcp_kea, False),
        ("slurm-conf", slurm_conf, True),
        ("inventory-ini", inventory_ini, True),
        ("dhcp-isc", dhcp_isc, False),
        ("dhcp-dnsmasq", dhcp_dnsmasq, False),
        ("inventory-yaml", inventory_yaml, True),
        ("csv", csv_nodes, True),
        ("hosts", hosts_file, False),
    )
}


def format_of(path: Path, text: str) -> Format | None:
    return next((one for one in FORMATS.values() if one.recognises(path, text)), None)
