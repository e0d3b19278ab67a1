"""Values that Slurm's parsers take and its daemons then die of. Sources: slurm.conf(5), src/common/read_config.c."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hpcprov.slurm.values import is_time, text

_LEVELS = (*("quiet", "fatal", "error", "info", "verbose"), *("debug", "debug2", "debug3", "debug4", "debug5"))
_RLIMITS = ("ALL", "NONE", "AS", "CORE", "CPU", "DATA", "FSIZE", "MEMLOCK", "NOFILE", "NPROC", "RSS", "STACK")
# Options with a closed set of values, over all releases that we know.
CLOSED: dict[str, tuple[str, ...]] = {
    "AuthType": ("auth/munge", "auth/slurm"),
    "CredType": ("cred/munge", "cred/slurm"),
    "CryptoType": ("crypto/munge",),
    "PreemptMode": ("off", "cancel", "gang", "requeue", "suspend", "within"),
    "PreemptType": ("preempt/none", "preempt/partition_prio", "preempt/qos"),
    "AccountingStorageEnforce": (
        *("associations", "limits", "nojobs", "nosteps", "qos", "safe", "wckeys", "all", "1", "2"),
    ),
    "CpuFreqGovernors": ("Conservative", "OnDemand", "Performance", "PowerSave", "SchedUtil", "UserSpace"),
    "DebugFlags": (
        *("Accrue", "Agent", "AuditRPCs", "AuditTLS", "Backfill", "BackfillMap", "BurstBuffer", "Cgroup", "ConMgr"),
        *("CPU_Bind", "CpuFrequency", "Data", "DBD_Agent", "Dependency", "Elasticsearch", "Energy", "ExtSensors"),
        *("Federation", "FrontEnd", "Gang", "GLOB_SILENCE", "Gres", "HeteroJobs", "Hetjob", "HTTP", "Interconnect"),
        *("JAG", "JobAccountGather", "JobComp", "JobContainer", "License", "Metrics", "MPI", "Namespace", "Net"),
        *("NetRaw", "Network", "NetworkRaw", "NO_CONF_HASH", "NodeFeatures", "NoRealTime", "Power", "Priority"),
        *("Profile", "Protocol", "Reservation", "Route", "Script", "SelectType", "Steps", "Switch", "Task", "TimeCray"),
        *("TLS", "TraceJobs", "Trigger", "Triggers", "WorkQ", "WorkQueue"),
    ),
    "EnforcePartLimits": ("ALL", "ANY", "NO", "YES", "TRUE", "FALSE", "UP", "DOWN", "1", "0"),
    "HealthCheckNodeState": (
        *("ALLOC", "ANY", "CYCLE", "IDLE", "MIXED", "NONDRAINED_IDLE", "REBOOT_ONLY", "START_ONLY"),
    ),
    "PriorityType": ("priority/basic", "priority/multifactor"),
    "PriorityUsageResetPeriod": ("NONE", "NOW", "DAILY", "WEEKLY", "MONTHLY", "QUARTERLY", "YEARLY"),
    "PropagateResourceLimits": _RLIMITS,
    "PropagateResourceLimitsExcept": _RLIMITS,
    "ReconfigFlags": ("KeepPartInfo", "KeepPartState", "KeepPowerSaveSettings"),
    "ProctrackType": ("proctrack/cgroup", "proctrack/linuxproc", "proctrack/pgid"),
    "SchedulerType": ("sched/backfill", "sched/builtin"),
    "SelectType": ("select/cons_tres", "select/cons_res", "select/linear", "select/cray_aries"),
    "SelectTypeParameters": (
        *("CR_CPU", "CR_CPU_Memory", "CR_Core", "CR_Core_Memory", "CR_Socket", "CR_Socket_Memory", "CR_Board"),
        *("CR_Memory", "CR_ONE_TASK_PER_CORE", "CR_CORE_DEFAULT_DIST_BLOCK", "CR_LLN", "CR_Pack_Nodes"),
        *("CR_Board_Memory", "OTHER_CONS_RES", "OTHER_CONS_TRES", "NHC_NO", "NHC_NO_STEPS", "NHC_ABSOLUTELY_NO"),
        *("LL_SHARED_GRES", "MULTIPLE_SHARING_GRES_PJ", "ENFORCE_BINDING_GRES", "ONE_TASK_PER_SHARING_GRES"),
    ),
    "SlurmctldDebug": _LEVELS,
    "SlurmctldSyslogDebug": _LEVELS,
    "SlurmdDebug": _LEVELS,
    "SlurmdSyslogDebug": _LEVELS,
    "TaskPlugin": ("task/affinity", "task/cgroup", "task/none", "task/cray_aries"),
}
# Options that name one plugin, which others may have written too: only the kind of plugin is certain.
PLUGINS = {
    "AcctGatherFilesystemType": "acct_gather_filesystem",
    "AcctGatherProfileType": "acct_gather_profile",
    "ExtSensorsType": "ext_sensors",
    "JobAcctGatherType": "jobacct_gather",
    "JobCompType": "jobcomp",
    "MCSPlugin": "mcs",
    "PrioritySiteFactorPlugin": "site_factor",
    "RoutePlugin": "route",
    "SwitchType": "switch",
    "TopologyPlugin": "topology",
}
# Those that take several of them, with commas.
_SEVERAL = (
    *("AccountingStorageEnforce", "CpuFreqGovernors", "DebugFlags", "HealthCheckNodeState", "ReconfigFlags"),
    *("PropagateResourceLimits", "PropagateResourceLimitsExcept"),
    *("TaskPlugin", "PreemptMode", "SelectTypeParameters"),
)
# Those that follow from a variable of the site (slurm.owned) are checked under its name.
PORTS = ("SlurmdPort", "DbdPort", "StoragePort", "slurm_ctld_port", "slurm_dbd_port")
PATHS = (
    *("SlurmctldLogFile", "SlurmdLogFile", "SlurmctldPidFile", "SlurmdPidFile"),
    *("slurm_conf_dir", "slurm_log_dir", "slurm_spool_dir", "slurm_state_dir"),
)
# Whole numbers that slurmctld ends with when they are smaller or larger.
_UINT32 = 4294967295
_LAST_JOB = 67108863
RANGES = {
    "FirstJobId": (1, _LAST_JOB),
    "KeepAliveTime": (0, 2147483647),
    "MaxArraySize": (0, 4000001),
    "MaxDBDMsgs": (10000, _UINT32),
    "MaxJobCount": (1, _UINT32 - 1),
    "MaxJobId": (1, _LAST_JOB),
    "MaxStepCount": (1, _UINT32),
    "PropagatePrioProcess": (0, 2),
    "SchedulerTimeSlice": (5, 65535),
    "TreeWidth": (1, 65533),
}
# Times, with -1 for none; the period of a calculation has to be one.
SETTING_TIMES = ("PreemptExemptTime", "PriorityCalcPeriod", "PriorityDecayHalfLife", "PriorityMaxAge")
# What can be counted; names of a kind follow a slash.
_TRES = re.compile(r"^(?:billing|cpu|energy|mem|node|pages|vmem|(?:bb|fs|gres|ic|license)/.+)$", re.IGNORECASE)
# Parameters of the scheduler that are whole numbers, with the least.
_SCHEDULER = {
    **dict.fromkeys(("bf_max_job_test", "bf_max_time", "bf_resolution", "bf_window"), 1),
    **dict.fromkeys(
        ("bf_max_job_part", "bf_max_job_start", "bf_max_job_user", "default_queue_depth", "max_rpc_cnt"), 0
    ),
    "bf_node_space_size": 2,
}
# Numbers and ranges of numbers.
NUMBER_LISTS = ("RequeueExit", "RequeueExitHold")
_CPU_BIND = r"none|off|verbose|(?:thread|core|socket|ldom)s?|(?:map|mask)_(?:cpu|ldom):.*"
WEIGHTS = ("PriorityWeightTRES", "TRESBillingWeights", "TRESWeights")
_WEIGHT = re.compile(r"^[A-Za-z][\w/:.-]*=[+-]?(?:\d+\.?\d*|\.\d+)[KMGTP]?$", re.IGNORECASE)
# A name alone is one license.
_LICENSE = re.compile(r"^[^:=]+(?:[:=]\d+.*)?$")
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
_SHARING = (r"no|exclusive|(?:yes|force)(?::[1-9]\d*)?", "NO, EXCLUSIVE, YES, YES:4, FORCE, FORCE:4")
# Pattern, and how the words are shown. A partition may only choose between cores and sockets.
_PARTITION_WORDS = {
    "State": ("|".join(PARTITION_STATES), ", ".join(PARTITION_STATES)),
    "OverSubscribe": _SHARING,
    "Shared": _SHARING,
    "SelectTypeParameters": (r"cr_(?:core|socket)(?:_memory)?", "CR_Core, CR_Core_Memory, CR_Socket, CR_Socket_Memory"),
}
_MEMORY = ("MaxMemPerCPU", "MaxMemPerNode", "DefMemPerCPU", "DefMemPerGPU", "DefMemPerNode")


def setting_problem(name: str, value: Any) -> str | None:
    """Why slurm.conf must not hold this value of the option `name`, in Slurm's spelling; None when it may."""
    if name in SECRETS:
        return "is a secret, and every user can read slurm.conf"
    items = [text(item).strip() for item in value] if isinstance(value, list) else [text(value).strip()]
    if name in CLOSED:
        split = [part.strip() for item in items for part in item.split(",")] if name in _SEVERAL else items
        return next(
            (f'"{item}" is none of {", ".join(CLOSED[name])}' for item in split if not _in_set(name, item)), None
        )
    if name in PORTS:
        return next((f'"{item}" is no port from 1 to 65535' for item in items if not _is_port(item)), None)
    check = next((check for names, check in _CHECKS if name in names), None)
    problems = (check(name, item) for item in items) if check else ()
    return next((problem for problem in problems if problem), None)


def _range_problem(name: str, item: str) -> str | None:
    low, high = RANGES[name]
    number = _UINT32 if item.upper() in ("INFINITE", "UNLIMITED") else int(item) if item.isdecimal() else low
    return None if low <= number <= high else f"{item} is not between {low} and {high}"


def _plugin_problem(name: str, item: str) -> str | None:
    kind = PLUGINS[name]
    fits = not item or re.fullmatch(rf"{kind}/\w+", item, re.IGNORECASE)
    return None if fits else f'"{item}" is no plugin such as {kind}/name'


def _path_problem(name: str, item: str) -> str | None:
    return None if _is_path(name, item) else f'"{item}" is no absolute path'


def _license_problem(name: str, item: str) -> str | None:
    parts = [part.strip() for part in re.split(r"[,;]", item) if part.strip()]
    return next((f'"{part}" is not name:count' for part in parts if not _LICENSE.match(part)), None)


def _time_problem(name: str, item: str) -> str | None:
    if name == "PriorityCalcPeriod":
        fits = is_time(item) and minutes(item) not in (0, float("inf"))
    else:
        fits = item == "-1" or is_time(item)
    return None if fits else f'"{item}" is no time such as 90, 1:30:00 or 2-00:00:00'


def _numbers_problem(name: str, item: str) -> str | None:
    return None if re.fullmatch(r"[\d,\[\] -]*\d[\]]?", item) and item[0] != "-" else f'"{item}" is no list of numbers'


def _weights_problem(name: str, item: str) -> str | None:
    """Why `item` is no list of TRES=weight."""
    parts = [part.strip() for part in item.split(",") if part.strip()]
    return next((f'"{part}" is not such as cpu=1.0 or mem=0.25G' for part in parts if not _WEIGHT.match(part)), None)


def _cpu_bind_problem(name: str, item: str) -> str | None:
    wrong = [word for word in item.split(",") if not re.fullmatch(_CPU_BIND, word.strip(), re.IGNORECASE)]
    return f'"{wrong[0]}" is none of none, off, threads, cores, sockets, ldoms' if wrong else None


def _tres_problem(name: str, item: str) -> str | None:
    parts = [part.strip() for part in item.split(",") if part.strip()]
    return next((f'"{part}" is not such as cpu, mem or gres/gpu' for part in parts if not _TRES.match(part)), None)


def _scheduler_problem(name: str, item: str) -> str | None:
    given = dict(part.strip().split("=", 1) for part in item.split(",") if "=" in part)
    for parameter, value in given.items():
        least = _SCHEDULER.get(parameter)
        if least is not None and not (value.isdecimal() and int(value) >= least):
            return f"{parameter}={value} is no whole number from {least} on"
    if given.get("bf_max_job_test") == "1" and "bf_node_space_size" not in given:
        return "bf_max_job_test=1 needs bf_node_space_size=2 beside it"
    return None


_CHECKS: tuple[tuple[Iterable[str], Callable[[str, str], str | None]], ...] = (
    (RANGES, _range_problem),
    (PLUGINS, _plugin_problem),
    (PATHS, _path_problem),
    (("Licenses",), _license_problem),
    (("AccountingStorageTRES",), _tres_problem),
    (("SchedulerParameters",), _scheduler_problem),
    (SETTING_TIMES, _time_problem),
    (NUMBER_LISTS, _numbers_problem),
    (WEIGHTS, _weights_problem),
    (("CpuBind",), _cpu_bind_problem),
)


def _in_set(name: str, item: str) -> bool:
    if CLOSED[name] is _RLIMITS:
        return item.removeprefix("RLIMIT_") in _RLIMITS  # Slurm wants capitals here
    by_number = CLOSED[name] is _LEVELS and item.isdecimal() and int(item) < len(_LEVELS)
    return by_number or item.lower() in (known.lower() for known in CLOSED[name])


def _is_port(item: str) -> bool:
    return bool(re.fullmatch(r"\d{1,5}", item)) and 1 <= int(item) <= 65535


def _is_path(name: str, item: str) -> bool:
    return item.lower() in _NO_PATH.get(name, ()) or bool(re.fullmatch(r"/[^\s,;]*", item))


def partition_problem(name: str, value: Any) -> str | None:
    """Why a partition must not have this value of the option `name`, in Slurm's spelling."""
    written = text(value).strip()
    if name in ("PreemptMode", "CpuBind", *WEIGHTS):
        return setting_problem(name, value)
    if name in _PARTITION_WORDS:
        pattern, words = _PARTITION_WORDS[name]
        return None if re.fullmatch(pattern, written, re.IGNORECASE) else f'"{written}" is none of {words}'
    return _partition_number_problem(name, value, written) if name in PARTITION_NUMBERS else None


def _partition_number_problem(name: str, value: Any, written: str) -> str | None:
    largest = PARTITION_NUMBERS[name]
    if largest is None and written.upper() in ("UNLIMITED", "INFINITE"):
        return None
    number = written[:-1] if name in _MEMORY and written[-1:].upper() in ("K", "M") else written
    if isinstance(value, bool) or not re.fullmatch(r"\d{1,18}", number):
        return f'"{written}" is no whole number'
    return f"{written} is more than {largest}" if largest is not None and int(number) > largest else None


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


def together_problem(options: Mapping[str, Any]) -> tuple[str, str] | None:
    """The option, with the reason, that slurmctld ends with beside the others; names in Slurm's spelling."""
    if minutes(options.get("PriorityDecayHalfLife")) == 0 and _counts_usage(options):
        return "PriorityDecayHalfLife", "0 keeps all usage for ever, which needs a PriorityUsageResetPeriod"
    first, last = (str(options.get(name)) for name in ("FirstJobId", "MaxJobId"))
    if first.isdecimal() and last.isdecimal() and int(first) > int(last):
        return "FirstJobId", f"{first} is more than MaxJobId, {last}"
    return None


def _counts_usage(options: Mapping[str, Any]) -> bool:
    reset = str(options.get("PriorityUsageResetPeriod") or "NONE").upper()
    plugin = str(options.get("PriorityType") or "priority/multifactor")
    return reset == "NONE" and plugin == "priority/multifactor"
