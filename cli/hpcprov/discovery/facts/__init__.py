"""Facts of a host from what the probe printed there. Each module reads one kind; none of them has side effects."""

from __future__ import annotations

from hpcprov.discovery.facts import bmc, cpu, disks, fabric, gpus, network, pci
from hpcprov.discovery.facts.model import HostFacts
from hpcprov.preflight.facts import Facts

__all__ = ["HostFacts", "read"]


def read(said: Facts) -> HostFacts:
    """The probe's sections as facts."""
    identity, system = said.identity, said.system
    container = said.container
    dmi = dict(line.partition("=")[::2] for line in said.lines("dmi"))
    devices = pci.parse(said.lines("pci"))
    bounds = said.clock_bounds
    slurmd = said.lines("slurmd")
    slurmd_c = next((line.strip() for line in slurmd if line.startswith("NodeName=")), "")
    return HostFacts(
        hostname=said.hostname,
        os=system.name,
        os_id=system.id,
        os_version=system.version,
        os_family=system.family,
        kernel=identity.get("kernel", ""),
        machine=identity.get("machine", ""),
        container=container,
        privileged=said.privileged,
        instance=identity.get("instance", ""),
        vendor=_real(dmi.get("sys_vendor", "")),
        product=_real(dmi.get("product_name", "")),
        serial=_real(dmi.get("product_serial", "")),
        cpu=cpu.measured(cpu.parse(said.lines("lscpu"), said.lines("lscpu-p")), slurmd_c),
        memory_mib=said.memory_mib,
        # A container sees the disks of its machine, and none of them is its own.
        disks=() if container else disks.parse(said.lines("lsblk"), said.lines("block")),
        interfaces=network.parse(
            said.lines("links"), said.lines("addresses"), said.lines("all-addresses"), container=container
        ),
        default_interface=network.default_interface(said.lines("route")),
        gpus=gpus.parse(said.lines("nvidia-smi"), devices, said.lines("nvidia-devices")),
        fabric=fabric.parse(said.lines("infiniband"), devices),
        bmc=None if container else bmc.parse(said.lines("bmc")),
        clock_offset=round(sum(bounds) / 2, 3) if bounds else None,
        clock_doubt=round((bounds[1] - bounds[0]) / 2, 3) if bounds else None,
        slurmd_c=slurmd_c,
        slurm_version=next((line.split()[-1] for line in slurmd if line.startswith("slurm")), ""),
    )


def _real(text: str) -> str:
    """What vendors leave in the firmware says nothing."""
    text = text.strip()
    fillers = ("to be filled by o.e.m.", "not specified", "default string", "system manufacturer", "none", "0123456789")
    return "" if text.lower() in fillers else text
