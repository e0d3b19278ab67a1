"""The registry of rules for Slurm's files. One rule is one function in rules/."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hpcprov.errors import Finding
from hpcprov.slurm.lint.configuration import Configuration

Check = Callable[[Configuration], Iterator[Finding]]

# Rules that reading applies.
_READING = {
    "file": "A file cannot be read.",
    "include": "An included file cannot be read, or includes itself; slurmctld waits a minute for it and ends.",
}


@dataclass(frozen=True)
class Rule:
    """`name` is stable: scripts and pages refer to it."""

    name: str
    check: Check
    about: str


_RULES: dict[str, Rule] = {}


def rule(name: str) -> Callable[[Check], Check]:
    """Register a function as a rule; its docstring says why the rule exists."""

    def register(check: Check) -> Check:
        if name in _RULES:
            raise ValueError(f"two rules are called {name}")
        _RULES[name] = Rule(name, check, (check.__doc__ or "").strip())
        return check

    return register


def load_rules() -> dict[str, Rule]:
    package = importlib.import_module("hpcprov.slurm.lint.rules")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    return _RULES


def rule_texts() -> dict[str, str]:
    """Every rule with the reason why it exists."""
    return dict(sorted({**_READING, **{name: one.about for name, one in load_rules().items()}}.items()))
