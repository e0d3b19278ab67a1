"""Host patterns of an inventory (`node[001:064]`, `head:2222`), expanded with Ansible's own code."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import groupby, product

from hpcprov.slurm import hostlist
from hpcprov.slurm.hostlist import fold, split

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


def patterns(hosts: Iterable[str]) -> list[str]:
    """A set of hosts as an inventory writes them: node[001:064], node100. Sorted as Slurm sorts hostlists."""
    return [pattern for part in split(fold(hosts)) for pattern in _of_hostlist(part)]


def _of_hostlist(part: str) -> list[str]:
    """`n[1-3,7]` as Ansible writes it: `n[1:3]` and `n7`."""
    match = re.fullmatch(r"(.*)\[([0-9,-]+)\]", part)
    if match is None:
        return [part]
    return [
        f"{match.group(1)}[{item.replace('-', ':')}]" if "-" in item else match.group(1) + item
        for item in match.group(2).split(",")
    ]


def without(pattern: str, hosts: Collection[str]) -> list[str]:
    """Patterns for the hosts of `pattern` that are not in `hosts`; ranges are split where a host is missing.

    Raises RangeError when `pattern` is no good itself.
    """
    names, port = expand(pattern)
    if not any(name in hosts for name in names):
        return [pattern]
    head, tail = pattern, ""
    if port is not None:
        head, _, tail = pattern.rpartition(":")
        tail = f":{tail}"
    pieces = re.split(r"(\[[^\[\]]*\])", head)
    if len(pieces) == 1:
        return []
    *before, last, after = pieces
    heads = [expand(piece)[0] if piece.startswith("[") else (piece,) for piece in before]
    return [
        f"{start}{part}{after}{tail}"
        for start in map("".join, product(*heads))
        for part in _left(last, [value for value in expand(last)[0] if f"{start}{value}{after}" in hosts])
    ]


def _left(bracket: str, gone: Collection[str]) -> Iterator[str]:
    """The values of one bracket that are left, each run of them as a bracket again."""
    bounds = bracket[1:-1].split(":")
    step = f":{bounds[2]}" if len(bounds) == 3 else ""
    for is_gone, run in groupby(expand(bracket)[0], key=lambda value: value in gone):
        values = list(run)
        if not is_gone:
            yield values[0] if len(values) == 1 else f"[{values[0]}:{values[-1]}{step}]"


def named(texts: Iterable[str]) -> list[str]:
    """Hosts that somebody names: Slurm's hostlists (node[001-004],node007) or ranges as an inventory writes them.

    Each once, in order. Raises RangeError or HostlistError.
    """
    hosts: dict[str, None] = {}
    for part in (part for text in texts for part in split(text)):
        is_range = any(":" in inside for inside in _RANGE.findall(part))
        hosts.update(dict.fromkeys(expand(part)[0] if is_range else hostlist.expand(part)))
    return list(hosts)
