"""What a node has, by its own `slurmd -C`."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FIELD = re.compile(r"(\w+)=(\S+)")


@dataclass(frozen=True)
class Hardware:
    """CPUs and memory of a node. `memory_mib` is what `slurmd -C` printed."""

    cpus: int
    boards: int
    sockets_per_board: int
    cores_per_socket: int
    threads_per_core: int
    memory_mib: int

    @property
    def cores(self) -> int:
        return self.boards * self.sockets_per_board * self.cores_per_socket

    @property
    def threads(self) -> int:
        return self.cores * self.threads_per_core


def parse_slurmd_c(text: str) -> Hardware:
    """Hardware from the output of `slurmd -C`; lines beside `NodeName=…` are passed over.

    Raises ValueError when a number is missing. Source: slurmd(8), option -C.
    """
    line = next((line for line in text.splitlines() if line.lstrip().startswith("NodeName=")), "")
    fields = {key.lower(): value for key, value in _FIELD.findall(line)}

    def number(name: str, default: int | None = None) -> int:
        value = fields.get(name.lower())
        if value is None and default is not None:
            return default
        if value is None or not value.isdecimal() or int(value) == 0:
            raise ValueError(f"slurmd -C printed no usable {name}: {text.strip()!r}")
        return int(value)

    boards = number("Boards", 1)
    sockets = number("SocketsPerBoard", 0) or number("Sockets") // boards
    return Hardware(
        cpus=number("CPUs"),
        boards=boards,
        sockets_per_board=sockets,
        cores_per_socket=number("CoresPerSocket"),
        threads_per_core=number("ThreadsPerCore"),
        memory_mib=number("RealMemory"),
    )


def real_memory(reported: int, percent: int = 95) -> int:
    """RealMemory for slurm.conf, MiB. `reported` is what `slurmd -C` printed, MiB.

    Slurm drains a node that registers less than was promised, so promise less.
    Raises ValueError unless reported > 0 and 0 < percent <= 100. Source: slurm.conf(5), RealMemory.
    """
    if reported <= 0 or not 0 < percent <= 100:
        raise ValueError(f"cannot take {percent} % of {reported} MiB")
    return reported * percent // 100
