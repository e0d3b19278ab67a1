"""Adapters of fast networks, by /sys/class/infiniband and the PCI bus."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hpcprov.discovery.facts.model import FabricAdapter
from hpcprov.discovery.facts.pci import Device


def parse(ports: Iterable[str], devices: Iterable[Device]) -> tuple[FabricAdapter, ...]:
    """Ports that a driver serves, else the cards that wait for one."""
    served = [adapter for adapter in map(_port, ports) if adapter]
    kinds = {adapter.kind for adapter in served}
    waiting = [FabricAdapter(kind, pci=card.slot) for card in devices if (kind := card.fabric) and kind not in kinds]
    return tuple(served + waiting)


def _port(line: str) -> FabricAdapter | None:
    """`mlx5_0 port=1 layer=InfiniBand state=4:ACTIVE guid=… rate=200 Gb/sec (4X HDR)`."""
    name, _, rest = line.partition(" ")
    text, _, rate = rest.partition("rate=")
    fields = dict(word.partition("=")[::2] for word in text.split())
    if "layer" not in fields:
        return None
    kind = "omni-path" if name.startswith(("hfi1", "opa")) else "roce"
    if fields["layer"] == "InfiniBand" and kind == "roce":
        kind = "infiniband"
    number = re.match(r"[\d.]+", rate)
    return FabricAdapter(
        kind=kind,
        device=name,
        port=int(fields["port"]) if fields.get("port", "").isdecimal() else None,
        state=fields.get("state", "").rpartition(":")[2].lower(),
        rate=float(number.group()) if number else None,
        guid=fields.get("guid", ""),
    )
