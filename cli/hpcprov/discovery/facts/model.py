"""What discover knows about a host. All of it can be saved as JSON."""

from __future__ import annotations

import ipaddress
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Cpu:
    """What lscpu says. `sockets`, `cores` (of one socket) and `threads` (of one core) are 0 where nobody knows."""

    model: str = ""
    cpus: int = 0
    sockets: int = 0
    cores: int = 0
    threads: int = 0
    numa_nodes: int = 0


@dataclass(frozen=True)
class Disk:
    """A whole disk. `system`: the running system is on it; `used`: it holds file systems, partitions or volumes."""

    name: str
    bytes: int
    rotational: bool = False
    model: str = ""
    mounts: tuple[str, ...] = ()
    system: bool = False
    used: bool = False


@dataclass(frozen=True)
class Interface:
    """A network interface. `speed` is in Mbit/s, None where the link does not tell; `addresses` have their prefix."""

    name: str
    mac: str = ""
    kind: str = "physical"  # physical, bond, bridge, virtual, usb
    layer: str = "ethernet"  # ethernet, infiniband, loopback, other
    up: bool = False
    speed: int | None = None
    mtu: int | None = None
    addresses: tuple[str, ...] = ()
    master: str = ""

    @property
    def is_real(self) -> bool:
        """Whether it can lead to other machines, other than a container's bridge or a management controller's USB."""
        return self.layer in ("ethernet", "infiniband") and self.kind in ("physical", "bond")


@dataclass(frozen=True)
class Gpu:
    """One accelerator. `type` is the word that admins use (a100), empty where only the PCI bus tells of it.

    `memory` is in MiB; `ready`: the driver knows it.
    """

    vendor: str
    pci: str = ""
    model: str = ""
    type: str = ""
    memory: int | None = None
    driver: str = ""
    ready: bool = False


@dataclass(frozen=True)
class FabricAdapter:
    """An InfiniBand, Omni-Path or RDMA Ethernet adapter. `rate` is in Gbit/s; without a driver only `pci` is known."""

    kind: str  # infiniband, omni-path, roce
    device: str = ""
    port: int | None = None
    state: str = ""
    rate: float | None = None
    guid: str = ""
    pci: str = ""


@dataclass(frozen=True)
class Bmc:
    """The management controller. `address` is empty where ipmitool is not there or not allowed."""

    address: str = ""
    mac: str = ""


@dataclass(frozen=True)
class HostFacts:
    """Everything. `clock_offset` is how far the host's clock is ahead of ours, seconds, known to `clock_doubt`.

    `privileged`: root was asked; otherwise serial, disks' use and the management controller may be missing.
    """

    hostname: str
    os: str = ""
    os_id: str = ""
    os_version: str = ""
    os_family: str | None = None
    kernel: str = ""
    machine: str = ""
    container: bool = False
    privileged: bool = False
    instance: str = ""
    vendor: str = ""
    product: str = ""
    serial: str = ""
    cpu: Cpu = field(default_factory=Cpu)
    memory_mib: int | None = None
    disks: tuple[Disk, ...] = ()
    interfaces: tuple[Interface, ...] = ()
    default_interface: str = ""
    gpus: tuple[Gpu, ...] = ()
    fabric: tuple[FabricAdapter, ...] = ()
    bmc: Bmc | None = None
    clock_offset: float | None = None
    clock_doubt: float | None = None
    slurmd_c: str = ""
    slurm_version: str = ""

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)

    def address_in(self, network: ipaddress.IPv4Network | ipaddress.IPv6Network) -> tuple[Interface, str] | None:
        """The interface and address that this host has in a network."""
        for interface in self.interfaces:
            for text in interface.addresses:
                address = ipaddress.ip_interface(text).ip
                if address in network:
                    return interface, str(address)
        return None
