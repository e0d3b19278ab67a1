"""How values are written in Slurm's files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hpcprov.slurm.errors import SlurmConfigError

_TIME = re.compile(r"^(?:\d+-\d+(?::\d+){0,2}|\d+(?::\d+){0,2}|UNLIMITED|INFINITE)$", re.IGNORECASE)


def text(value: object) -> str:
    """`value` as Slurm reads it: YES and NO, lists with commas, `#` escaped."""
    if isinstance(value, bool):
        return "YES" if value else "NO"
    if isinstance(value, list | tuple | set | frozenset):
        return ",".join(text(item) for item in value)
    if isinstance(value, Mapping):
        return ",".join(f"{key}={text(item)}" for key, item in value.items())
    written = str(value)
    if "\n" in written or "\r" in written:
        # Not shown: it may be a secret.
        raise SlurmConfigError(["a value must stand on one line"])
    return re.sub(r"(?<!\\)#", r"\\#", written)


def record_value(value: object) -> str:
    """A value inside a record line (NodeName=…, PartitionName=…), where a space would end it."""
    written = text(value)
    if re.search(r"\s", written) and not (written.startswith('"') and written.endswith('"')):
        return '"' + written.replace('"', "") + '"'
    return written


def record(items: Mapping[str, Any]) -> str:
    """One record line. Keys without a value are left out."""
    return " ".join(f"{key}={record_value(value)}" for key, value in items.items() if present(value))


def present(value: object) -> bool:
    """Whether there is anything to write: an empty value is as good as none."""
    return value not in (None, "", [], {})


def is_time(value: object) -> bool:
    """Whether Slurm reads `value` as a time: minutes, [days-]hours:minutes[:seconds], UNLIMITED."""
    return not isinstance(value, bool) and bool(_TIME.match(str(value)))


def as_list(value: Any) -> list[Any]:
    """A list of what may have been written as one item."""
    if value is None or value == "":
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


# Largest value of a number, by its type in the key table.
_LARGEST = {"uint16": 65535, "uint32": 4294967295, "uint64": 18446744073709551615}
_YES_NO = ("yes", "no", "true", "false", "1", "0", "up", "down")


def kind_problem(kind: str, written: str) -> str | None:
    """Why `written` is no value of a type of the key table, such as uint16 or boolean."""
    if kind in _LARGEST:
        if written.isdecimal():
            largest = _LARGEST[kind]
            return f"{written} is more than {largest}" if int(written) > largest else None
        return None if _symbolic(kind, written) else f'"{written}" is no whole number'
    if kind == "boolean" and written.lower() not in _YES_NO:
        return f'"{written}" is neither yes nor no'
    return None


def _symbolic(kind: str, written: str) -> bool:
    """Words for no limit, and the units k and m, which Slurm's reader of 16 bit numbers does not know."""
    with_unit = kind != "uint16" and written[:-1].isdecimal() and written[-1] in "kKmM"
    return written.upper() in ("INFINITE", "UNLIMITED") or with_unit
