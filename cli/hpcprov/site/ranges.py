"""Host patterns of an inventory (`node[001:064]`, `head:2222`), expanded with Ansible's own code."""

from __future__ import annotations

import re
from functools import lru_cache

_SLURM_RANGE = re.compile(r"\[([0-9]+(?:-[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*)\]")
_RANGE = re.compile(r"\[([^\[\]]*)\]")
MOST_HOSTS = 100_000


class RangeError(ValueError):
    """A host pattern that names no hosts, with what to write instead."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


@lru_cache(maxsize=4096)
def expand(pattern: str) -> tuple[tuple[str, ...], int | None]:
    """Hosts and SSH port that `pattern` stands for. Raises RangeError."""
    if not any(mark in pattern for mark in "[]:"):
        return (pattern,), None
    name, port = _split_port(pattern)
    if "[" not in name and "]" not in name:
        return (name,), port
    _check_brackets(name)
    from ansible.errors import AnsibleError
    from ansible.plugins.inventory import expand_hostname_range

    try:
        hosts = expand_hostname_range(name)
    except (AnsibleError, ValueError) as error:
        raise RangeError(f'cannot expand "{pattern}": {error}') from error
    return tuple(hosts), port


def _split_port(pattern: str) -> tuple[str, int | None]:
    if ":" not in _RANGE.sub("", pattern):
        return pattern, None
    from ansible.errors import AnsibleError
    from ansible.parsing.utils.addresses import parse_address

    try:
        name, port = parse_address(pattern, allow_ranges=True)
    except AnsibleError:
        return pattern, None
    return str(name or pattern), int(port) if port else None


def _check_brackets(name: str) -> None:
    if name.count("[") != name.count("]") or "[" in _RANGE.sub("", name) or "]" in _RANGE.sub("", name):
        raise RangeError(f'"{name}": brackets do not match', 'write a range as "node[001:064]"')
    size = 1
    for match in _RANGE.finditer(name):
        size *= _check_range(name, match.group(1))
        if size > MOST_HOSTS:
            raise RangeError(f'"{name}" stands for more than {MOST_HOSTS} hosts')


def _check_range(name: str, inside: str) -> int:
    """How many values the range has. Says what is wrong in a range that Ansible would drop or misread."""
    if _SLURM_RANGE.fullmatch(f"[{inside}]"):
        if "-" in inside and "," not in inside:
            good = name.replace(f"[{inside}]", f"[{inside.replace('-', ':')}]")
            raise RangeError(f'"{name}" is a Slurm range; an inventory writes begin:end', f'write "{good}"')
        raise RangeError(
            f'"{name}" is a Slurm hostlist; an inventory writes begin:end', "write one entry for each range"
        )
    bounds = inside.split(":")
    if len(bounds) not in (2, 3):
        raise RangeError(f'"{name}": a range is begin:end or begin:end:step', 'write "node[001:064]"')
    begin, end, step = bounds[0] or "0", bounds[1], bounds[2] if len(bounds) == 3 else "1"
    if not step.isdecimal() or int(step) == 0:
        raise RangeError(f'"{name}": the step "{step}" is not a number above zero')
    if begin.isdecimal() and end.isdecimal():
        if int(begin) > int(end):
            raise RangeError(f'"{name}" counts backwards and names no host', f'write "{_swap(name, inside, bounds)}"')
        return (int(end) - int(begin)) // int(step) + 1
    if len(begin) == len(end) == 1 and begin.isalpha() and end.isalpha():
        if begin > end:
            raise RangeError(f'"{name}" counts backwards and names no host', f'write "{_swap(name, inside, bounds)}"')
        return (ord(end) - ord(begin)) // int(step) + 1
    raise RangeError(f'"{name}": cannot count from "{begin}" to "{end}"')


def _swap(name: str, inside: str, bounds: list[str]) -> str:
    return name.replace(f"[{inside}]", "[" + ":".join([bounds[1], bounds[0], *bounds[2:]]) + "]")
