"""Variables with parts: interfaces and management controllers of BlueBanquise, partitions of the OpenHPC role."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hpcprov.importers.draft import Draft, HostDraft, Value
from hpcprov.importers.inventory_variables import converted
from hpcprov.site.findings import Place
from hpcprov.slurm.keys import table
from hpcprov.slurm.obsolete import outdated

_PARTITIONS = ("openhpc_slurm_partitions", "openhpc_partitions")
_CONFIGS = {
    "openhpc_config": ("slurm_config", "slurm.conf"),
    "openhpc_config_extra": ("slurm_config", "slurm.conf"),
    "openhpc_cgroup_config": ("slurm_cgroup_config", "cgroup.conf"),
}


@dataclass(frozen=True)
class Parts:
    """A variable: what it says, where, and about which hosts."""

    name: str
    value: Any
    place: Place
    hosts: Sequence[HostDraft]


def take_parts(draft: Draft, groups: Mapping[str, Any], parts: Parts) -> bool:
    """Take over a variable with parts; False when it is none that is known here."""
    name, value, place = parts.name, parts.value, parts.place
    reader = {"network_interfaces": _interfaces, "bmc": _bmc}.get(name)
    if reader is not None and isinstance(value, list | Mapping):
        for host in parts.hosts:
            reader(draft, host, value, place)
        if not parts.hosts:
            draft.notes.left(place, name, value, "is about no host")
    elif name in _PARTITIONS and isinstance(value, list):
        _openhpc_partitions(draft, groups, parts)
    elif name in _CONFIGS and isinstance(value, Mapping):
        _openhpc_config(draft, name, value, place)
    elif name == "networks" and isinstance(value, Mapping):
        _networks(draft, value, place)
    else:
        return False
    return True


def _interfaces(draft: Draft, host: HostDraft, value: Any, place: Place) -> None:
    """The first interface with an address is the one by which the others know the host."""
    items = value if isinstance(value, list) else [{"interface": key, **(one or {})} for key, one in value.items()]
    draft.notes.mapped(place, "network_interfaces", None, "each of its parts is told by itself")
    first = True
    for item in items:
        if not isinstance(item, Mapping):
            draft.notes.left(place, "network_interfaces", item, "has another form")
            continue
        for key, one in item.items():
            told = f"network_interfaces.{key}"
            target = {"ip4": "cluster_address", "mac": "cluster_mac"}.get(str(key)) if first else None
            good = None if target is None or one in (None, "") else converted(target, one)[0]
            if target and good:
                draft.set_host(host, target, good, place, told)
            else:
                why = "has no usable value" if target else "hpcprov configures no interfaces"
                draft.notes.left(place, told, one, why)
        first = first and not (item.get("ip4") or item.get("mac"))


def _bmc(draft: Draft, host: HostDraft, value: Any, place: Place) -> None:
    draft.notes.mapped(place, "bmc", None, "each of its parts is told by itself")
    for key, one in value.items() if isinstance(value, Mapping) else ():
        target = {"ip4": "bmc_address", "ip": "bmc_address", "name": "bmc_name", "user": "bmc_user"}.get(str(key))
        good = converted(target, one)[0] if target and one not in (None, "") else None
        if target and good:
            draft.set_host(host, target, good, place, f"bmc.{key}")
        elif str(key) == "password":
            draft.notes.left(place, "bmc.password", one, "a secret is not copied", "ansible-vault encrypt_string")
        else:
            draft.notes.left(place, f"bmc.{key}", one, "the site file has no place for it")


def _networks(draft: Draft, value: Mapping[Any, Any], place: Place) -> None:
    draft.notes.mapped(place, "networks", None, "each of them is told by itself")
    for name, network in value.items():
        text = f"{network.get('subnet')}/{network.get('prefix')}" if isinstance(network, Mapping) else str(network)
        try:
            draft.networks.setdefault(ipaddress.ip_network(text, strict=False), place)
        except ValueError:
            draft.notes.left(place, f"networks.{name}", text, "is no network")
            continue
        draft.notes.mapped(place, f"networks.{name}", text, "cluster_network, if it holds every host")
        for key, one in network.items() if isinstance(network, Mapping) else ():
            if key not in ("subnet", "prefix"):
                draft.notes.left(place, f"networks.{name}.{key}", one, "hpcprov configures no networks")


def _openhpc_partitions(draft: Draft, groups: Mapping[str, Any], parts: Parts) -> None:
    """Partitions of the OpenHPC role: groups are called <cluster>_<name>."""
    name, place = parts.name, parts.place
    draft.notes.mapped(place, name, None, "each partition is told by itself")
    entries: list[dict[str, Any]] = []
    for item in parts.value:
        if not isinstance(item, Mapping) or not item.get("name"):
            draft.notes.left(place, name, item, "has no name")
            continue
        wanted = str(item["name"])
        group = next((one for one in groups if one == wanted or one.endswith(f"_{wanted}")), None)
        if group is None:
            draft.notes.left(place, f"{name}.{wanted}", None, "no group holds its nodes", "add it to slurm_partitions")
            continue
        entry: dict[str, Any] = {"name": wanted, "nodes": group}
        draft.notes.mapped(place, f"{name}.{wanted}", group, "slurm_partitions")
        for key, one in item.items():
            _openhpc_key(draft, entry, f"{name}.{wanted}.{key}", one, place)
        entries.append(entry)
    if entries:
        draft.variables.setdefault("slurm_partitions", Value(entries, place))


def _openhpc_key(draft: Draft, entry: dict[str, Any], told: str, value: Any, place: Place) -> None:
    known = table("slurm.conf PartitionName")
    key = told.rpartition(".")[2]
    if key == "name":
        return
    if key == "maxtime":
        entry["max_time"] = str(value)
    elif key == "default":
        if str(value).lower() in ("yes", "true"):
            entry["default"] = True
    elif key in ("partition_params", "params") and isinstance(value, Mapping):
        for name, one in value.items():
            option = known.find(str(name))
            if option is None:
                draft.notes.left(place, f"{told}.{name}", one, "PartitionName has no such option")
            else:
                entry[option.name] = one
    else:
        draft.notes.left(place, told, value, "nodes are measured; say the rest with slurm_gres and slurm_features")
        return
    draft.notes.mapped(place, told, value, f"partition {entry['name']}")


def _openhpc_config(draft: Draft, name: str, value: Mapping[Any, Any], place: Place) -> None:
    target, what = _CONFIGS[name]
    draft.notes.mapped(place, name, None, "each option is told by itself")
    for key, one in value.items():
        option = table(what).find(str(key))
        old = outdated(what, option.name) if option else None
        if old:
            draft.notes.changed(place, f"{name}.{key}", one, f"dropped; today: {old}")
        elif option is None or option.last or option.defunct_since:
            draft.notes.left(place, f"{name}.{key}", one, f"{what} has no such option today")
        elif draft.setting(target, option.name, one, place):
            draft.notes.mapped(place, f"{name}.{key}", one, target)
        else:
            draft.notes.left(place, f"{name}.{key}", one, "another file says it otherwise")
