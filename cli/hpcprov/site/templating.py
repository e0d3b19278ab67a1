"""Resolves the templates in a site's variables as far as they can be resolved without running Ansible."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from hpcprov.site.scalars import Unsafe, Vaulted

_UNRESOLVED = object()


def is_template(value: object) -> bool:
    return isinstance(value, str) and not isinstance(value, Unsafe | Vaulted) and ("{{" in value or "{%" in value)


def holds_template(value: object) -> bool:
    """Whether a template stands anywhere inside `value`."""
    if isinstance(value, str):
        return is_template(value)
    if isinstance(value, Mapping):
        return any(holds_template(item) for item in value.values())
    if isinstance(value, list):
        return any(holds_template(item) for item in value)
    return False


class Resolver:
    """The variables of one host. A template that needs a fact, a lookup or a filter of Ansible stays text."""

    def __init__(self, raw: Mapping[str, Any], templated: Callable[[object], bool] = holds_template) -> None:
        self._raw = raw
        self._templated = templated
        self._done: dict[str, Any] = {}
        self._open: set[str] = set()

    def all(self) -> dict[str, Any]:
        return {name: self.get(name) for name in self._raw}

    def get(self, name: str) -> Any:
        if name in self._done:
            return self._done[name]
        value = self._raw[name]
        if not self._templated(value):
            return value
        if name in self._open:
            return value
        self._open.add(name)
        self._done[name] = self._resolve(value)
        self._open.discard(name)
        return self._done[name]

    def _resolve(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._resolve(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._resolve(item) for item in value]
        if not is_template(value):
            return value
        result = self._render(value)
        return value if result is _UNRESOLVED else result

    def _render(self, text: str) -> Any:
        names, render = _compiled(text)
        if render is None:
            return _UNRESOLVED
        context = {}
        for name in names:
            if name not in self._raw or name in self._open:
                return _UNRESOLVED
            value = self.get(name)
            if holds_template(value):
                return _UNRESOLVED
            context[name] = value
        return render(context)


@lru_cache(maxsize=4096)
def _compiled(text: str) -> tuple[tuple[str, ...], Callable[[dict[str, Any]], Any] | None]:
    from jinja2 import StrictUndefined, TemplateError, Undefined, meta
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    try:
        names = tuple(sorted(meta.find_undeclared_variables(environment.parse(text))))
        expression = _single_expression(text)
        template = environment.from_string(text)
        evaluate = environment.compile_expression(expression, undefined_to_none=False) if expression else None
    except TemplateError:
        return (), None

    def render(context: dict[str, Any]) -> Any:
        try:
            result = evaluate(**context) if evaluate else template.render(context)
        except (TemplateError, TypeError, ValueError, ArithmeticError, AttributeError, KeyError):
            return _UNRESOLVED
        return _UNRESOLVED if isinstance(result, Undefined) or not _plain(result) else result

    return names, render


def _single_expression(text: str) -> str | None:
    """The expression of a value that is one `{{ … }}` and nothing else: such a value keeps its type."""
    stripped = text.strip()
    inside = stripped[2:-2]
    if stripped.startswith("{{") and stripped.endswith("}}") and "{{" not in inside and "}}" not in inside:
        return inside.strip(" \n\t-+")
    return None


def _plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool | list | dict | tuple | None)
