"""The variables that the roles read, from their own argument specs."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hpcprov.paths import project_root
from hpcprov.site.document import read_document
from hpcprov.site.findings import Findings, did_you_mean
from hpcprov.site.scalars import Base60, Octal, Vaulted
from hpcprov.site.templating import is_template


@dataclass(frozen=True)
class Option:
    """One variable as its role declares it. `elements` is the type of a list's items."""

    type: str
    elements: str | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """Why a role would refuse a value; `path` leads to the part of it that is meant."""

    path: tuple[Hashable, ...]
    message: str
    hint: str | None = None


@lru_cache(maxsize=1)
def role_options() -> dict[str, Option]:
    """Every variable of every role, by name."""
    options: dict[str, Option] = {}
    for path in sorted((project_root() / "roles").glob("*/meta/argument_specs.yml")):
        document = read_document(path, Findings())
        main = document.data["argument_specs"]["main"] if document else {}
        for name, spec in (main.get("options") or {}).items():
            choices = tuple(str(choice) for choice in spec.get("choices") or ())
            options[name] = Option(spec.get("type", "str"), spec.get("elements"), choices)
    return options


def problems(option: Option, value: Any) -> Iterator[Problem]:
    """What is wrong with the value of a variable. What a template comes to is not known here."""
    if _is_open(value):
        return
    wrong = _type_problem(option.type, value)
    if wrong:
        yield _choice_problem(option.choices, value) if option.choices and option.type != "list" else wrong
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _item_problems(option, index, item)
    elif option.choices and str(value) not in option.choices:
        yield _choice_problem(option.choices, value)


def _item_problems(option: Option, index: int, item: Any) -> Iterator[Problem]:
    for problem in problems(Option(option.elements or "raw", choices=option.choices), item):
        yield Problem((index, *problem.path), problem.message, problem.hint)


def _is_open(value: Any) -> bool:
    """Values that another rule judges, or that nobody can judge here."""
    return value is None or is_template(value) or isinstance(value, Base60 | Octal | Vaulted)


def _choice_problem(choices: tuple[str, ...], value: Any) -> Problem:
    return Problem((), f"must be {_either(choices)}, not {_shown(value)}", did_you_mean(str(value), choices))


def _type_problem(wanted: str, value: Any) -> Problem | None:
    fits, words = _TYPES.get(wanted, (_anything, ""))
    if fits(value):
        return None
    return Problem((), f"must be {words}, not {_shown(value)}", _type_hint(wanted, value))


def _type_hint(wanted: str, value: Any) -> str | None:
    if wanted == "list" and isinstance(value, str | int | float):
        return f"write [{_shown(value)}]"
    if wanted in ("str", "path") and isinstance(value, bool):
        return f'quote it: "{_shown(value)}"'
    if wanted == "bool" and str(value).lower() in ("true", "false", "yes", "no", "on", "off"):
        return f"write it without quotes: {str(value).lower()}"
    return None


def _anything(value: Any) -> bool:
    return True


def _is_text(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _is_whole(value: Any) -> bool:
    if isinstance(value, str):
        return bool(re.fullmatch(r"[+-]?\d+", value.strip()))
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return bool(re.fullmatch(r"[+-]?\d+(\.\d+)?", value.strip()))
    return _is_text(value)


_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "str": (_is_text, "text"),
    "path": (_is_text, "a path"),
    "bool": (lambda value: isinstance(value, bool), "true or false"),
    "int": (_is_whole, "a whole number"),
    "float": (_is_number, "a number"),
    "list": (lambda value: isinstance(value, list), "a list"),
    "dict": (lambda value: isinstance(value, dict), "a mapping"),
}


def _either(choices: tuple[str, ...]) -> str:
    return " or ".join(filter(None, (", ".join(choices[:-1]), choices[-1])))


def _shown(value: Any) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a mapping"
    return str(value).lower() if isinstance(value, bool) else str(value)
