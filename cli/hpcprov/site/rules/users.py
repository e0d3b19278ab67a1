"""Users of the cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hpcprov.errors import Finding
from hpcprov.site.model import Host
from hpcprov.site.rules.registry import Draft, rule

_NAME = re.compile(r"^[a-z_][a-z0-9_.-]{0,31}$")


@rule("user")
def users(draft: Draft) -> Iterator[Finding]:
    """Names and ids belong to one user; a job runs under the same id on every node."""
    controller = draft.speaker
    listed = controller.vars.get("cluster_users") if controller else None
    if controller is None or not isinstance(listed, list):
        return
    owners = _reserved(controller)
    names: set[str] = set()
    for index, entry in enumerate(listed):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
            continue
        name, uid = entry["name"], entry.get("uid")
        problem = _problem(name, uid, names, owners)
        names.add(name)
        if problem:
            yield draft.place_of(controller, "cluster_users", index).finding("user", f"user {name}: {problem}")


def _reserved(host: Host) -> dict[object, str]:
    """Ids of the daemons and of the user who proves the cluster."""
    owners: dict[object, str] = {64030: "slurm", 64031: "munge", 64100: "hpcsmoke"}
    smoke, system = host.vars.get("cluster_smoke_user"), host.vars.get("base_system_users")
    if isinstance(smoke, Mapping):
        owners.pop(64100)
    for entry in [smoke, *(system if isinstance(system, list) else [])]:
        if isinstance(entry, Mapping) and isinstance(entry.get("uid"), int):
            owners[entry["uid"]] = str(entry.get("name"))
    return owners


def _problem(name: str, uid: object, names: set[str], owners: dict[object, str]) -> str | None:
    if not _NAME.match(name):
        return "is no user name: lower-case letters, digits, dot, dash and underscore, at most 32"
    if name == "root" or uid == 0:
        return "root is not an ordinary user"
    if name in names:
        return "stands twice"
    owner = owners.setdefault(uid, name) if uid is not None else name
    return f"has the id {uid} of {owner}" if owner != name else None
