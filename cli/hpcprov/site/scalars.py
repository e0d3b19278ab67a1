"""Reads YAML scalars as Ansible does (YAML 1.1), except that base-60 and octal numbers keep their text.

YAML 1.1 turns `1:30:00` into 5400, `52:54:00:12:34:56` into 41135085296 and `05001` into 2561. Once Ansible has
read it so, the text is lost; here it is kept, marked, and a rule asks for quotes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml

_PREFIX = "tag:yaml.org,2002:"
_BOOLEANS = {"yes": True, "no": False, "true": True, "false": False, "on": True, "off": False}


class Base60(str):
    """Text that Ansible would read as a base-60 number, because it is not quoted."""

    __slots__ = ()


class Octal(str):
    """Text that Ansible would read as an octal number, because it begins with a zero and is not quoted."""

    __slots__ = ()


class Vaulted(str):
    """A value encrypted with ansible-vault. What it says is not known here."""

    __slots__ = ()


class Unsafe(str):
    """A value tagged `!unsafe`: never a template."""

    __slots__ = ()


def _integer(text: str) -> int | Base60 | Octal:
    if ":" in text:
        return Base60(text)
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-").replace("_", "")
    for prefix, base in (("0b", 2), ("0x", 16)):
        if digits.startswith(prefix):
            return sign * int(digits[2:], base)
    return Octal(text) if len(digits) > 1 and digits.startswith("0") else sign * int(digits)


def _real(text: str) -> float | Base60:
    if ":" in text:
        return Base60(text)
    number = text.replace("_", "").lower()
    if number.lstrip("+-") in {".inf", ".nan"}:
        return float(number.replace(".", "", 1))
    return float(number)


_READERS: dict[str, Callable[[str], Any]] = {
    "!vault": Vaulted,
    "!vault-encrypted": Vaulted,
    "!unsafe": Unsafe,
    f"{_PREFIX}null": lambda text: None,
    f"{_PREFIX}bool": lambda text: _BOOLEANS[text.lower()],
    f"{_PREFIX}int": _integer,
    f"{_PREFIX}float": _real,
}


def read_scalar(node: yaml.ScalarNode) -> Any:
    """The Python value of a scalar. Dates stay text: no variable of ours is a date."""
    reader = _READERS.get(node.tag)
    return reader(str(node.value)) if reader else str(node.value)
