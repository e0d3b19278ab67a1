"""Values that Slurm's parser or its daemons refuse."""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.errors import Finding
from hpcprov.site.findings import did_you_mean
from hpcprov.slurm import limits
from hpcprov.slurm.keys import Key
from hpcprov.slurm.lint.configuration import Configuration, main_table, record_table
from hpcprov.slurm.lint.registry import rule
from hpcprov.slurm.obsolete import replacement
from hpcprov.slurm.partitions import TIMES
from hpcprov.slurm.read import Line, Setting
from hpcprov.slurm.values import is_time, kind_problem

_KINDS = {"boolean": "write yes or no", "uint16": "write a whole number up to 65535"}
_INSECURE = {"AuthType": "auth/none", "CredType": "cred/none"}


@rule("value")
def kinds(configuration: Configuration) -> Iterator[Finding]:
    """A value of the wrong kind is a parse error to Slurm: a word for a number, 3819.5 for RealMemory."""
    for kind, lines in configuration.files.items():
        for line in lines:
            for key, setting in _known(kind, line):
                problem = kind_problem(key.type, setting.value)
                if problem:
                    hint = _KINDS.get(key.type, "write a whole number")
                    yield setting.value_place.finding("value", f"{key.name}: {problem}", hint=hint)


def _known(kind: str, line: Line) -> Iterator[tuple[Key, Setting]]:
    inside = record_table(kind, line)
    for number, setting in enumerate(line.settings):
        known = inside if number and inside else main_table(kind)
        key = known.find(setting.key)
        if key is not None:
            yield key, setting


def _options(configuration: Configuration) -> Iterator[tuple[str, Setting]]:
    """The plain options of slurm.conf in Slurm's spelling."""
    for line in configuration.lines("slurm.conf"):
        key = main_table("slurm.conf").find(line.key)
        if key is not None and record_table("slurm.conf", line) is None:
            yield key.name, line.settings[0]


@rule("choice")
def choices(configuration: Configuration) -> Iterator[Finding]:
    """A plugin or word that the option does not have."""
    for name, setting in _options(configuration):
        old = replacement(name, setting.value)
        if old or name in limits.SECRETS or setting.value.lower() == _INSECURE.get(name):
            continue
        problem = limits.setting_problem(name, setting.value)
        if problem:
            hint = did_you_mean(setting.value, limits.CLOSED.get(name, ())) or "write one of them, or leave it out"
            yield setting.value_place.finding("choice", f"{name}: {problem}", hint=hint)


@rule("old-value")
def old_values(configuration: Configuration) -> Iterator[Finding]:
    """A plugin that went, such as select/cons_res after 23.02."""
    for name, setting in _options(configuration):
        parts = [setting.value, *setting.value.split(",")]
        found = next((entry for part in parts if (entry := replacement(name, part))), None)
        if found is None:
            continue
        release, instead = found
        here = configuration.release is not None and configuration.release >= release
        always = release == "22.05"
        yield setting.value_place.finding(
            "old-value",
            f"{name}={setting.value} " + ("is gone" if always else f"is gone from Slurm {release} on"),
            level="error" if here or always else "warning",
            hint=f"write {name}={instead}" if instead else "remove it",
        )


@rule("partition-value")
def partition_values(configuration: Configuration) -> Iterator[Finding]:
    """States, times and numbers of a partition."""
    for line in configuration.lines("slurm.conf"):
        if line.key != "partitionname":
            continue
        for key, setting in list(_known("slurm.conf", line))[1:]:
            if key.name in TIMES and not is_time(setting.value):
                message = f'{key.name}: "{setting.value}" is no time'
                hint = "minutes, 1:30:00, 2-00:00:00 or UNLIMITED"
                yield setting.value_place.finding("partition-value", message, hint=hint)
                continue
            wrong_kind = kind_problem(key.type, setting.value)  # told by the rule for values
            problem = None if wrong_kind else limits.partition_problem(key.name, setting.value)
            if problem:
                hint = "write such a value, or leave it out for the default"
                yield setting.value_place.finding("partition-value", f"{key.name}: {problem}", hint=hint)


@rule("default-time")
def default_times(configuration: Configuration) -> Iterator[Finding]:
    """Jobs without a time limit of their own would get one that the partition does not allow."""
    for partition in configuration.partitions:
        default, most = partition.settings.get("DefaultTime"), partition.settings.get("MaxTime")
        if default is None or most is None:
            continue
        shorter, longer = limits.minutes(default.value), limits.minutes(most.value)
        if shorter is not None and longer is not None and shorter > longer:
            message = f"DefaultTime {default.value} is longer than MaxTime {most.value}"
            yield default.value_place.finding("default-time", message, level="warning", hint="lower it")
