"""PCI devices by class and vendor, from `lspci -n` or sysfs in the same form."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_LINE = re.compile(r"^(\S+)\s+(?:Class\s+)?([0-9a-f]{4}):\s+([0-9a-f]{4}):([0-9a-f]{4})")

NVIDIA, AMD, INTEL, HABANA = "10de", "1002", "8086", "1da3"
VENDORS = {NVIDIA: "nvidia", AMD: "amd", INTEL: "intel", HABANA: "habana"}
# 3D controller, display controller other than VGA, processing accelerator. A VGA controller (0300) draws the console;
# only NVIDIA sells cards that compute under that class.
_COMPUTE = ("0302", "0380", "1200")
_VGA = "0300"
MELLANOX = "15b3"
CORNELIS = "434e"
_OMNI_PATH = {(INTEL, "24f0"), (INTEL, "24f1")}


@dataclass(frozen=True)
class Device:
    """One function of a card; all in lower-case hex."""

    slot: str
    pci_class: str
    vendor: str
    device: str

    @property
    def is_gpu(self) -> bool:
        if self.vendor == NVIDIA:
            return self.pci_class in (*_COMPUTE, _VGA)
        return (
            self.vendor in VENDORS and self.pci_class in _COMPUTE and (self.vendor != INTEL or self.pci_class != _VGA)
        )

    @property
    def fabric(self) -> str | None:
        """`infiniband`, `omni-path`, or None. A Mellanox card in Ethernet mode is an Ethernet card."""
        if (self.vendor, self.device) in _OMNI_PATH or self.vendor == CORNELIS:
            return "omni-path"
        return "infiniband" if self.pci_class == "0207" else None


def parse(lines: Iterable[str]) -> tuple[Device, ...]:
    """Lines that are no device are passed over."""
    matches = filter(None, (_LINE.match(line.strip().lower().replace("class ", "")) for line in lines))
    return tuple(Device(*match.groups()) for match in matches)
