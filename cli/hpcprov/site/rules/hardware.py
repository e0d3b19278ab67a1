"""MAC addresses and ports."""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.errors import Finding
from hpcprov.site.rules.leftovers import is_placeholder
from hpcprov.site.rules.registry import Draft, rule
from hpcprov.site.templating import is_template


@rule("mac")
def macs(draft: Draft) -> Iterator[Finding]:
    """A MAC address has twelve hexadecimal digits and belongs to one host."""
    owners: dict[str, str] = {}
    for host in draft.site.hosts.values():
        value = host.vars.get("cluster_mac")
        if not isinstance(value, str) or is_template(value) or value == "" or is_placeholder(value):
            continue
        digits = "".join(char for char in value.lower() if char not in ":-.")
        if len(digits) != 12 or any(char not in "0123456789abcdef" for char in digits):
            yield draft.place_of(host, "cluster_mac").finding(
                "mac", f'"{value}" is no MAC address', hint='for example "52:54:00:12:34:56"'
            )
        elif owners.setdefault(digits, host.name) != host.name:
            yield draft.place_of(host, "cluster_mac").finding(
                "mac", f"{host.name} and {owners[digits]} both have the MAC address {value}"
            )


@rule("port")
def ports(draft: Draft) -> Iterator[Finding]:
    """An SSH port is a number from 1 to 65535."""
    for host in draft.site.hosts.values():
        value = host.vars.get("ansible_port")
        if str(value).isdecimal() and not 0 < int(str(value)) < 65536:
            yield draft.place_of(host, "ansible_port").finding("port", f"ansible_port: {value} is no port number")
