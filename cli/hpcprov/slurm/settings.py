"""Free settings of a site, checked against the option table, and `Key=value` files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.keys import table
from hpcprov.slurm.values import present, text


def checked(settings: Mapping[str, Any], what: str, release: str) -> dict[str, Any]:
    """Free settings in Slurm's spelling. Raises SlurmConfigError with every unknown or obsolete key."""
    keys = table(what)
    problems: list[str] = []
    named: dict[str, Any] = {}
    for name, value in settings.items():
        problem = keys.problem(str(name), release)
        key = keys.find_loose(str(name))
        if problem or key is None:
            problems.append(problem or f'{what} has no option "{name}"')
        elif key.name in named:
            problems.append(f"{what}: {key.name} is given twice")
        else:
            named[key.name] = value
    if problems:
        raise SlurmConfigError(problems)
    return named


def key_lines(keys: Mapping[str, Any], repeated: Iterable[str] = ()) -> str:
    """`Key=value` lines. Lists of a `repeated` key give one line each; a key without value is left out."""
    again = set(repeated)
    lines: list[str] = []
    for name, value in keys.items():
        values: Sequence[Any] = value if name in again and isinstance(value, list) else [value]
        lines += [f"{name}={text(item)}\n" for item in values if present(item)]
    return "".join(lines)
