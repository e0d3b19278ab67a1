"""cgroup.conf, and how it fits slurm.conf."""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.errors import Finding
from hpcprov.slurm.lint.configuration import Configuration
from hpcprov.slurm.lint.registry import rule

_PLUGINS = ("autodetect", "disabled", "cgroup/v1", "cgroup/v2")
_CONSTRAINTS = ("ConstrainCores", "ConstrainRAMSpace", "ConstrainSwapSpace", "ConstrainDevices")


def _is_yes(value: str) -> bool:
    return value.lower() in ("yes", "true", "1", "up")


@rule("cgroup-plugin")
def plugin(configuration: Configuration) -> Iterator[Finding]:
    """CgroupPlugin is one of a few words, and `disabled` came with 23.11."""
    setting = configuration.option("cgroup.conf", "CgroupPlugin")
    if setting is None:
        return
    if setting.value.lower() not in _PLUGINS:
        message = f'CgroupPlugin: "{setting.value}" is none of {", ".join(_PLUGINS)}'
        yield setting.value_place.finding("cgroup-plugin", message, hint="leave it out: Slurm finds the right one")
    elif setting.value.lower() == "disabled" and configuration.release and configuration.release < "23.11":
        message = f"CgroupPlugin=disabled came with Slurm 23.11; this cluster runs {configuration.release}"
        yield setting.value_place.finding("cgroup-plugin", message, hint="remove it")


@rule("cgroup-unused")
def unused(configuration: Configuration) -> Iterator[Finding]:
    """Constraints of cgroup.conf are applied by task/cgroup; without it they do nothing."""
    if not configuration.has("slurm.conf") or not configuration.is_whole:
        return
    plugins = configuration.option("slurm.conf", "TaskPlugin")
    if plugins is not None and "task/cgroup" in plugins.value.lower():
        return
    for name in _CONSTRAINTS:
        setting = configuration.option("cgroup.conf", name)
        if setting is not None and _is_yes(setting.value):
            message = f"{name} does nothing: TaskPlugin of slurm.conf has no task/cgroup"
            hint = "write TaskPlugin=task/cgroup,task/affinity"
            yield setting.place.finding("cgroup-unused", message, level="warning", hint=hint)


@rule("cgroup-devices")
def devices(configuration: Configuration) -> Iterator[Finding]:
    """Without ConstrainDevices every job sees all GPUs of its node."""
    gpus = next((node.settings["Gres"] for node in configuration.nodes if "gpu" in (node.value("Gres") or "")), None)
    if gpus is None or not configuration.has("cgroup.conf"):
        return
    setting = configuration.option("cgroup.conf", "ConstrainDevices")
    if setting is None or not _is_yes(setting.value):
        place = setting.place if setting else configuration.place("cgroup.conf")
        message = "nodes have GPUs, and ConstrainDevices is not set: every job sees all of them"
        hint = "write ConstrainDevices=yes"
        yield place.finding("cgroup-devices", message, level="warning", hint=hint)


@rule("cgroup-pair")
def pair(configuration: Configuration) -> Iterator[Finding]:
    """Plugins that count in cgroups need jobs that are tracked in them."""
    gather = configuration.option("slurm.conf", "JobAcctGatherType")
    track = configuration.option("slurm.conf", "ProctrackType")
    if gather and track and "cgroup" in gather.value.lower() and "cgroup" not in track.value.lower():
        message = f"{gather.value} counts in cgroups, and {track.value} makes none"
        hint = "write ProctrackType=proctrack/cgroup, or JobAcctGatherType=jobacct_gather/linux"
        yield gather.value_place.finding("cgroup-pair", message, level="warning", hint=hint)
