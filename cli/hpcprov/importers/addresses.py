"""Addresses in the notations that other tools write."""

from __future__ import annotations

import re

_MAC = re.compile(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|[0-9a-f]{12}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}")


def mac(text: str) -> str | None:
    """A MAC address in lower case with colons, from colons, dashes, dots or none; None for anything else."""
    plain = text.strip().lower()
    if not _MAC.fullmatch(plain):
        return None
    digits = re.sub(r"[^0-9a-f]", "", plain)
    return ":".join(digits[index : index + 2] for index in range(0, 12, 2))
