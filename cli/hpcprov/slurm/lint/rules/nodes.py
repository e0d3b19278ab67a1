"""NodeName lines."""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.errors import Finding
from hpcprov.slurm.definitions import Definition
from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.gres import parse_gres
from hpcprov.slurm.hostlist import HostlistError, expand, fold
from hpcprov.slurm.lint.configuration import Configuration
from hpcprov.slurm.lint.registry import rule
from hpcprov.slurm.nodes import STATES, arithmetic_problems
from hpcprov.slurm.read import Setting


@rule("node-twice")
def twice(configuration: Configuration) -> Iterator[Finding]:
    """slurmctld ends with "Duplicated NodeHostName" when a node stands on two lines."""
    owners: dict[str, Definition] = {}
    for node in configuration.nodes:
        again = [name for name in node.names if owners.setdefault(name, node) is not node]
        inside = [name for name in dict.fromkeys(node.names) if node.names.count(name) > 1]
        if again:
            first = owners[again[0]].line.place.line
            message = f"{fold(again)} stands already in line {first}"
            hint = "a node has one line; partitions name it as often as they like"
            yield node.name.value_place.finding("node-twice", message, hint=hint)
        elif inside:
            message = f"{fold(inside)} stands twice in this hostlist"
            yield node.name.value_place.finding("node-twice", message, hint="name it once")


@rule("no-nodes")
def none(configuration: Configuration) -> Iterator[Finding]:
    """slurmctld ends without nodes, and without partitions."""
    if not configuration.is_whole or any(True for line in configuration.lines("slurm.conf") if line.include):
        return
    place = configuration.place("slurm.conf")
    # Nodes may register by themselves.
    dynamic = configuration.option("slurm.conf", "MaxNodeCount")
    if not configuration.nodes and not dynamic:
        yield place.finding("no-nodes", "no NodeName is defined", hint="slurmd -C prints the line of a node")
    if not configuration.partitions:
        yield place.finding("no-nodes", "no PartitionName is defined", hint="write PartitionName=main Nodes=ALL")


@rule("cpus")
def arithmetic(configuration: Configuration) -> Iterator[Finding]:
    """CPUs are the cores or the threads of a node; otherwise Slurm takes a number of its own."""
    for node in configuration.nodes:
        values = node.values()
        numbers = _numbers(values)
        if numbers is None:
            continue
        for problem in arithmetic_problems(numbers):
            place = node.settings["CPUs"].value_place if "CPUs" in node.settings else node.name.value_place
            yield place.finding("cpus", problem, hint="slurmd -C on the node prints the right numbers")


def _numbers(values: dict[str, str]) -> dict[str, int] | None:
    """The numbers of a node; Sockets alone are meant for one board. None when one of them is no number."""
    counted: dict[str, int] = {}
    for name in ("CPUs", "Boards", "Sockets", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore"):
        if name in values:
            if not values[name].isdecimal():
                return None
            counted[name] = int(values[name])
    if "Sockets" in counted:
        counted.setdefault("SocketsPerBoard", max(counted["Sockets"] // counted.get("Boards", 1), 1))
        del counted["Sockets"]
    return counted


@rule("memory-missing")
def memory(configuration: Configuration) -> Iterator[Finding]:
    """Without RealMemory a node has 1 MiB, and jobs that ask for memory are refused."""
    for node in configuration.nodes:
        if "RealMemory" not in node.settings and node.names:
            message = f"{node.name.value} has no RealMemory, so Slurm gives it 1 MiB"
            hint = "write RealMemory= with 95 % of what slurmd -C prints on the node"
            yield node.name.value_place.finding("memory-missing", message, level="warning", hint=hint)


@rule("node-state")
def states(configuration: Configuration) -> Iterator[Finding]:
    """The State of a NodeName line is one of a few words."""
    for node in configuration.nodes:
        state = node.settings.get("State")
        if state and state.value.upper().split("+")[0].rstrip("*") not in STATES:
            message = f'State: "{state.value}" is none of {", ".join(STATES)}'
            yield state.value_place.finding("node-state", message, hint="leave it out, or write State=UNKNOWN")


@rule("node-address")
def addresses(configuration: Configuration) -> Iterator[Finding]:
    """Addresses belong to one node each; Slurm accepts two nodes with one, and then talks to the wrong one."""
    owners: dict[str, str] = {}
    for node in configuration.nodes:
        setting = node.settings.get("NodeAddr")
        if setting is None or not node.names:
            continue
        given = _expanded(setting)
        if len(given) != len(node.names):
            message = f"{len(given)} addresses for {len(node.names)} nodes"
            level = "warning" if len(given) == 1 else "error"  # one for all is taken, for several slurmd on a host
            yield setting.value_place.finding("node-address", message, level=level, hint="give each node its own")
            continue
        several = "Port" in node.settings or configuration.option("slurm.conf", "SlurmdParameters") is not None
        for name, address in zip(node.names, given, strict=True):
            first = owners.setdefault(address, name)
            if first != name and not several:
                message = f"{name} and {first} both have the address {address}"
                yield setting.value_place.finding("node-address", message, level="warning")


def _expanded(setting: Setting) -> list[str]:
    try:
        return expand(setting.value)
    except HostlistError:
        return [setting.value]


@rule("gres-types")
def gres_types(configuration: Configuration) -> Iterator[Finding]:
    """A resource of a node that GresTypes does not name is dropped."""
    named = configuration.option("slurm.conf", "GresTypes")
    known = {part.strip() for part in named.value.split(",")} if named else set()
    for node in configuration.nodes:
        setting = node.settings.get("Gres")
        for item in setting.value.split(",") if setting else ():
            if setting is None or not item or item.lower() == "(null)":
                continue
            try:
                gres = parse_gres(item)
            except SlurmConfigError:
                message = f'Gres: "{item}" is not name[:type]:count'
                yield setting.value_place.finding("gres-types", message, hint="for example gpu:a100:4")
                continue
            if gres.name not in known and configuration.is_whole:
                have = f", which is {named.value}" if named else ", which is not set"
                message = f"{gres.name} is not in GresTypes{have}"
                hint = f"write GresTypes={','.join(sorted({*known, gres.name}))}"
                yield setting.value_place.finding("gres-types", message, hint=hint)
