"""What each discovered host is for, guessed, with the reason in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

from hpcprov.discovery.facts import HostFacts
from hpcprov.importers.groups import guessed_roles

TERABYTE = 10**12
_MUCH = 4 * TERABYTE  # disks beside the system's; less is scratch space of a node
_TIMES = 4  # and so many times what the other hosts have


@dataclass
class Guess:
    """`roles`: our groups with their hosts, in the order of a site file. `reasons`: a comment for each group.

    `kinds` are the child groups of compute where its hosts differ; empty where they are alike.
    """

    roles: dict[str, list[str]] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, list[str]] = field(default_factory=dict)


def guess_roles(found: Mapping[str, HostFacts]) -> Guess:
    """`found` is by inventory name, in the order in which the admin named the hosts."""
    named = {name: guessed_roles(name)[0] for name in found}
    by_name = {
        role: [name for name, guessed in named.items() if guessed == role]
        for role in ("controller", "database", "login", "storage", "provisioner")
    }
    guess = Guess()
    storage, why_storage = _storage(found, by_name["storage"])
    controller, why_controller = _controller(found, by_name, storage)
    _put(guess, "controller", [controller], why_controller)
    if by_name["database"]:
        _put(guess, "database", by_name["database"][:1], "by its name")
    else:
        _put(guess, "database", [controller], "no host looks like a database; the controller is the usual place")
    if by_name["login"]:
        _put(guess, "login", by_name["login"], "by the name")
    else:
        _put(guess, "login", [controller], "no host looks like a login host, so users log in on the controller")
    if storage:
        _put(guess, "storage", storage, why_storage)
    else:
        _put(guess, "storage", [controller], "no host has much more disk than the others, so the controller serves it")
    if by_name["provisioner"]:
        _put(guess, "provisioner", by_name["provisioner"], "by the name")
    taken = {name for hosts in guess.roles.values() for name in hosts}
    compute = [name for name in found if name not in taken]
    if compute:
        _put(guess, "compute", compute, "all other hosts")
    else:
        # Nobody is left: GPUs compute in any case, else whoever is not needed for nothing but storage.
        _put(guess, "compute", list(found), "there is no further host")
    guess.kinds = _kinds(guess.roles["compute"], found)
    return guess


def data_bytes(facts: HostFacts) -> int:
    """What the disks hold on which the system is not."""
    return sum(disk.bytes for disk in facts.disks if not disk.system)


def _put(guess: Guess, role: str, hosts: list[str], reason: str) -> None:
    guess.roles[role] = list(hosts)
    guess.reasons[role] = reason


def _storage(found: Mapping[str, HostFacts], by_name: list[str]) -> tuple[list[str], str]:
    if by_name:
        return by_name, "by the name"
    room = {name: data_bytes(facts) for name, facts in found.items() if not facts.gpus}
    if len(room) < 2:
        return [], ""
    name = max(room, key=lambda one: room[one])
    usual = median(size for other, size in room.items() if other != name)
    if room[name] < _MUCH or room[name] < _TIMES * usual:
        return [], ""
    return [name], f"{name} has {room[name] / TERABYTE:.0f} TB beside its system disk, far more than the others"


def _controller(
    found: Mapping[str, HostFacts], by_name: Mapping[str, list[str]], storage: list[str]
) -> tuple[str, str]:
    if by_name["controller"]:
        return by_name["controller"][0], "by its name"
    busy = {*storage, *by_name["login"], *by_name["database"], *by_name["provisioner"]}
    plain = [name for name in found if name not in busy and not found[name].gpus]
    if len([name for name in found if name not in busy]) > 1 and plain:
        return plain[0], "the first host without GPUs"
    rest = [name for name in found if name in busy and name not in by_name["login"]]
    if rest:
        return rest[0], "it has another service already, and the others are needed to compute"
    return next(iter(plain or found)), "the first host"


def _kinds(compute: list[str], found: Mapping[str, HostFacts]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for name in compute:
        groups.setdefault(_kind(found[name]), []).append(name)
    return groups if len(groups) > 1 else {}


def _kind(facts: HostFacts) -> str:
    if not facts.gpus:
        return "cpu_nodes"
    types = sorted({gpu.type or gpu.vendor for gpu in facts.gpus})
    return f"gpu_{'_'.join(types)}_nodes".replace("-", "_").replace(".", "_")
