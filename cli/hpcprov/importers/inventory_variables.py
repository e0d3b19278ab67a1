"""Variables of other tools' inventories, and what they are called here."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from hpcprov.importers.addresses import mac
from hpcprov.site.model import is_address

_CONNECTION = (
    *("ansible_host", "ansible_port", "ansible_user", "ansible_become", "ansible_become_user", "ansible_become_method"),
    *("ansible_ssh_private_key_file", "ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_connection"),
    "ansible_python_interpreter",
)
_ADDRESSES = (
    *("cluster_address", "ip", "ip4", "ipv4", "ip_address", "ipaddress", "access_ip", "private_ip", "internal_ip"),
    *("admin_ip", "mgmt_ip", "mgmt_ip_address", "node_ip"),
)
_MACS = ("cluster_mac", "mac", "mac_address", "macaddress", "hwaddr", "admin_mac", "pxe_mac")
_BMC_ADDRESSES = ("bmc_address", "bmc_ip", "bmc_ip4", "ipmi_ip", "ipmi_address", "ipmi_host", "idrac_ip", "ilo_ip")
# Variables of a host: our name.
HOST: dict[str, str] = {
    **{name: name for name in _CONNECTION},
    "ansible_ssh_host": "ansible_host",
    "ansible_ssh_port": "ansible_port",
    "ansible_ssh_user": "ansible_user",
    "ansible_sudo": "ansible_become",
    **dict.fromkeys(_ADDRESSES, "cluster_address"),
    **dict.fromkeys(_MACS, "cluster_mac"),
    **dict.fromkeys(_BMC_ADDRESSES, "bmc_address"),
    "bmc_name": "bmc_name",
    "bmc_user": "bmc_user",
    "ipmi_user": "bmc_user",
    **{name: name for name in ("slurm_gres", "slurm_features", "slurm_weight", "slurm_node", "cluster_aliases")},
}
# What belongs to one host, even where a group says it.
PER_HOST = frozenset({"ansible_host", "cluster_address", "cluster_mac", "bmc_address", "bmc_name", "cluster_aliases"})
_NAMES = ("cluster_name", "openhpc_cluster_name", "slurm_cluster_name", "slurm_clustername", "clustername")
# Variables of the whole site: our name.
SITE: dict[str, str] = {
    **dict.fromkeys(_NAMES, "cluster_name"),
    **dict.fromkeys(("cluster_domain", "domain", "domain_name", "dns_domain", "internal_domain"), "cluster_domain"),
    **dict.fromkeys(("cluster_network", "cluster_cidr", "node_network"), "cluster_network"),
}
_UNCHECKED = re.compile(
    r"\s*-o\s*[\"']?(?:StrictHostKeyChecking[= ]\s*(?:no|off)|UserKnownHostsFile[= ]\s*/dev/null)[\"']?", re.IGNORECASE
)
# The value as the site has it, and what is told if it changes; None for one that cannot be carried, and why.
Converted = tuple[Any, str]


@lru_cache(maxsize=1)
def ours() -> frozenset[str]:
    """Every variable that a role of hpcprov reads."""
    from hpcprov.site.role_options import role_options
    from hpcprov.site.schema import KNOWN

    return frozenset({*KNOWN, *role_options()}) - {"lab", "hpc_target"}


def converted(target: str, value: Any) -> Converted:
    """A value for the variable `target` of the site."""
    text = str(value).strip()
    if "{{" in text:
        return value, ""
    convert = _CONVERT.get(target)
    if convert is not None:
        return convert(text)
    return (text, "") if target.startswith("ansible_") or target == "cluster_domain" else (value, "")


def _name(text: str) -> Converted:
    name = re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-")
    return (name, "") if name == text else (name or None, f"cluster_name: {name}")


def _mac(text: str) -> Converted:
    address = mac(text)
    return (address, "") if address else (None, "is no MAC address")


def _address(text: str) -> Converted:
    """An address, also one with the length of its prefix."""
    bare = text.partition("/")[0]
    return (bare, "") if is_address(bare) else (None, "is no address")


def _network(text: str) -> Converted:
    try:
        network = str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        return None, "is no network"
    return (network, "") if "/" in text else (None, "has no prefix length")


def _arguments(text: str) -> Converted:
    kept = _UNCHECKED.sub("", text).strip()
    if kept == text:
        return text, ""
    return (kept or None, f"dropped: host keys are checked{f'; kept: {kept}' if kept else ''}")


def _become(text: str) -> Converted:
    return text.lower() in ("yes", "true", "1", "on"), ""


def _port(text: str) -> Converted:
    return (int(text), "") if text.isdecimal() else (None, "is no port")


def _python(text: str) -> Converted:
    old = text.endswith(("python", "python2"))
    return (None, "dropped: Ansible finds Python 3 by itself") if old else (text, "")


_CONVERT: dict[str, Callable[[str], Converted]] = {
    "cluster_name": _name,
    "cluster_mac": _mac,
    "cluster_address": _address,
    "bmc_address": _address,
    "cluster_network": _network,
    "ansible_ssh_common_args": _arguments,
    "ansible_ssh_extra_args": _arguments,
    "ansible_become": _become,
    "ansible_port": _port,
    "ansible_python_interpreter": _python,
}
