"""Values that Slurm's parsers take and its daemons then die of. Sources: slurm.conf(5), src/common/read_config.c."""

from __future__ import annotations

import re
from typing import Any

_LEVELS = (*("quiet", "fatal", "error", "info", "verbose"), *("debug", "debug2", "debug3", "debug4", "debug5"))
# Options with a closed set of values, over all releases that we know.
CLOSED: dict[str, tuple[str, ...]] = {
    "AuthType": ("auth/munge", "auth/slurm"),
    "CredType": ("cred/munge", "cred/slurm"),
    "CryptoType": ("crypto/munge",),
    "PreemptMode": ("off", "cancel", "gang", "requeue", "suspend", "within"),
    "PreemptType": ("preempt/none", "preempt/partition_prio", "preempt/qos"),
    "PriorityType": ("priority/basic", "priority/multifactor"),
    "ProctrackType": ("proctrack/cgroup", "proctrack/linuxproc", "proctrack/pgid"),
    "SchedulerType": ("sched/backfill", "sched/builtin"),
    "SelectType": ("select/cons_tres", "select/cons_res", "select/linear", "select/cray_aries"),
    "SelectTypeParameters": (
        *("CR_CPU", "CR_CPU_Memory", "CR_Core", "CR_Core_Memory", "CR_Socket", "CR_Socket_Memory", "CR_Board"),
        *("CR_Memory", "CR_ONE_TASK_PER_CORE", "CR_CORE_DEFAULT_DIST_BLOCK", "CR_LLN", "CR_Pack_Nodes", "NONE"),
        *("CR_Board_Memory", "OTHER_CONS_RES", "OTHER_CONS_TRES", "NHC_NO", "NHC_NO_STEPS", "NHC_ABSOLUTELY_NO"),
        *("LL_SHARED_GRES", "MULTIPLE_SHARING_GRES_PJ", "ENFORCE_BINDING_GRES", "ONE_TASK_PER_SHARING_GRES"),
    ),
    "SlurmctldDebug": _LEVELS,
    "SlurmctldSyslogDebug": _LEVELS,
    "SlurmdDebug": _LEVELS,
    "SlurmdSyslogDebug": _LEVELS,
    "TaskPlugin": ("task/affinity", "task/cgroup", "task/none", "task/cray_aries"),
}
# Those that take several of them, with commas.
_SEVERAL = ("TaskPlugin", "PreemptMode", "SelectTypeParameters")
# Those that follow from a variable of the site (slurm.owned) are checked under its name.
PORTS = ("SlurmdPort", "DbdPort", "StoragePort", "slurm_ctld_port", "slurm_dbd_port")
PATHS = (
    *("SlurmctldLogFile", "SlurmdLogFile", "SlurmctldPidFile", "SlurmdPidFile"),
    *("slurm_conf_dir", "slurm_log_dir", "slurm_spool_dir", "slurm_state_dir"),
)
# Whole numbers that slurmctld ends with when they are smaller or larger.
RANGES = {"MaxJobCount": (1, 4294967294), "MaxArraySize": (0, 4000001), "TreeWidth": (1, 65533)}
# Log files may be switched off.
_NO_PATH = {"SlurmctldLogFile": ("none",), "SlurmdLogFile": ("none",)}
SECRETS = ("AccountingStoragePass", "JobCompPass")

PARTITION_STATES = ("UP", "DOWN", "DRAIN", "INACTIVE")
# Whole numbers of a partition with their largest value; None where UNLIMITED is a word for it.
PARTITION_NUMBERS: dict[str, int | None] = {
    **dict.fromkeys(("MaxNodes", "MaxCPUsPerNode", "MaxCPUsPerSocket", "MaxMemPerCPU", "MaxMemPerNode")),
    **dict.fromkeys(("MinNodes", "DefMemPerCPU", "DefMemPerGPU", "DefMemPerNode", "DefCPUPerGPU"), 4294967293),
    **dict.fromkeys(("PriorityTier", "PriorityJobFactor", "Priority"), 65533),
}
_MEMORY = ("MaxMemPerCPU", "MaxMemPerNode", "DefMemPerCPU", "DefMemPerGPU", "DefMemPerNode")


def setting_problem(name: str, value: Any) -> str | None:
    """Why slurm.conf must not hold this value of the option `name`, in Slurm's spelling; None when it may."""
    if name in SECRETS:
        return "is a secret, and every user can read slurm.conf"
    items = [str(item).strip() for item in value] if isinstance(value, list) else [str(value).strip()]
    if name in CLOSED:
        split = [part.strip() for item in items for part in item.split(",")] if name in _SEVERAL else items
        return next(
            (f'"{item}" is none of {", ".join(CLOSED[name])}' for item in split if not _in_set(name, item)), None
        )
    if name in PORTS:
        return next((f'"{item}" is no port from 1 to 65535' for item in items if not _is_port(item)), None)
    if name in RANGES:
        low, high = RANGES[name]
        wrong = [item for item in items if item.isdecimal() and not low <= int(item) <= high]
        return f"{wrong[0]} is not between {low} and {high}" if wrong else None
    if name in PATHS:
        return next((f'"{item}" is no absolute path' for item in items if not _is_path(name, item)), None)
    return None


def _in_set(name: str, item: str) -> bool:
    by_number = CLOSED[name] is _LEVELS and item.isdecimal() and int(item) < len(_LEVELS)
    return by_number or item.lower() in (known.lower() for known in CLOSED[name])


def _is_port(item: str) -> bool:
    return bool(re.fullmatch(r"\d{1,5}", item)) and 1 <= int(item) <= 65535


def _is_path(name: str, item: str) -> bool:
    return item.lower() in _NO_PATH.get(name, ()) or bool(re.fullmatch(r"/[^\s,;]*", item))


def partition_problem(name: str, value: Any) -> str | None:
    """Why a partition must not have this value of the option `name`, in Slurm's spelling."""
    text = str(value).strip()
    if name == "State":
        return None if text.upper() in PARTITION_STATES else f'"{text}" is none of {", ".join(PARTITION_STATES)}'
    if name == "PreemptMode":
        return setting_problem(name, value)
    if name not in PARTITION_NUMBERS:
        return None
    largest = PARTITION_NUMBERS[name]
    if largest is None and text.upper() in ("UNLIMITED", "INFINITE"):
        return None
    number = text[:-1] if name in _MEMORY and text[-1:].upper() in ("K", "M", "G", "T") else text
    if isinstance(value, bool) or not re.fullmatch(r"\d{1,18}", number):
        return f'"{text}" is no whole number'
    return f"{text} is more than {largest}" if largest is not None and int(number) > largest else None


def minutes(value: object) -> float | None:
    """A time of Slurm in minutes; UNLIMITED is endless. None for what is no time."""
    text = str(value).strip()
    if text.upper() in ("UNLIMITED", "INFINITE", "NONE", "-1"):
        return float("inf")
    match = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
    if not match:
        return None
    days, first, second, third = (int(part or 0) for part in match.groups())
    if match.group(1) is not None or match.group(4) is not None:
        return days * 1440 + first * 60 + second + third / 60
    return first + second / 60
