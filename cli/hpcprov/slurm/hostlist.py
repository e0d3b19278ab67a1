"""Slurm hostlists (`node[001-064,100]`), with exactly the meaning that `scontrol show hostnames` gives them.

ClusterShell reads and writes nearly the same language, but refuses `n[001-20]`, which Slurm accepts, and keeps
padding differently when widths are mixed; a node name that changes by a zero is another node. The oracle test
compares this module with Slurm itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product

# Slurm's own limit for one bracket (MAX_RANGE in its source).
MOST_IN_RANGE = 65536
_NUMBERED = re.compile(r"^(.*?)([0-9]{1,9})$", re.DOTALL)
_BRACKET = re.compile(r"\[([^\[\]]*)\]")


class HostlistError(ValueError):
    """Text that Slurm does not read as a hostlist."""


def expand(text: str) -> list[str]:
    """The hosts that a hostlist names, in its order. Raises HostlistError."""
    return [host for part in split(text) for host in _expand_part(part)]


def split(text: str) -> list[str]:
    """The parts of a hostlist between the commas that stand outside brackets."""
    parts, current, depth = [], "", 0
    for char in text:
        depth += (char == "[") - (char == "]")
        if depth not in (0, 1):
            raise HostlistError(f'"{text}": brackets do not match')
        if char == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += char
    if depth:
        raise HostlistError(f'"{text}": brackets do not match')
    return [part.strip() for part in (*parts, current) if part.strip()]


def _expand_part(part: str) -> Iterator[str]:
    pieces = _BRACKET.split(part)
    if len(pieces) == 1:
        yield part
        return
    if pieces[-1]:
        raise HostlistError(f'"{part}": a name must end with its range; Slurm allows no text after it')
    # Odd pieces stood in brackets.
    choices = [list(_values(piece, part)) if index % 2 else [piece] for index, piece in enumerate(pieces)]
    for combination in product(*choices):
        yield "".join(combination)


def _values(inside: str, part: str) -> Iterator[str]:
    for item in inside.split(","):
        low, dash, high = item.partition("-")
        if not low.isdecimal() or not low.isascii() or (dash and not (high.isdecimal() and high.isascii())):
            raise HostlistError(f'"{part}": "{item}" is not a number or a range such as 1-9')
        if not dash:
            yield low
            continue
        if int(low) > int(high):
            raise HostlistError(f'"{part}": "{item}" counts backwards')
        if int(high) - int(low) >= MOST_IN_RANGE:
            raise HostlistError(f'"{part}": "{item}" is more than {MOST_IN_RANGE} hosts')
        for number in range(int(low), int(high) + 1):
            yield f"{number:0{len(low)}d}"


def fold(hosts: Iterable[str]) -> str:
    """The shortest hostlist we know for a set of hosts, sorted as `scontrol show hostlistsorted` sorts.

    Numbers of different width never share a range: `n009,n10` stay apart, since `n[009-10]` would name n010.
    """
    numbered: dict[str, set[str]] = {}
    plain: set[str] = set()
    for host in hosts:
        match = _NUMBERED.match(host)
        if match:
            numbered.setdefault(match.group(1), set()).add(match.group(2))
        else:
            plain.add(host)
    folded = [(prefix, _fold_numbers(prefix, numbers)) for prefix, numbers in numbered.items()]
    return ",".join(text for _, text in sorted([*folded, *((host, host) for host in plain)]))


def _fold_numbers(prefix: str, numbers: set[str]) -> str:
    padded_widths = {len(number) for number in numbers if number.startswith("0") and len(number) > 1}
    classes: dict[int, list[str]] = {}
    for number in numbers:
        classes.setdefault(len(number) if len(number) in padded_widths else 0, []).append(number)
    ranges = [text for width in sorted(classes) for text in _ranges(sorted(classes[width], key=int))]
    if len(ranges) == 1 and "-" not in ranges[0]:
        return prefix + ranges[0]
    return f"{prefix}[{','.join(ranges)}]"


def _ranges(numbers: list[str]) -> Iterator[str]:
    first = last = numbers[0]
    for number in numbers[1:]:
        if int(number) == int(last) + 1 and int(number) - int(first) < MOST_IN_RANGE:
            last = number
            continue
        yield first if first == last else f"{first}-{last}"
        first = last = number
    yield first if first == last else f"{first}-{last}"
