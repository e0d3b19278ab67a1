"""gres.conf, and how it fits the nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from hpcprov.errors import Finding
from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.gres import parse_gres
from hpcprov.slurm.hostlist import HostlistError, expand, fold
from hpcprov.slurm.lint.configuration import Configuration
from hpcprov.slurm.lint.registry import rule
from hpcprov.slurm.lint.rules.syntax import hint_for
from hpcprov.slurm.read import Line, Setting

_AUTODETECT = ("nvml", "nvidia", "nrt", "oneapi", "rsmi", "off", "full")
# Detectors that need a plugin which distributions do not always build.
_NEEDS_LIBRARY = {"nvml": "gpu_nvml.so", "rsmi": "gpu_rsmi.so", "oneapi": "gpu_oneapi.so", "nrt": "gpu_nrt.so"}


def _records(configuration: Configuration) -> list[Line]:
    return [line for line in configuration.lines("gres.conf") if line.get("Name") is not None]


def _detects(configuration: Configuration, line: Line | None = None) -> bool:
    own = line.get("AutoDetect") if line else None
    found = own or configuration.option("gres.conf", "AutoDetect")
    return found is not None and found.value.lower() != "off"


def _nodes_of(line: Line) -> list[str] | None:
    """The nodes of a line; None for all."""
    setting = line.get("NodeName")
    return None if setting is None else expand(setting.value)


@rule("gres-nodes")
def nodes(configuration: Configuration) -> Iterator[Finding]:
    """A line of gres.conf for nodes that do not exist says nothing."""
    for line in configuration.lines("gres.conf"):
        setting = line.get("NodeName")
        if setting is None:
            continue
        try:
            unknown = [name for name in expand(setting.value) if name not in configuration.node_names]
        except HostlistError as error:
            yield setting.value_place.finding("gres-nodes", str(error), hint=hint_for(setting.value))
            continue
        if unknown and configuration.node_list_is_complete:
            message = f"slurm.conf defines no node {fold(unknown)}"
            yield setting.value_place.finding("gres-nodes", message, level="warning")


@rule("gres-file")
def files(configuration: Configuration) -> Iterator[Finding]:
    """A GPU without File is no device: slurmd ignores it, and the node is drained."""
    for line in _records(configuration):
        name = line.get("Name")
        if name is None or name.value not in ("gpu", "mps", "shard"):
            continue
        file = line.get("File", "Files", "MultipleFiles")
        if file is None and name.value == "gpu" and not _detects(configuration, line):
            hint = "write File=/dev/nvidia[0-3], or AutoDetect=nvml where Slurm has that plugin"
            yield name.value_place.finding("gres-file", "gpu has neither File nor AutoDetect", hint=hint)
        elif file is not None:
            yield from _count_of_files(line, file)


def _count_of_files(line: Line, file: Setting) -> Iterator[Finding]:
    try:
        number = len(expand(file.value))
    except HostlistError as error:
        yield file.value_place.finding("gres-file", str(error), hint=hint_for(file.value))
        return
    count, name = line.get("Count"), line.get("Name")
    if count and name and name.value == "gpu" and count.value.isdecimal() and int(count.value) != number:
        message = f"Count={count.value}, but File names {number}"
        yield count.value_place.finding("gres-file", message, hint="leave Count out; the files are counted")


@rule("gres-cores")
def cores(configuration: Configuration) -> Iterator[Finding]:
    """Cores are numbers of cores of the node, from 0; threads as the kernel counts them are other numbers."""
    limits = {name: _cores(node.values()) for node in configuration.nodes for name in node.names}
    for line in _records(configuration):
        setting = line.get("Cores", "CPUs")
        if setting is None:
            continue
        try:
            largest = max((int(part) for part in expand(f"[{setting.value}]")), default=0)
            named = _nodes_of(line)
        except (HostlistError, ValueError):
            message = f'{setting.key}: "{setting.value}" is no list of numbers such as 0-15'
            yield setting.value_place.finding("gres-cores", message, hint="count the cores of the node from 0")
            continue
        for name in named if named is not None else limits:
            most = limits.get(name)
            if most and largest >= most:
                message = f"core {largest} of {name}, which has {most} cores, from 0 to {most - 1}"
                hint = "count cores, not threads; or leave Cores out"
                yield setting.value_place.finding("gres-cores", message, hint=hint)
                break


def _cores(values: dict[str, str]) -> int | None:
    if any(not values.get(name, "1").isdecimal() for name in ("Boards", "Sockets", "SocketsPerBoard")):
        return None
    per_socket = values.get("CoresPerSocket")
    if per_socket is None or not per_socket.isdecimal():
        return None
    boards = int(values.get("Boards", "1"))
    sockets = int(values["Sockets"]) if "Sockets" in values else boards * int(values.get("SocketsPerBoard", "1"))
    return sockets * int(per_socket)


@rule("gres-autodetect")
def autodetect(configuration: Configuration) -> Iterator[Finding]:
    """AutoDetect needs a plugin of Slurm; slurmd ends where it is not there."""
    for line in configuration.lines("gres.conf"):
        setting = line.get("AutoDetect")
        if setting is None:
            continue
        value = setting.value.lower()
        if value not in _AUTODETECT:
            message = f'AutoDetect: "{setting.value}" is none of {", ".join(_AUTODETECT)}'
            yield setting.value_place.finding("gres-autodetect", message, hint="write nvml, or File= without it")
        elif value in _NEEDS_LIBRARY:
            message = f"AutoDetect={setting.value} needs {_NEEDS_LIBRARY[value]} on the node; packages may lack it"
            hint = "look for it in Slurm's plugin directory; without it write File="
            yield setting.value_place.finding("gres-autodetect", message, level="warning", hint=hint)


@rule("gres-count")
def counts(configuration: Configuration) -> Iterator[Finding]:
    """A node that finds fewer resources than its NodeName line promises is drained."""
    if not configuration.has("slurm.conf") or not configuration.nodes:
        return
    found = _counts_in_gres_conf(configuration)
    for node in configuration.nodes:
        setting = node.settings.get("Gres")
        if setting is None:
            continue
        for name in node.names:
            problem = _promise_problem(configuration, name, setting, found)
            if problem:
                message, hint = problem
                # Nodes may have a gres.conf of their own.
                level = "error" if configuration.has("gres.conf") else "warning"
                yield setting.value_place.finding("gres-count", message, level=level, hint=hint)
                break  # the other nodes of the line are alike


def _counts_in_gres_conf(configuration: Configuration) -> dict[str, Counter[str]]:
    """Number of GPUs of each node by gres.conf; "" holds what is said about all nodes."""
    found: dict[str, Counter[str]] = {}
    for line in _records(configuration):
        kind, file, count = line.get("Name"), line.get("File", "Files", "MultipleFiles"), line.get("Count")
        try:
            number = len(expand(file.value)) if file else int(count.value) if count and count.value.isdecimal() else 1
            names = _nodes_of(line)
        except HostlistError:
            continue
        for name in [""] if names is None else names:
            found.setdefault(name, Counter())[kind.value if kind else ""] += number
    return found


def _promise_problem(
    configuration: Configuration, node: str, setting: Setting, found: dict[str, Counter[str]]
) -> tuple[str, str] | None:
    promised = 0
    for item in setting.value.split(","):
        try:
            gres = parse_gres(item)
        except SlurmConfigError:
            return None
        promised += int(gres.count) if gres.name == "gpu" and gres.count.isdecimal() else 0
    detected = _detects(configuration) or any(
        line.get("AutoDetect") and node in (_nodes_of(line) or [node]) for line in configuration.lines("gres.conf")
    )
    if promised == 0 or detected:
        return None
    have = found.get(node, Counter())["gpu"] + found.get("", Counter())["gpu"]
    if have >= promised:
        return None
    if not configuration.has("gres.conf"):
        return f"{node} promises {promised} gpu, and there is no gres.conf", "name their device files in gres.conf"
    return (
        f"{node} promises {promised} gpu, and gres.conf has {have} for it",
        "write NodeName=… Name=gpu File=… in gres.conf, with a file for each",
    )


@rule("gres-everywhere")
def everywhere(configuration: Configuration) -> Iterator[Finding]:
    """A line of gres.conf without NodeName is about every node that reads the file."""
    without = [name for node in configuration.nodes if "Gres" not in node.settings for name in node.names]
    if not without or not configuration.node_list_is_complete:
        return
    for line in _records(configuration):
        name = line.get("Name")
        if name is not None and name.value == "gpu" and line.get("NodeName") is None and line.get("File", "Files"):
            message = f"this line is about every node, and {fold(without)} has no GPU"
            hint = "begin it with NodeName="
            yield name.place.finding("gres-everywhere", message, level="warning", hint=hint)
