"""The formats that can be imported. To add one: a module with a FORMAT, and its line here."""

from __future__ import annotations

from pathlib import Path

from hpcprov.importers.csv_nodes import FORMAT as CSV_NODES
from hpcprov.importers.dhcp_dnsmasq import FORMAT as DHCP_DNSMASQ
from hpcprov.importers.dhcp_isc import FORMAT as DHCP_ISC
from hpcprov.importers.dhcp_kea import FORMAT as DHCP_KEA
from hpcprov.importers.format import Format
from hpcprov.importers.hosts_file import FORMAT as HOSTS_FILE
from hpcprov.importers.inventory_ini import FORMAT as INVENTORY_INI
from hpcprov.importers.inventory_yaml import FORMAT as INVENTORY_YAML
from hpcprov.importers.slurm_conf import FORMAT as SLURM_CONF

# The first that recognises a file reads it: strict forms stand before loose ones.
FORMATS = {
    one.name: one
    for one in (
        DHCP_KEA,
        SLURM_CONF,
        INVENTORY_INI,
        DHCP_ISC,
        DHCP_DNSMASQ,
        INVENTORY_YAML,
        CSV_NODES,
        HOSTS_FILE,
    )
}


def format_of(path: Path, text: str) -> Format | None:
    return next((one for one in FORMATS.values() if one.recognises(path, text)), None)
