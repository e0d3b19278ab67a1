"""A value as YAML on one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml


def flow(value: Any) -> str:
    """A value on one line, quoted where YAML 1.1 would read it otherwise."""
    options: dict[str, Any] = {"default_flow_style": True, "width": 10**9, "sort_keys": False, "allow_unicode": True}
    dumped: str = yaml.safe_dump(_plain(value), **options)
    return dumped.removesuffix("...\n").strip()


def _plain(value: Any) -> Any:
    """Without the marks of our own reader."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return {_plain(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
