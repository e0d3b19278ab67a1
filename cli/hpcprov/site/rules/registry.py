"""The registry of rules."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

from hpcprov.errors import Finding
from hpcprov.site.findings import Findings, Place
from hpcprov.site.model import Host, Site
from hpcprov.site.tree import Layer, Tree
from hpcprov.site.variables import Variables


@dataclass(frozen=True)
class Draft:
    """A site that may still be wrong, with the places where it was written.

    `misread`: reading left something out, and said so; what is missing then may be only that.
    """

    site: Site
    tree: Tree
    variables: Variables
    misread: bool = False

    def host_place(self, host: str) -> Place:
        return self.tree.hosts[host].place

    @property
    def speaker(self) -> Host | None:
        """The host whose variables speak for the whole site: the first controller, else any host of the cluster."""
        return next(iter(self.site.group("controller") or self.site.cluster_hosts), None)

    def layer_of(self, host: Host, name: str) -> Layer | None:
        """The mapping that decides the variable `name` of this host."""
        entry = self.tree.hosts[host.name]
        groups = self.variables.group_names(entry)
        layers = [*self.variables.group_layers(groups), *self.variables.host_layers(entry)]
        return next((layer for layer in reversed(layers) if name in layer.values), None)

    def place_of(self, host: Host, name: str, *keys: Hashable) -> Place:
        """Where a variable of this host is written, or else the host."""
        layer = self.layer_of(host, name)
        return layer.place(name, *keys) if layer else self.host_place(host.name)

    def site_place(self, name: str, *keys: Hashable) -> Place:
        """Where a variable of the whole site is written, or else the file."""
        for layer in reversed(list(self.variables.all_layers())):
            if name in layer.values:
                return layer.place(name, *keys)
        return Place(self.site.path)


Check = Callable[[Draft], Iterator[Finding]]


@dataclass(frozen=True)
class Rule:
    """`name` is stable: scripts and pages refer to it."""

    name: str
    check: Check
    about: str


RULES: dict[str, Rule] = {}


def rule(name: str) -> Callable[[Check], Check]:
    """Register a function as a rule; its docstring says why the rule exists."""

    def register(check: Check) -> Check:
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
    return RULES


def rule_texts() -> dict[str, str]:
    """Every rule, those of reading too, with the reason why it exists."""
    from hpcprov.site.rules.reading import READING_RULES

    return dict(sorted({**READING_RULES, **{name: entry.about for name, entry in load_rules().items()}}.items()))


def run_rules(draft: Draft, findings: Findings) -> None:
    for entry in load_rules().values():
        findings.items.extend(entry.check(draft))
