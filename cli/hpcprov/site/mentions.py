"""Where a site file names a host outside of its groups."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from hpcprov.site.findings import Place
from hpcprov.site.rules import Draft
from hpcprov.slurm.hostlist import HostlistError, expand

_WORD = re.compile(r"[\w.-]+")


@dataclass(frozen=True)
class Mention:
    """A value that names `host`; `where` is its variable, as slurm_partitions.0.nodes."""

    host: str
    where: str
    place: Place

    def __str__(self) -> str:
        return f"{self.place.file}:{self.place.line}: {self.where} names {self.host}"


def mentions(draft: Draft, hosts: Collection[str]) -> list[Mention]:
    """Every value that names one of the hosts, by name or in a hostlist. A host's own variables do not count."""
    found: dict[tuple[str, str], Mention] = {}
    for layer in draft.variables.all_layers():
        if layer.keys and layer.keys[-1] in hosts:
            continue
        for path, text in layer.texts():
            for host in _named(text) & set(hosts):
                mention = Mention(host, ".".join(str(part) for part in path), layer.place(*path))
                found.setdefault((host, f"{mention.place}"), mention)
    return sorted(found.values(), key=lambda one: (str(one.place.file), one.place.line, one.host))


def _named(text: str) -> set[str]:
    names = set(_WORD.findall(text))
    if "[" in text and "{{" not in text:
        with suppress(HostlistError):
            names.update(expand(text))
    return names
