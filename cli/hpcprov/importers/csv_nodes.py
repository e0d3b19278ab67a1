"""Lists of nodes as CSV. The header tells the columns; many names of a column are known."""

from __future__ import annotations

import csv
import io
import re
from itertools import zip_longest
from pathlib import Path

from hpcprov.importers import inventory_variables as known
from hpcprov.importers.draft import Draft, HostDraft
from hpcprov.importers.format import Format
from hpcprov.importers.groups import SERVICES, guessed_roles, normal, roles_of
from hpcprov.importers.notes import Fate, is_secret
from hpcprov.site.findings import Place
from hpcprov.site.ranges import RangeError, expand
from hpcprov.site.rules.leftovers import is_placeholder
from hpcprov.slurm.hostlist import HostlistError
from hpcprov.slurm.hostlist import expand as expand_hostlist

_HOST = ("hostname", "host", "name", "node", "nodename", "node_name", "host_name", "fqdn", "server", "machine")
_GROUP = ("group", "groups", "role", "roles", "type", "functional_group_name", "function", "purpose", "node_type")
_ALIAS = ("alias", "aliases")
# Further names of columns, beside those of an inventory's variables.
_COLUMNS = {
    **dict.fromkeys(("address", "ipaddr", "ip_addr", "host_ip", "ipv4_address", "lan_ip"), "cluster_address"),
    **dict.fromkeys(("ethernet", "mac_addr", "macaddr", "hw_address", "hardware_address", "nic"), "cluster_mac"),
    **dict.fromkeys(("bmc", "ipmi", "idrac", "ilo", "bmc_addr", "oob_ip", "mgmt"), "bmc_address"),
    "ssh_host": "ansible_host",
    "gres": "slurm_gres",
    "features": "slurm_features",
    "feature": "slurm_features",
    "weight": "slurm_weight",
}


def recognises(path: Path, text: str) -> bool:
    """The first line is a header with a column for the host and another one."""
    header = _header(text)
    return header is not None and any(column in _HOST for column in header) and len(header) > 1


def _header(text: str) -> list[str] | None:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines or not re.search(r"[,;\t|]", lines[0]):
        return None
    return [_column(cell) for cell in next(csv.reader([lines[0]], delimiter=_delimiter(lines[0])))]


def _delimiter(line: str) -> str:
    return max(",;\t|", key=line.count)


def _column(cell: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", cell.lower().lstrip("\ufeff")).strip("_")


def read_into(draft: Draft, path: Path, text: str) -> None:
    """A host for each row, and a note for each cell."""
    lines = text.splitlines()
    start = next((index for index, line in enumerate(lines) if line.strip() and not line.startswith("#")), None)
    header = _header(text)
    if start is None or header is None:
        draft.notes.left(Place(path), "file", path, "has no header", "name the columns in the first line")
        return
    rows = csv.reader(io.StringIO("\n".join(lines[start + 1 :])), delimiter=_delimiter(lines[start]))
    key = next((column for name in _HOST for column in header if column == name), None)
    if key is None:
        draft.notes.left(Place(path, start + 1), "header", lines[start], "no column names the host", "call it hostname")
        return
    for cells in rows:
        place = Place(path, start + 1 + rows.line_num, 1)
        if not any(cell.strip() for cell in cells) or cells[0].startswith("#"):
            continue
        for extra in cells[len(header) :]:
            draft.notes.left(place, "column", extra, "stands beyond the columns of the header")
        _row(
            draft, dict(zip_longest(header, (cell.strip() for cell in cells[: len(header)]), fillvalue="")), key, place
        )


def _row(draft: Draft, row: dict[str, str], key: str, place: Place) -> None:
    name = row[key]
    if not name or is_placeholder(name):
        for column, cell in row.items():
            if cell:
                draft.notes.left(place, column, cell, "the row names no host", "write the name of the host")
        return
    names = _names(draft, name, place, key)
    hosts = [draft.host(one, place) for one in names]
    if not hosts:
        for column, cell in row.items():
            if cell and column != key:
                draft.notes.left(place, column, cell, "the row names no host")
        return
    draft.notes.mapped(place, key, name, f"host {hosts[0].name}" if len(hosts) == 1 else f"{len(hosts)} hosts")
    for column, cell in row.items():
        if column != key:
            _cell(draft, hosts, column, cell, place)
    of_a_service = any(normal(row.get(column, "")) in SERVICES for column in _GROUP)
    for host in hosts:
        if not host.roles and not of_a_service:
            role = guessed_roles(host.name)[0]
            host.roles[role] = None
            draft.notes.add(Fate.ADDED, place, host.name, None, f"group {role}, guessed by its name; check it")


def _names(draft: Draft, name: str, place: Place, key: str) -> list[str]:
    try:
        return list(expand(name)[0])
    except RangeError as error:
        try:
            return expand_hostlist(name)
        except HostlistError:
            draft.notes.left(place, key, name, str(error), error.hint)
            return []


def _cell(draft: Draft, hosts: list[HostDraft], column: str, cell: str, place: Place) -> None:
    target = _COLUMNS.get(column) or known.HOST.get(column)
    if not cell:
        return
    if is_secret(column):
        draft.notes.left(place, column, cell, "a secret is not copied", "ansible-vault encrypt_string")
    elif is_placeholder(cell):
        draft.notes.left(place, column, cell, "is a placeholder", "write the right value into the site")
    elif column in _GROUP:
        _groups(draft, hosts, column, cell, place)
    elif column in _ALIAS:
        for host in hosts:
            host.aliases.update(dict.fromkeys(re.split(r"[\s,;]+", cell)))
        draft.notes.mapped(place, column, cell, "cluster_aliases")
    elif target is None:
        draft.notes.left(place, column, cell, "the site file has no place for it")
    elif len(hosts) > 1 and target in known.PER_HOST:
        draft.notes.left(place, column, cell, f"one {target} for {len(hosts)} hosts")
    else:
        value, why = known.converted(target, _typed(target, cell))
        if value is None:
            draft.notes.left(place, column, cell, why)
            return
        for host in hosts:
            draft.set_host(host, target, value, place, column, tell=False)
        draft.notes.mapped(place, column, cell, target)


def _typed(target: str, cell: str) -> str | int | list[str]:
    if target == "slurm_features":
        return [part for part in re.split(r"[\s,;]+", cell) if part]
    return int(cell) if target == "slurm_weight" and cell.isdecimal() else cell


def _groups(draft: Draft, hosts: list[HostDraft], column: str, cell: str, place: Place) -> None:
    told: list[str] = []
    for name in (part for part in re.split(r"[\s,;|]+", cell) if part):
        roles = roles_of(name)
        if normal(name) in SERVICES:
            draft.notes.left(place, column, name, SERVICES[normal(name)])
            continue
        for host in hosts:
            if roles:
                host.roles.update(dict.fromkeys(roles))
            else:
                host.groups[name] = None
        told.append(f"group {' and '.join(roles) if roles else name}")
    if told:
        draft.notes.mapped(place, column, cell, ", ".join(told))


FORMAT = Format("csv", recognises, read_into, defines=True)
