"""What discovered hosts are called in a site file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hpcprov.discovery.facts import HostFacts
from hpcprov.site.model import is_address, short_name
from hpcprov.site.rules.names import label_problem

# What installers leave behind; such a name says nothing of this host.
_NOBODY = ("localhost", "debian", "ubuntu", "rocky", "almalinux", "centos", "linux", "server", "host", "node")


def inventory_names(found: Mapping[str, HostFacts], taken: Iterable[str] = ()) -> dict[str, str]:
    """A name for each target: what the admin called it, else its own hostname, else one made of its address.

    Every name is a DNS label, and no two are alike, whatever their case.
    """
    used = {name.lower() for name in taken}
    own: dict[str, int] = {}
    for facts in found.values():
        own[_own_name(facts)] = own.get(_own_name(facts), 0) + 1
    names = {}
    for target, facts in found.items():
        candidates = [] if is_address(target) else [short_name(target)]
        if own[_own_name(facts)] == 1:
            candidates.append(_own_name(facts))
        candidates.append("node-" + target.replace(".", "-").replace(":", "-").strip("-"))
        name = next((one for one in candidates if _is_free(one, used)), None) or _numbered(used)
        used.add(name.lower())
        names[target] = name
    return names


def _own_name(facts: HostFacts) -> str:
    name = short_name(facts.hostname).lower()
    return "" if name in _NOBODY else name


def _is_free(name: str, used: set[str]) -> bool:
    return bool(name) and label_problem(name) is None and name.lower() not in used


def _numbered(used: set[str]) -> str:
    number = 1
    while f"host{number:03d}" in used:
        number += 1
    return f"host{number:03d}"
