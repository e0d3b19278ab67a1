"""Set variables of many hosts of a site file, each its own, in one pass over the text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hpcprov.site.edit import (
    Edit,
    Values,
    _entries,
    _Entry,
    _finish,
    _has,
    _host_levels,
    _into,
    _meaning,
    _read,
    _require,
)
from hpcprov.site.ranges import patterns
from hpcprov.site.yaml_edit import Part, YamlText


def set_each(path: Path, values: Mapping[str, Values]) -> Edit:
    """Give hosts variables. One within a range gets an entry of its own behind it, which Ansible merges.

    Raises UsageError where there is no such host, SiteError when the site would have errors that it had not before.
    """
    before, tree = _read(path)
    _require(values, tree, path)
    yaml_text, wanted = YamlText(before), _meaning(tree)
    entries: dict[str, list[_Entry]] = {}
    for entry in _entries(yaml_text):
        for name in entry.names:
            entries.setdefault(name, []).append(entry)
    fresh: dict[int, tuple[Part, dict[str, dict[str, Any]]]] = {}
    for host, variables in values.items():
        own = [entry for entry in entries[host] if entry.names == (host,)]
        rest = dict(variables)
        for name in variables:
            place = next((entry for entry in reversed(own) if _has(entry.value, name)), None)
            found = place.value.entry(name) if place else None
            if found is not None:
                yaml_text.replace(*found, rest.pop(name))
        target = next((entry for entry in own if entry.value.kind == "map"), own[0] if own else None)
        if rest and target is not None:
            levels = 0 if target.value.kind == "map" and target.value.items else _host_levels(target.mapping)
            _into(yaml_text, (target.key, target.value), rest, levels=levels, in_flow=target.mapping.is_flow)
        elif rest:
            mapping = entries[host][-1].mapping
            fresh.setdefault(id(mapping), (mapping, {}))[1].update(dict.fromkeys(patterns([host]), rest))
        wanted.hosts[host] = {**wanted.hosts[host], **variables}
    for mapping, new in fresh.values():
        yaml_text.add(mapping, new, levels=_host_levels(mapping))
    return _finish(path, before, yaml_text, wanted)
