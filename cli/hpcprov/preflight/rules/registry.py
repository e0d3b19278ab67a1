"""The registry of rules."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hpcprov.preflight.findings import Finding
from hpcprov.preflight.look import Look

Check = Callable[[Look], Iterator[Finding]]


@dataclass(frozen=True)
class Rule:
    """`name` is stable: scripts and pages refer to it."""

    name: str
    check: Check
    about: str


RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Check], Check]:
    """Register a function as a rule, or as several that one look decides; its docstring says why it exists."""

    def register(check: Check) -> Check:
        for name in names:
            if name in RULES:
                raise ValueError(f"two rules are called {name}")
            RULES[name] = Rule(name, check, (check.__doc__ or "").strip())
        return check

    return register


def load_rules() -> dict[str, Rule]:
    """All rules of this package, by name."""
    package = __name__.rpartition(".")[0]
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        importlib.import_module(f"{package}.{module.name}")
    return dict(sorted(RULES.items()))


def run_rules(look: Look) -> list[Finding]:
    """Everything that all rules find, in the order of the site file, errors first."""
    checks = dict.fromkeys(entry.check for entry in load_rules().values())
    order = {name: number for number, name in enumerate(look.site.hosts)}
    findings = [finding for check in checks for finding in check(look)]
    return sorted(findings, key=lambda f: (not f.is_error, order.get(f.host, len(order))))
