"""A plain Ansible inventory: every range written out, variables of group_vars/ and host_vars/ in the one file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from hpcprov.site.rules import Draft
from hpcprov.site.scalars import Octal, Unsafe, Vaulted
from hpcprov.site.show import is_secret
from hpcprov.site.tree import Layer

_NOTE = "# Exported by hpcprov from {name}.\n"
_LEFT_OUT = "# Left out, because they stand there in plain text: {names}.\n"


class _Dumper(yaml.SafeDumper):
    """Without anchors: what several hosts share is written for each."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_representer(Vaulted, lambda dumper, value: dumper.represent_scalar("!vault", str(value), style="|"))
_Dumper.add_representer(Unsafe, lambda dumper, value: dumper.represent_scalar("!unsafe", str(value)))


def ansible(draft: Draft) -> str:
    """The inventory as YAML. Templates stay templates, encrypted values encrypted; passwords in plain text stay out."""
    secrets: dict[str, None] = {}
    groups: dict[str, Any] = {"all": {"vars": _variables(draft.variables.group_layers(("all",)), secrets)}}
    told: set[str] = set()
    for name, entry in draft.tree.groups.items():
        group: dict[str, Any] = {}
        if entry.hosts:
            group["hosts"] = {}
            for host in entry.hosts:
                layers = draft.variables.host_layers(draft.tree.hosts[host])
                group["hosts"][host] = None if host in told else _variables(layers, secrets) or None
                told.add(host)
        if entry.children:
            group["children"] = dict.fromkeys(entry.children)
        if name != "all" and (variables := _variables(draft.variables.group_layers((name,)), secrets)):
            group["vars"] = variables
        groups.setdefault(name, {}).update(group)
    note = _NOTE.format(name=draft.site.path.name)
    if secrets:
        note += _LEFT_OUT.format(names=", ".join(secrets))
    text: str = yaml.dump(groups, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return note + text


def _variables(layers: Iterable[Layer], secrets: dict[str, None]) -> dict[str, Any]:
    merged = {name: value for layer in layers for name, value in layer.values.items()}
    return {
        name: _without(name, value, secrets) for name, value in merged.items() if not _is_bare(name, value, secrets)
    }


def _is_bare(name: Any, value: Any, secrets: dict[str, None]) -> bool:
    """Whether the value is a secret in plain text; it is noted then."""
    bare = isinstance(value, str) and not isinstance(value, Vaulted) and is_secret(str(name)) and "{{" not in value
    if bare and value:
        secrets[str(name)] = None
    return bool(bare and value)


def _without(name: Any, value: Any, secrets: dict[str, None]) -> Any:
    if isinstance(value, Mapping):
        return {key: _without(key, item, secrets) for key, item in value.items() if not _is_bare(key, item, secrets)}
    if isinstance(value, list):
        return [_without(name, item, secrets) for item in value]
    return int(value.replace("_", ""), 8) if isinstance(value, Octal) else value
