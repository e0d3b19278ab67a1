"""The management controller, by ipmitool and dmidecode."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hpcprov.discovery.facts.model import Bmc
from hpcprov.site.model import is_address

_NONE = ("0.0.0.0", "::")


def parse(lines: Iterable[str]) -> Bmc | None:
    """The first channel of `ipmitool lan print` that has an address; None where there is no controller."""
    channels: list[dict[str, str]] = [{}]
    present = False
    for line in lines:
        if line.startswith("channel="):
            channels.append({})
        elif line.startswith(("device=", "dmi=")):
            present = True
        elif match := re.match(r"(IP Address|MAC Address)\s*:\s*(\S+)", line):
            channels[-1].setdefault(match.group(1), match.group(2).lower())
    for channel in channels:
        address = channel.get("IP Address", "")
        if is_address(address) and address not in _NONE:
            return Bmc(address, channel.get("MAC Address", ""))
    macs = [channel["MAC Address"] for channel in channels if "MAC Address" in channel]
    return Bmc("", macs[0] if macs else "") if present or macs else None
