"""Changes of an existing site file that follow from a survey. Comments and order are kept; nothing is written here."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hpcprov.discovery.cluster_network import Network
from hpcprov.discovery.facts import HostFacts
from hpcprov.discovery.new_site import Found
from hpcprov.discovery.variables import gres, host_variables
from hpcprov.errors import HpcprovError, SiteError
from hpcprov.importers.addresses import mac
from hpcprov.importers.groups import guessed_roles
from hpcprov.site import Host, Site, check_site
from hpcprov.site.edit import Edit, add_hosts
from hpcprov.site.edit_each import set_each
from hpcprov.site.save import save

# Kept up to date where hosts have them; everything else of a host in the file is the admin's own.
_MEASURED = ("cluster_mac", "bmc_address")


@dataclass
class Update:
    """`edit` is not written yet. `placed`: new hosts with their group and why; `notes`: what differs and stays."""

    edit: Edit
    placed: dict[str, tuple[str, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def update(site: Site, known: Mapping[str, HostFacts], new: Sequence[Found], network: Network | None) -> Update:
    """`known` are hosts of the site, `new` the others. Raises UsageError or SiteError as the edits do."""
    values = {name: changed for name, facts in known.items() if (changed := changes(site.hosts[name], facts, network))}
    placed = {host.name: place(host, site, known) for host in new}
    before = _text(site.path)
    with _copy(site.path, before) as copy:
        if values:
            save(set_each(copy, values))
        for group in dict.fromkeys(group for group, _ in placed.values()):
            hosts = [host for host in new if placed[host.name][0] == group]
            variables = {host.name: new_variables(host, site, network) for host in hosts}
            save(add_hosts(copy, [host.name for host in hosts], [group], variables))
        after = _text(copy)
    edit = Edit(site.path, before, after, check_site(site.path, text=after))
    return Update(edit, placed, [note for name, facts in known.items() for note in _notes(site.hosts[name], facts)])


def changes(host: Host, facts: HostFacts, network: Network | None) -> dict[str, Any]:
    """What of a known host is missing or out of date in the site."""
    inside = facts.address_in(network) if network else None
    measured: dict[str, str | None] = {
        "bmc_address": facts.bmc.address if facts.bmc else None,
        "cluster_mac": None,
    }
    if inside and inside[0].layer == "ethernet" and not facts.container:
        measured["cluster_mac"] = mac(inside[0].mac)
    return {
        name: value
        for name in _MEASURED
        if (value := measured[name]) and not _same(name, str(host.vars.get(name) or ""), value)
    }


def _same(name: str, present: str, value: str) -> bool:
    return (mac(present) if name == "cluster_mac" else present.lower()) == value.lower()


def new_variables(host: Found, site: Site, network: Network | None) -> dict[str, Any]:
    """Variables of a new host: what the site does not say for all hosts already."""
    variables = host_variables(host.name, host.target, host.facts, network)
    way = host.target.route
    if way.user != str(site.vars.get("ansible_user") or way.user):
        variables["ansible_user"] = way.user
    if way.port != int(site.vars.get("ansible_port") or 22):
        variables["ansible_port"] = way.port
    return variables


def place(host: Found, site: Site, known: Mapping[str, HostFacts]) -> tuple[str, str]:
    """The group for a new host, and why."""
    role = guessed_roles(host.name)[0]
    if role != "compute":
        return role, "by its name"
    children = site.children.get("compute", [])
    if not children:
        return "compute", "a further compute host"
    for group in children:
        if _stem(host.name) in {_stem(name) for name in site.groups.get(group, [])}:
            return group, "its hosts are named alike"
    for group in children:
        if _has_gpus(group, site, known) == bool(host.facts.gpus):
            return group, f"its hosts have {'GPUs' if host.facts.gpus else 'no GPUs'}, too"
    return "compute", "no group of compute has hosts like it"


def _stem(name: str) -> str:
    return re.sub(r"\d+$", "", name.partition(".")[0].lower())


def _has_gpus(group: str, site: Site, known: Mapping[str, HostFacts]) -> bool:
    hosts = site.groups.get(group, [])
    return any("gpu" in str(site.hosts[name].vars.get("slurm_gres") or "") for name in hosts) or any(
        known[name].gpus for name in hosts if name in known
    )


def _notes(host: Host, facts: HostFacts) -> Iterator[str]:
    promised, present = host.vars.get("slurm_gres"), gres(facts)
    if isinstance(promised, str) and "gpu" in promised and present and promised.lower() != present:
        yield f"{host.name}: the site says slurm_gres {promised}, the host has {present}"
    if isinstance(promised, str) and "gpu" in promised and not facts.gpus:
        yield f"{host.name}: the site says slurm_gres {promised}, the host shows no GPU"
    inside = [text.partition("/")[0] for one in facts.interfaces for text in one.addresses]
    if inside and host.cluster_address and host.cluster_address not in inside:
        yield f"{host.name}: no interface has its address {host.cluster_address}; it has {', '.join(inside)}"


def _text(path: Path) -> str:
    with path.open(encoding="utf-8", newline="") as stream:
        return stream.read()


@contextmanager
def _copy(path: Path, text: str) -> Iterator[Path]:
    """A file in the same folder, where the same group_vars count, for several edits one after another."""
    folder = path.resolve().parent
    with tempfile.NamedTemporaryFile(
        "w", dir=folder, prefix=".discover-", suffix=path.suffix, encoding="utf-8", newline=""
    ) as stream:
        stream.write(text)
        stream.flush()
        copy = Path(stream.name)
        try:
            yield copy
        except HpcprovError as error:
            error.message = error.message.replace(str(copy), str(path))
            if isinstance(error, SiteError):
                error.findings = [replace(finding, file=path) for finding in error.findings]
            raise
