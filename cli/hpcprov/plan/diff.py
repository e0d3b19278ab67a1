"""What differs between two descriptions of a cluster. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from hpcprov.plan import effects
from hpcprov.plan.conf import SECRET, Items, members
from hpcprov.plan.description import VAULT, Description
from hpcprov.plan.effects import Cost, Effect
from hpcprov.plan.parts import PARTS, SLURM
from hpcprov.site.model import short_name
from hpcprov.slurm.hostlist import fold

Action = Literal["added", "removed", "changed"]


@dataclass(frozen=True)
class Detail:
    """One value that changes. None is the absence of a value."""

    key: str
    old: str | None
    new: str | None
    cost: Cost

    def as_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "key": self.key,
            "from": self.old,
            "to": self.new,
            "effect": self.cost.effect.value,
            "why": self.cost.why,
            "source": self.cost.source,
            "known": self.cost.known,
        }


@dataclass(frozen=True)
class Change:
    """One thing of the cluster that comes, goes or changes. `cost` is the worst of it."""

    part: str
    name: str
    action: Action
    cost: Cost
    details: tuple[Detail, ...] = field(default=())

    @property
    def effect(self) -> Effect:
        return self.cost.effect

    def as_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "part": self.part,
            "name": self.name,
            "action": self.action,
            "effect": self.effect.value,
            "why": self.cost.why,
            "source": self.cost.source,
            "details": [detail.as_dict() for detail in self.details],
        }


STAYS = "not taken away by a deploy"
# What is no option of Slurm: part and action. A change of a value may differ by key, see below.
_COSTS: Mapping[tuple[str, str], Cost] = {
    ("hosts", "removed"): Cost(Effect.NONE, "role base", "its name leaves /etc/hosts; nothing on it is touched"),
    ("users", "removed"): Cost(Effect.NONE, "module hpc_accounts", f"the account stays on the hosts, {STAYS}"),
    ("packages", "removed"): Cost(Effect.NONE, "role packages", f"stays installed, {STAYS}"),
    ("munge", "added"): Cost(Effect.NONE, "role munge", "the key is made"),
    ("munge", "changed"): Cost(
        Effect.BOTH, "role munge", "another munge key: munge and Slurm's daemons restart on every host"
    ),
    ("mpi", "removed"): Cost(Effect.NONE, "role mpi", "its packages stay installed"),
    ("exports", "removed"): Cost(Effect.DRAINED, "exports(5)", "programs that use it fail"),
    ("mounts", "removed"): Cost(Effect.NONE, "role storage", f"stays mounted, {STAYS}"),
    ("mounts", "changed"): Cost(
        Effect.DRAINED, "systemd.mount(5)", "programs with open files keep it busy, or lose it"
    ),
    ("accounts", "removed"): Cost(Effect.NONE, "module hpc_sacctmgr", f"stays in the database, {STAYS}"),
    ("qos", "removed"): Cost(Effect.NONE, "module hpc_sacctmgr", f"stays in the database, {STAYS}"),
    ("database", "changed"): Cost(
        Effect.NONE, "role slurmdbd", "another password: slurmdbd restarts, slurmctld keeps its messages meanwhile"
    ),
    ("frameworks", "changed"): Cost(
        Effect.NONE, "role frameworks", "built beside the old one, which jobs may still use"
    ),
}
_OTHER_ID = Cost(
    Effect.REFUSED,
    "module hpc_accounts",
    "nothing is renumbered where the user exists: change it and the files it owns on the hosts first",
)
_HOME = Cost(Effect.NONE, "module hpc_accounts", "the home directory of a user that exists is not moved")
_PLAIN = Cost(Effect.NONE, "roles of hpcprov")


def diff(old: Description, new: Description, parts: Iterable[str] = PARTS) -> list[Change]:
    """Every change from `old` to `new`, part by part. A part that `new` does not know is left out."""
    found: list[Change] = []
    for part in parts:
        wanted = new.items(part)
        if wanted is None:
            continue
        if part in ("slurm.conf", "cgroup.conf", "gres.conf") and part not in old.files:
            found += [Change(part, part, "added", effects.FIRST)] if wanted else []
            continue
        found += _part(part, old, new, old.items(part) or {}, wanted)
    return _without_doubles([replace(change, cost=effects.FIRST) for change in found] if old.is_empty else found)


def _without_doubles(changes: list[Change]) -> list[Change]:
    """A host that comes or goes as a node is told as a node."""
    nodes = {(change.name, change.action) for change in changes if change.part == "nodes"}
    return [
        change
        for change in changes
        if not (change.part == "hosts" and (short_name(change.name), change.action) in nodes)
    ]


def _part(part: str, old: Description, new: Description, before: Items, after: Items) -> Iterator[Change]:
    for name in sorted({*before, *after}):
        if name not in before:
            yield _whole(part, name, "added", after[name], new.release)
        elif name not in after:
            yield _whole(part, name, "removed", before[name], new.release)
        elif (part == "nodes" and name in new.unmeasured) or VAULT in after[name].values():
            continue  # nothing can be said about it: measured before its line is written, or only Ansible can read it
        elif details := tuple(_details(part, name, old, new)):
            worst = max(details, key=lambda detail: detail.cost.effect.weight)
            yield Change(part, name, "changed", worst.cost, details)


def _whole(part: str, name: str, action: Action, values: Mapping[str, str], release: str) -> Change:
    """Something that comes or goes, with its values."""
    if part == "slurm.conf":
        old, new = (None, values["value"]) if action == "added" else (values["value"], None)
        cost = effects.of_option(name, release, old, new)
        return Change(part, name, action, cost, (Detail(name, old, new, cost),))
    cost = {
        ("nodes", "added"): effects.NODE_ADDED,
        ("nodes", "removed"): effects.NODE_REMOVED,
        ("partitions", "added"): effects.PARTITION,
        ("partitions", "removed"): effects.PARTITION_REMOVED,
        ("cgroup.conf", action): effects.CGROUP,
        ("gres.conf", action): effects.GRES,
    }.get((part, action)) or _COSTS.get((part, action), _PLAIN)
    added = action == "added"
    details = (
        Detail(key, None if added else value, value if added else None, cost) for key, value in values.items() if value
    )
    return Change(part, name, action, cost, tuple(details))


def _details(part: str, name: str, old: Description, new: Description) -> Iterator[Detail]:
    before, after = (old.items(part) or {})[name], (new.items(part) or {})[name]
    for key in dict.fromkeys([*before, *after]):
        was, shall = before.get(key), after.get(key)
        if part == "partitions" and key == "Nodes":
            was, shall = _nodes(before, old), _nodes(after, new, name)
        if was != shall:
            label = name if part == "slurm.conf" else key
            yield Detail(label, was, shall, _cost(part, label, (before, after), new.release))


def _nodes(partition: dict[str, str], of: Description, name: str = "") -> str:
    """The nodes of a partition as a hostlist, with those that will be in it once they are measured."""
    waiting = {node for node, partitions in of.unmeasured.items() if name in partitions}
    return fold(sorted(members(partition, of.conf.nodes) | waiting))


def _cost(part: str, key: str, whole: tuple[Mapping[str, str], Mapping[str, str]], release: str) -> Cost:
    """What it costs to change one key; `whole` are all values of the thing, before and after."""
    if part == "slurm.conf":
        return effects.of_option(key, release, whole[0].get("value"), whole[1].get("value"))
    if part == "nodes":
        return effects.of_node(key, release, *whole)
    if part == "users":
        return _OTHER_ID if key in ("uid", "gid") else _HOME if key == "home" else _PLAIN
    slurm = {"partitions": effects.PARTITION, "cgroup.conf": effects.CGROUP, "gres.conf": effects.GRES}
    return slurm.get(part) or _COSTS.get((part, "changed"), _PLAIN)


def drift(saved: Description, live: Description, pending: Iterable[Change]) -> list[Change]:
    """What somebody changed in the controller's files since they were written, and this deploy will change back.

    `pending` are the changes from the files as they are. What is already as the site file wants it is no drift: a run
    that failed later has written it.
    """
    if not saved.files or not live.files:
        return []
    still = {(change.part, change.name) for change in pending}
    return [change for change in diff(saved, live, SLURM) if (change.part, change.name) in still]


def shown(detail: Detail) -> tuple[str | None, str | None]:
    """Old and new value for a person; of a secret only whether there is one."""
    if detail.key in SECRET or detail.key == "digest":
        return tuple("(secret)" if value else value for value in (detail.old, detail.new))  # type: ignore[return-value]
    return detail.old, detail.new
