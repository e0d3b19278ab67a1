"""GPUs: the PCI bus knows that they are there, nvidia-smi what they are."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hpcprov.discovery.facts.model import Gpu
from hpcprov.discovery.facts.pci import NVIDIA, VENDORS, Device


def parse(nvidia_smi: Iterable[str], devices: Iterable[Device], nodes: Iterable[str] = ()) -> tuple[Gpu, ...]:
    """What the driver knows, and the cards of other vendors or without a driver.

    `nvidia_smi` is `--query-gpu=index,name,memory.total,uuid,driver_version,pci.bus_id --format=csv,noheader,nounits`,
    `nodes` are /dev/nvidia0 and so on: a virtual machine or container may have them and no PCI bus.
    """
    working = [gpu for gpu in map(_from_smi, nvidia_smi) if gpu]
    cards = [device for device in devices if device.is_gpu]
    if not working and not any(card.vendor == NVIDIA for card in cards):
        working = [Gpu("nvidia") for _ in nodes]
    slots = {_slot(gpu.pci) for gpu in working}
    silent = [Gpu(VENDORS[card.vendor], pci=card.slot) for card in cards if _slot(card.slot) not in slots]
    return tuple(working + silent)


def gpu_type(model: str) -> str:
    """The word of a model name that admins use: "NVIDIA A100-SXM4-80GB" is a100. As the role measures it."""
    words = re.sub(r"(?i)nvidia|tesla|geforce|quadro", "", model).replace("-", " ").split()
    named = [word.lower() for word in words if re.search(r"\d", word)]
    prefix = "rtx" if "RTX" in words else "gtx" if "GTX" in words else ""
    return prefix + named[0] if named else ""


def _from_smi(line: str) -> Gpu | None:
    """Errors such as "No devices were found" or "couldn't communicate with the NVIDIA driver" are no GPU."""
    parts = [part.strip() for part in line.split(",")]
    if len(parts) < 6 or not parts[0].isdecimal():
        return None
    memory = int(parts[2]) if parts[2].isdecimal() else None
    return Gpu("nvidia", parts[5], parts[1], gpu_type(parts[1]), memory, parts[4], ready=True)


def _slot(text: str) -> str:
    """nvidia-smi writes 00000000:17:00.0, lspci 0000:17:00.0 or 17:00.0."""
    return ":".join(text.lower().split(":")[-2:])
