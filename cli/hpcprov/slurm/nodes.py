"""NodeName lines: what a node has, what the site says otherwise, alike nodes on one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.gres import Gres
from hpcprov.slurm.hardware import Hardware, real_memory
from hpcprov.slurm.hostlist import fold
from hpcprov.slurm.keys import table
from hpcprov.slurm.limits import setting_problem
from hpcprov.slurm.values import as_list, kind_problem, present, record, text

_TOPOLOGY = ("Boards", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore")
_SAME = {"Sockets": "SocketsPerBoard", "Procs": "CPUs", "Feature": "Features"}
_COUNTS = ("CPUs", *_TOPOLOGY, "RealMemory")
STATES = ("UNKNOWN", "DOWN", "DRAIN", "FAIL", "FAILING", "FUTURE", "CLOUD", "IDLE", "EXTERNAL")
_ORDER = ("CPUs", *_TOPOLOGY, "RealMemory", "Gres", "Features", "Weight")


@dataclass(frozen=True)
class Node:
    """A compute node. `settings` are the site's own NodeName keys; they win over what was measured."""

    name: str
    hardware: Hardware | None = None
    gres: tuple[Gres, ...] = ()
    features: tuple[str, ...] = ()
    weight: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_defined(self) -> bool:
        """Whether enough is known to write a line: the node was measured, or the site says it all."""
        return self.hardware is not None or {"CPUs", "RealMemory"} <= set(canonical(self.settings))


def canonical(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with Slurm's spelling of each key. Raises SlurmConfigError for an unknown key."""
    keys = table("slurm.conf NodeName")
    named: dict[str, Any] = {}
    for name, value in settings.items():
        problem = keys.problem(str(name), None)
        key = keys.find_loose(str(name))
        if problem or key is None:
            raise SlurmConfigError([f"slurm_node: {problem}"])
        named[_SAME.get(key.name, key.name)] = value
    return named


def node_keys(
    node: Node, *, release: str | None = None, overrides_config: bool = False, whole_nodes: bool = True
) -> dict[str, Any]:
    """The keys of a node's line, without its name.

    `overrides_config`: the site has SlurmdParameters=config_overrides, so that a line may promise more than
    there is. Raises SlurmConfigError with every problem of the node.
    """
    settings = canonical(node.settings)
    keys = {**_measured(node.hardware), **_site(node)}
    _fit_topology(keys, settings)
    keys.update(settings)
    problems = [
        *_unknown(settings, release),
        *arithmetic_problems(keys, whole_nodes=whole_nodes),
        *reserve_problems(keys),
    ]
    if node.hardware is not None and not overrides_config:
        problems += _promises(keys, node.hardware)
    if problems:
        raise SlurmConfigError([f"{node.name}: {problem}" for problem in problems])
    rest = sorted(set(keys) - set(_ORDER) - {"State"})
    return {name: keys[name] for name in (*_ORDER, *rest) if name in keys} | {"State": keys.get("State", "UNKNOWN")}


def _measured(hardware: Hardware | None) -> dict[str, Any]:
    if hardware is None:
        return {}
    numbers = (hardware.boards, hardware.sockets_per_board, hardware.cores_per_socket, hardware.threads_per_core)
    return {
        "CPUs": hardware.cpus,
        **dict(zip(_TOPOLOGY, numbers, strict=True)),
        "RealMemory": real_memory(hardware.memory_mib),
    }


def _site(node: Node) -> dict[str, Any]:
    said = {"Gres": [str(gres) for gres in node.gres], "Features": list(node.features), "Weight": node.weight}
    return {name: value for name, value in said.items() if value not in (None, [])}


def _fit_topology(keys: dict[str, Any], settings: Mapping[str, Any]) -> None:
    """Keep measured and given numbers from contradicting each other: the given ones are meant."""
    given = [name for name in _TOPOLOGY if name in settings]
    if given and "CPUs" not in settings:
        whole = {**keys, **settings}
        keys["CPUs"] = _product([whole.get(name, 1) for name in _TOPOLOGY])
    elif "CPUs" in settings and not given and _number(settings["CPUs"]) != keys.get("CPUs"):
        for name in _TOPOLOGY:
            keys.pop(name, None)


def _unknown(settings: Mapping[str, Any], release: str | None) -> list[str]:
    problems = (table("slurm.conf NodeName").problem(name, release) for name in settings)
    return [problem for problem in problems if problem]


def arithmetic_problems(keys: Mapping[str, Any], *, whole_nodes: bool = True) -> list[str]:
    """Numbers that are none, and CPUs that are neither the cores nor the threads of the node.

    `whole_nodes`: select/linear gives nodes as a whole, and takes one CPU for each socket too.
    Slurm says "CPUs=… match no Sockets, Sockets*CoresPerSocket or …ThreadsPerCore" and takes its own number.
    """
    problems = [
        f"{name}={keys[name]} is not a whole number above zero"
        for name in _COUNTS
        if name in keys and not _number(keys[name])
    ]
    if problems or "CPUs" not in keys or not any(name in keys for name in _TOPOLOGY):
        return problems
    boards, per_board, cores, threads = (_number(keys.get(name, 1)) or 1 for name in _TOPOLOGY)
    cpus = _number(keys["CPUs"]) or 1
    # Where they are not given, Slurm makes as many sockets as the CPUs need.
    sockets = boards * per_board if "SocketsPerBoard" in keys else max(cpus // (cores * threads), 1)
    fits = [sockets * cores, sockets * cores * threads]
    if whole_nodes or "SocketsPerBoard" not in keys:
        fits.append(sockets)
    if cpus not in fits:
        return [
            f"CPUs={keys['CPUs']} fits neither {sockets} sockets x {cores} cores = "
            f"{sockets * cores}, nor x {threads} threads = {sockets * cores * threads}"
        ]
    return []


def value_problems(keys: Mapping[str, Any]) -> list[str]:
    """Values of a wrong kind, and states that a node cannot start in; slurmctld ends with both."""
    known = table("slurm.conf NodeName")
    problems = []
    for name, value in keys.items():
        if name in _COUNTS:
            continue  # said by arithmetic_problems
        key = known.find_loose(name)
        written = text(value)
        problem = kind_problem(key.type, written) if key and present(value) else None
        if name == "State" and str(value).upper().split("+")[0].rstrip("*") not in STATES:
            problem = f'"{value}" is none of {", ".join(STATES)}'
        elif name == "Port" and not _is_port(written):
            problem = f'"{written}" is no port from 1 to 65535'
        elif name in ("CpuBind", "TRESWeights"):
            problem = setting_problem(name, written)
        if problem:
            problems.append(f"{name}: {problem}")
    return problems + reserve_problems(keys)


def reserve_problems(keys: Mapping[str, Any]) -> list[str]:
    """What a node keeps for the system must leave something for jobs; slurmctld takes its own number otherwise."""
    problems = []
    everything = ("UNLIMITED", "INFINITE")
    kept, memory = str(keys.get("MemSpecLimit", "")).upper(), _number(keys.get("RealMemory"))
    if kept in everything or (memory and (_number(kept) or 0) >= memory):
        problems.append(f"MemSpecLimit={kept} leaves nothing of RealMemory={memory or ''} for jobs")
    special, cores = str(keys.get("CoreSpecCount", "")).upper(), _cores(keys)
    if special in everything or (cores and (_number(special) or 0) >= cores):
        problems.append(f"CoreSpecCount={special} leaves none of {cores or 'the'} cores for jobs")
    return problems


def _cores(keys: Mapping[str, Any]) -> int | None:
    """Cores of the node, where its line says them."""
    if "SocketsPerBoard" in keys and "CoresPerSocket" in keys:
        return _product([keys.get(name, 1) for name in _TOPOLOGY[:3]])
    return None if any(name in keys for name in _TOPOLOGY) else _number(keys.get("CPUs"))


def _is_port(written: str) -> bool:
    """A port, or a list of ports for several slurmd."""
    if written.isdecimal():
        return 1 <= int(written) <= 65535
    return bool(re.fullmatch(r"\[?\d+(?:[-,]\d+)*\]?", written))


def _promises(keys: Mapping[str, Any], hardware: Hardware) -> list[str]:
    """What the line promises and the node does not have; Slurm drains such a node."""
    present = {"CPUs": hardware.cpus, "RealMemory": hardware.memory_mib}
    return [
        f"{name}={keys[name]} is more than the node has ({has}); "
        "lower it, or set SlurmdParameters=config_overrides in slurm_config"
        for name, has in present.items()
        if (_number(keys.get(name)) or 0) > has
    ]


def _number(value: object) -> int | None:
    """A whole number above zero, else None."""
    if isinstance(value, bool) or not str(value).isdecimal():
        return None
    return int(str(value)) or None


def _product(values: Iterable[object]) -> int:
    result = 1
    for value in values:
        result *= _number(value) or 1
    return result


def node_lines(nodes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """NodeName lines from node_keys() by node. Each node stands on one line, alike nodes share it."""
    alike: dict[str, list[str]] = {}
    for name, keys in nodes.items():
        alike.setdefault(record(keys), []).append(name)
    lines = [(fold(names), keys) for keys, names in alike.items()]
    return [f"NodeName={names} {keys}" for names, keys in sorted(lines)]


def features_of(value: Any) -> tuple[str, ...]:
    """Features given as a list or as text with commas."""
    return tuple(part.strip() for item in as_list(value) for part in str(item).split(",") if part.strip())
