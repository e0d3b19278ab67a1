"""Users of the cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hpcprov.errors import Finding
from hpcprov.site.rules.registry import Draft, rule

_NAME = re.compile(r"^[a-z_][a-z0-9_.-]{0,31}$")


@rule("user")
def users(draft: Draft) -> Iterator[Finding]:
    """Names and ids belong to one user; a job runs under the same id on every node."""
    controller = draft.speaker
    listed = controller.vars.get("cluster_users") if controller else None
    if controller is None or not isinstance(listed, list):
        return
    smoke = controller.vars.get("cluster_smoke_user")
    smoke = smoke if isinstance(smoke, Mapping) else {}
    owners: dict[object, str] = {int(smoke.get("uid") or 64100): str(smoke.get("name") or "hpcsmoke")}
    names: set[str] = set()
    for index, entry in enumerate(listed):
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
            continue
        name, uid = entry["name"], entry.get("uid")
        problem = _problem(name, uid, names, owners)
        names.add(name)
        if problem:
            yield draft.place_of(controller, "cluster_users", index).finding("user", f"user {name}: {problem}")


def _problem(name: str, uid: object, names: set[str], owners: dict[object, str]) -> str | None:
    if not _NAME.match(name):
        return "is no user name: lower-case letters, digits, dot, dash and underscore, at most 32"
    if name == "root" or uid == 0:
        return "root is not an ordinary user"
    if name in names:
        return "stands twice"
    owner = owners.setdefault(uid, name) if uid is not None else name
    return f"has the id {uid} of {owner}" if owner != name else None
