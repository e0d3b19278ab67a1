"""Types of variables."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from hpcprov.errors import Finding
from hpcprov.site.model import Host
from hpcprov.site.rules.registry import Draft, rule
from hpcprov.site.scalars import Vaulted
from hpcprov.site.templating import holds_template


@rule("type")
def types(draft: Draft) -> Iterator[Finding]:
    """A variable has another type than the roles read."""
    seen: set[tuple[str, int]] = set()
    adapters = _adapters()
    for host in draft.site.hosts.values():
        for name, value in host.vars.items():
            if name not in adapters or (name, id(value)) in seen:
                continue
            seen.add((name, id(value)))
            yield from _type_findings(draft, host, name, value)


def _type_findings(draft: Draft, host: Host, name: str, value: Any) -> Iterator[Finding]:
    from pydantic import ValidationError

    if value is None or isinstance(value, Vaulted) or holds_template(value):
        return
    try:
        _adapters()[name].validate_python(value)
    except ValidationError as error:
        found = [(_value_path(detail, value), detail) for detail in error.errors(include_url=False)]
        for path, detail in _told(found):
            where = ".".join(str(part) for part in (name, *path))
            message, hint = _words(detail, _at(value, path))
            yield draft.place_of(host, name, *path).finding("type", f"{where} {message}", hint=hint)


_Path = tuple[Hashable, ...]


def _told(found: list[tuple[_Path, Any]]) -> Iterator[tuple[_Path, Any]]:
    """One complaint for each place. In a union every branch complains; the one that went deepest was meant."""
    paths = [path for path, _ in found]
    told: set[_Path] = set()
    for path, detail in found:
        deeper = any(len(other) > len(path) and other[: len(path)] == path for other in paths)
        if path not in told and not deeper:
            told.add(path)
            yield path, detail


def _words(detail: Mapping[str, Any], value: Any) -> tuple[str, str | None]:
    kind = detail["type"]
    if kind == "missing":
        return "is missing", None
    if kind == "extra_forbidden":
        return "is not a known key", None
    if kind == "literal_error":
        return f"must be {detail['ctx']['expected']}, not {value!r}", None
    if kind.startswith("string") and isinstance(value, int | float):
        return f"must be text, not {_yaml(value)}", f'quote it: "{_yaml(value)}"'
    return f"must be {_WANTED.get(kind, 'another type')}, not {_yaml(value)}", None


_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "string_pattern_mismatch": "a whole number",
}


def _yaml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a mapping"
    return str(value)


def _value_path(detail: Mapping[str, Any], value: Any) -> _Path:
    """The part of pydantic's location that names keys; the rest names the branches of a union."""
    path: list[Hashable] = []
    for part in detail["loc"]:
        missing = detail["type"] == "missing" and part == detail["loc"][-1]
        if isinstance(value, Mapping) and (part in value or missing):
            path.append(part)
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            path.append(part)
            value = value[part]
    return tuple(path)


def _at(value: Any, path: Sequence[Hashable]) -> Any:
    for part in path:
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int):
            value = value[part]
    return value


@lru_cache(maxsize=1)
def _adapters() -> dict[str, Any]:
    from pydantic import TypeAdapter

    from hpcprov.site.schema import Variables

    return {name: TypeAdapter(field.annotation or Any) for name, field in Variables.model_fields.items()}
