"""Facts of machines that tests make up."""

from __future__ import annotations

from pathlib import Path

from hpcprov.discovery.connect import Target
from hpcprov.discovery.facts import HostFacts
from hpcprov.discovery.facts.model import Bmc, Cpu, Disk, Gpu, Interface
from hpcprov.discovery.new_site import Found
from hpcprov.remote.options import Route

TB = 10**12


def machine(
    hostname: str, *addresses: str, gpus: int = 0, gpu: str = "a100", ready: bool = True, data_tb: float = 0,
    speed: int | None = 1000, bmc: str = "", mac: str = "", mount: str = "", layer: str = "ethernet",
) -> HostFacts:  # fmt: skip
    """A host. `addresses` have their prefix; each is on an interface of its own, eth0 and so on."""
    number = sum(hostname.encode())
    interfaces = tuple(
        Interface(
            f"eth{index}", mac or f"52:54:00:00:{index:02x}:{number % 256:02x}", up=True, speed=speed,
            addresses=(address,), layer=layer,
        )
        for index, address in enumerate(addresses)
    )  # fmt: skip
    disks = [Disk("sda", TB // 2, mounts=("/",), system=True, used=True)]
    if data_tb:
        disks.append(Disk("sdb", int(data_tb * TB), mounts=(mount,) if mount else ()))
    return HostFacts(
        hostname=hostname,
        os="Debian GNU/Linux 12 (bookworm)",
        os_family="debian",
        cpu=Cpu("CPU", 16, 2, 8, 1, 2),
        memory_mib=64000,
        privileged=True,
        instance=hostname,
        disks=tuple(disks),
        interfaces=interfaces,
        gpus=tuple(Gpu("nvidia", "", f"NVIDIA {gpu}".upper(), gpu if ready else "", ready=ready) for _ in range(gpus)),
        bmc=Bmc(bmc) if bmc else None,
    )


def target(name: str, address: str | None = None, *, user: str = "root", port: int = 22, named: bool = True) -> Target:
    way = Route(name, address or name, port, user, None, [Path("known_hosts")], None)
    return Target(name, way, is_named=named)


def found(name: str, facts: HostFacts, address: str | None = None) -> Found:
    own = address or facts.interfaces[0].addresses[0].partition("/")[0]
    return Found(name, target(name, own), facts)
