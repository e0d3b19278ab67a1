"""Values that Ansible misreads, and names that are nearly ours."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from hpcprov.errors import Finding
from hpcprov.paths import project_root
from hpcprov.site.rules.registry import Draft, rule
from hpcprov.site.scalars import Base60
from hpcprov.site.tree import Layer

PREFIXES = ("cluster_", "slurm_", "nfs_", "bmc_", "ansible_")
# Real variables of Ansible that look like slips of ours.
_NOT_A_SLIP = ("ansible_become_user", "ansible_ssh_user", "ansible_ssh_host", "ansible_ssh_port")


@rule("unquoted-colons")
def unquoted_colons(draft: Draft) -> Iterator[Finding]:
    """Ansible reads 1:30:00 as 5400 and 52:54:00:12:34:56 as 41135085296."""
    for layer in draft.variables.all_layers():
        for path, value in _walk(layer.values):
            if isinstance(value, Base60):
                yield layer.place(*path).finding(
                    "unquoted-colons",
                    f"{path[-1]}: {value} is read as a number in base 60",
                    hint=f'quote it: "{value}"',
                )


def _walk(value: Any, path: tuple[Hashable, ...] = ()) -> Iterator[tuple[tuple[Hashable, ...], Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _walk(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, (*path, index))
    else:
        yield path, value


@rule("variable-name")
def variable_names(draft: Draft) -> Iterator[Finding]:
    """A variable that is nearly one of ours would be passed over in silence."""
    for layer in draft.variables.all_layers():
        for name in layer.values:
            yield from _name_findings(layer, name)


def _name_findings(layer: Layer, name: Any) -> Iterator[Finding]:
    if not isinstance(name, str):
        yield layer.place(name).finding(
            "variable-name", f"variable name {name!r} is not text", hint=f'quote it: "{name}"'
        )
        return
    known = _known_names()
    if name in known or name in _NOT_A_SLIP or not name.replace("-", "_").startswith(PREFIXES):
        return
    near = get_close_matches(name.replace("-", "_"), known, n=1, cutoff=0.87)
    if near and name not in _role_variables():
        yield layer.place(name).finding(
            "variable-name", f"{name} is no variable of ours", level="warning", hint=f'did you mean "{near[0]}"?'
        )


@lru_cache(maxsize=1)
def _known_names() -> tuple[str, ...]:
    from hpcprov.site.schema import KNOWN

    return KNOWN


@lru_cache(maxsize=1)
def _role_variables() -> frozenset[str]:
    """The public variables of all roles, from their argument specs. Read only when a name is in doubt."""
    import yaml

    names: set[str] = set()
    for path in (project_root() / "roles").glob("*/meta/argument_specs.yml"):
        specs = yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]
        names.update(*(spec.get("options") or {} for spec in specs.values()))
    return frozenset(names)
