"""CPUs, by lscpu or /proc/cpuinfo."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from hpcprov.discovery.facts.model import Cpu
from hpcprov.slurm.hardware import parse_slurmd_c


def measured(cpu: Cpu, slurmd_c: str) -> Cpu:
    """The numbers of `slurmd -C` where it is installed: slurmctld compares a node with those, not with lscpu's."""
    try:
        hardware = parse_slurmd_c(slurmd_c)
    except ValueError:
        return cpu
    sockets = hardware.boards * hardware.sockets_per_board
    return replace(
        cpu, cpus=hardware.cpus, sockets=sockets, cores=hardware.cores_per_socket, threads=hardware.threads_per_core
    )


def parse(text: Iterable[str], table: Iterable[str] = ()) -> Cpu:
    """`text` is plain lscpu or /proc/cpuinfo, `table` is `lscpu -p=CPU,CORE,SOCKET,NODE`, which is exact.

    Plain lscpu tells one kind of core after another on machines that have two, and then its numbers are of one kind.
    """
    pairs = [(key.strip(), value.strip()) for key, _, value in (line.partition(":") for line in text)]
    first: dict[str, str] = {}
    for key, value in pairs:
        first.setdefault(key, value)
    model = first.get("Model name") or first.get("model name") or ""
    rows = [tuple(map(_number, line.split(","))) for line in table if line[:1].isdecimal()]
    if rows and all(len(row) == 4 for row in rows):
        return _counted(model, rows)
    if "CPU(s)" in first:
        numbers = (_number(first.get(key, "")) for key in ("Socket(s)", "Core(s) per socket", "Thread(s) per core"))
        sockets, cores, threads = numbers
        return Cpu(model, _number(first["CPU(s)"]), sockets, cores, threads, _number(first.get("NUMA node(s)", "")))
    return Cpu(model, sum(key == "processor" for key, _ in pairs))


def _counted(model: str, rows: list[tuple[int, ...]]) -> Cpu:
    cpus = len({row[0] for row in rows})
    sockets = len({row[2] for row in rows})
    cores = len({(row[2], row[1]) for row in rows})
    nodes = len({row[3] for row in rows})
    return Cpu(model, cpus, sockets, cores // sockets, cpus // cores, nodes)


def _number(text: str) -> int:
    """0 for what is no number: a virtual machine says `-`, a missing column is empty."""
    match = re.match(r"\d+", text.strip())
    return int(match.group()) if match else 0
