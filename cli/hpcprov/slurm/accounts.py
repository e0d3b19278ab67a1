"""Accounts and QOS of Slurm's accounting: their keys, and which values sacctmgr takes.

The keys stand in the module hpc_sacctmgr too, which runs on a database host without hpcprov; a unit test keeps
both the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_Keys = tuple[tuple[str, str, tuple[str, ...]], ...]

# Canonical name, kind, further names.
_BOTH: _Keys = (
    ("GrpTRES", "tres", ()),
    ("GrpTRESMins", "tres", ()),
    ("GrpTRESRunMins", "tres", ()),
    ("GrpJobs", "count", ()),
    ("GrpJobsAccrue", "count", ()),
    ("GrpSubmitJobs", "count", ("GrpSubmit",)),
    ("GrpWall", "minutes", ()),
    ("MaxTRES", "tres", ("MaxTRESPerJob",)),
    ("MaxTRESPerNode", "tres", ()),
    ("MaxTRESMins", "tres", ("MaxTRESMinsPerJob",)),
    ("MaxWall", "minutes", ("MaxWallDurationPerJob",)),
    ("MinPrioThreshold", "count", ("MinPrioThres",)),
)
ASSOCIATION_KEYS: _Keys = (
    *_BOTH,
    ("Fairshare", "word", ("Share",)),
    ("MaxTRESRunMins", "tres", ()),
    ("MaxJobs", "count", ()),
    ("MaxJobsAccrue", "count", ()),
    ("MaxSubmitJobs", "count", ("MaxSubmit",)),
    ("Priority", "count", ()),
    ("QOS", "names", ("QosLevel",)),
    ("DefaultQOS", "word", ("DefQOS",)),
)
QOS_KEYS: _Keys = (
    *_BOTH,
    ("Description", "word", ()),
    ("Priority", "count0", ()),
    ("GraceTime", "seconds", ()),
    ("Preempt", "names", ()),
    ("PreemptExemptTime", "minutes", ()),
    ("PreemptMode", "word", ()),
    ("Flags", "names", ()),
    ("UsageThreshold", "number", ("UsageThres",)),
    ("UsageFactor", "number", ()),
    ("LimitFactor", "number", ()),
    ("MaxTRESPU", "tres", ("MaxTRESPerUser",)),
    ("MaxJobsPU", "count", ("MaxJobsPerUser",)),
    ("MaxJobsAccruePU", "count", ("MaxJobsAccruePerUser",)),
    ("MaxSubmitPU", "count", ("MaxSubmitJobsPU", "MaxSubmitJobsPerUser", "MaxSubmitPerUser")),
    ("MaxTRESPA", "tres", ("MaxTRESPerAccount",)),
    ("MaxJobsPA", "count", ("MaxJobsPerAccount",)),
    ("MaxJobsAccruePA", "count", ("MaxJobsAccruePerAccount",)),
    ("MaxSubmitPA", "count", ("MaxSubmitJobsPA", "MaxSubmitJobsPerAccount", "MaxSubmitPerAccount")),
    ("MaxTRESRunMinsPU", "tres", ("MaxTRESRunMinsPerUser",)),
    ("MaxTRESRunMinsPA", "tres", ("MaxTRESRunMinsPerAccount",)),
    ("MinTRES", "tres", ("MinTRESPerJob",)),
)
ACCOUNT_WORDS = ("name", "description", "organization", "parent", "users", "state")
USER_WORDS = ("name", "default", "admin_level", "state")
QOS_WORDS = ("name", "state")
# What is there without being listed.
BUILT_IN_ACCOUNT, BUILT_IN_QOS = "root", "normal"

UNLIMITED = ("", "-1", "none", "unlimited", "infinite")
# Names that are limits of a closed set. Source: sacctmgr(1).
_CLOSED = {
    "Flags": (
        *("DenyOnLimit", "EnforceUsageThreshold", "NoDecay", "NoReserve", "OverPartQOS", "PartitionMaxNodes"),
        *("PartitionMinNodes", "PartitionTimeLimit", "Relative", "RequiresReservation", "UsageFactorSafe"),
    ),
    "PreemptMode": ("off", "cluster", "cancel", "gang", "requeue", "suspend", "within"),
}
ADMIN_LEVELS = ("None", "Operator", "Admin", "Administrator")
_TRES = ("billing", "cpu", "energy", "mem", "node", "pages", "vmem")
_TRES_FAMILIES = ("bb", "fs", "gres", "ic", "license")
_NAME = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,63}$")
_TIME = re.compile(r"^(?:\d+-\d+(?::\d+){0,2}|\d+(?::\d+){0,2})$")
_AMOUNT = re.compile(r"^(?:\d+|\d+(?:\.\d+)?[KMGTP])$", re.IGNORECASE)


def limit_of(name: str, keys: _Keys) -> tuple[str, str] | None:
    """Canonical name and kind of a key, whichever of its names is used."""
    lower = name.lower()
    return next((key[:2] for key in keys if lower in (key[0].lower(), *(alias.lower() for alias in key[2]))), None)


def is_name(value: object) -> bool:
    """Whether sacctmgr reads `value` as one name: a comma or a blank would make it two."""
    return isinstance(value, str) and bool(_NAME.match(value)) and "\n" not in value


def is_one_text(value: object) -> bool:
    """Whether a description survives sacctmgr: quotes are stripped, `|` and line breaks end a field."""
    return isinstance(value, str) and not re.search(r"""["'|\r\n]""", value)


def names_in(value: object) -> list[str]:
    """The names of a list or of comma-separated text; none for "not set"."""
    items = value if isinstance(value, list) else str("" if value is None else value).split(",")
    return [name for name in (str(item).strip() for item in items) if name not in ("", "-1")]


def value_problem(name: str, kind: str, value: Any) -> str | None:
    """Why a limit cannot have this value, if so."""
    if isinstance(value, bool):
        return "must not be true or false"
    if kind == "tres":
        return next(_tres_problems(value), None)
    if kind == "names" or name in _CLOSED:
        return _names_problem(name, value)
    if isinstance(value, list | Mapping):
        return "must be a single value"
    text = str("" if value is None else value).strip()
    if text.lower() in UNLIMITED:
        return None
    return _text_problem(name, kind, text)


def _text_problem(name: str, kind: str, text: str) -> str | None:
    if kind in ("minutes", "seconds"):
        return None if _TIME.match(text) else f'"{text}" is no time such as 90, 1:30:00 or 2-00:00:00'
    if kind == "number":
        return None if re.fullmatch(r"\d+(?:\.\d+)?", text) else f'"{text}" is no number'
    if kind in ("count", "count0"):
        return None if re.fullmatch(r"\d{1,9}", text) else f'"{text}" is no whole number'
    if name == "Fairshare":
        fits = re.fullmatch(r"\d{1,9}", text) or text.lower() == "parent"
        return None if fits else f'"{text}" is neither a whole number nor "parent"'
    if name == "Description":
        return None if is_one_text(text) else "must stand on one line, without quotes and |"
    return None if is_name(text) else f'"{text}" is no name'


def _names_problem(name: str, value: Any) -> str | None:
    if isinstance(value, Mapping):
        return "must be a list of names"
    known = {word.lower() for word in _CLOSED.get(name, ())}
    for item in names_in(value):
        if not is_name(item):
            return f'"{item}" is no name'
        if known and item.lower() not in known:
            return f'"{item}" is none of {", ".join(_CLOSED[name])}'
    return None


def _tres_problems(value: Any) -> Iterator[str]:
    if isinstance(value, int | float):
        yield f"{value} says no resource; for example cpu=16,mem=64G"
        return
    pairs = value.items() if isinstance(value, Mapping) else [_pair(item) for item in names_in(value)]
    for name, amount in pairs:
        text = str("" if amount is None else amount).strip()
        if not _is_tres(str(name)):
            yield f'Slurm counts no "{name}"; it has {", ".join(_TRES)}, gres/NAME, license/NAME'
        elif isinstance(amount, bool | list | Mapping):
            yield f"{name} needs a number"
        elif text.lower() not in UNLIMITED and not _AMOUNT.match(text):
            yield f'{name}: "{text}" is no number'


def _pair(text: str) -> tuple[str, str | None]:
    name, equals, amount = text.partition("=")
    return name, amount if equals else "no amount"


def _is_tres(name: str) -> bool:
    family, slash, rest = name.lower().partition("/")
    return (family in _TRES_FAMILIES and bool(re.fullmatch(r"[\w.:+-]+", rest))) if slash else family in _TRES
