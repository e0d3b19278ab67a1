"""Users of the cluster."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from hpcprov.errors import Finding
from hpcprov.site.model import Host
from hpcprov.site.rules.registry import Draft, rule
from hpcprov.site.templating import holds_template

_NAME = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")
# The last two ids below 2^32 mean "none" to the kernel and to Slurm; 65534 is nobody, 65535 was -1 once.
_LAST_ID = 4294967293
_NOBODY = (65534, 65535)
_DEFAULT_SYSTEM = ({"name": "munge", "uid": 64031}, {"name": "slurm", "uid": 64030})
_DEFAULT_SMOKE = {"name": "hpcsmoke", "uid": 64100}
# Users of the distributions themselves, and of the daemons that our roles install.
_NAMES = """
adm backup bin chrony _chrony daemon dbus ftp games ganesha gnats halt irc lp mail man messagebus mysql news
nobody nogroup operator polkitd proxy _apt _rpc rpc rpcuser shadow shutdown sshd statd sudo sync sys
systemd-network systemd-resolve systemd-timesync tty uucp wheel www-data
"""
_TAKEN = frozenset(_NAMES.split())


@rule("user")
def users(draft: Draft) -> Iterator[Finding]:
    """Names and ids belong to one user; a job runs under the same id on every node."""
    controller = draft.speaker
    if controller is None:
        return
    owners = _Owners(controller)
    smoke = controller.vars.get("cluster_smoke_user")
    if isinstance(smoke, Mapping):
        yield from _findings(draft, controller, ("cluster_smoke_user",), smoke, owners)
    else:
        owners.take(_DEFAULT_SMOKE)
    listed = controller.vars.get("cluster_users")
    for index, entry in enumerate(listed if isinstance(listed, list) else []):
        if isinstance(entry, Mapping):
            yield from _findings(draft, controller, ("cluster_users", index), entry, owners)


class _Owners:
    """Who has which name, uid and gid already."""

    def __init__(self, host: Host) -> None:
        self.system: set[str] = set()
        self.names: set[str] = set()
        self.ids: dict[tuple[str, int], str] = {}
        listed = host.vars.get("base_system_users")
        for entry in listed if isinstance(listed, list) else _DEFAULT_SYSTEM:
            if isinstance(entry, Mapping):
                self.system.add(str(entry.get("name")))
                self.take(entry)

    def take(self, user: Mapping[str, Any]) -> str | None:
        """Note a user. The clash with somebody before, if there is one."""
        name = str(user.get("name"))
        if name in self.names:
            return "stands twice" if name != _DEFAULT_SMOKE["name"] else "stands twice, or is cluster_smoke_user"
        self.names.add(name)
        uid = _number(user.get("uid"))
        gid = _number(user.get("gid")) if user.get("gid") is not None else uid
        wanted = [("id", uid)] + ([("group id", gid)] if not user.get("group") else [])
        for kind, number in wanted:
            owner = self.ids.setdefault((kind, number), name) if number is not None else name
            if owner != name:
                return f"has the {kind} {number} of {owner}"
        return None


def _number(value: object) -> int | None:
    """An id, however it is written; templates have none yet."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,12}", value):
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _findings(
    draft: Draft, host: Host, keys: tuple[Hashable, ...], user: Mapping[str, Any], owners: _Owners
) -> Iterator[Finding]:
    name = user.get("name")
    if not isinstance(name, str) or holds_template(name):
        return
    problem = _name_problem(name, user, owners) or _id_problem(user) or owners.take(user)
    if problem:
        place = draft.place_of(host, str(keys[0]), *keys[1:])
        yield place.finding("user", f"user {_shown(name)}: {problem}")
    for key, wrong in _field_problems(user):
        place = draft.place_of(host, str(keys[0]), *keys[1:], key)
        yield place.finding("user", f"user {_shown(name)}: {key} {wrong}")


def _shown(text: str) -> str:
    return text.replace("\n", "\\n").replace("\r", "\\r")


def _name_problem(name: str, user: Mapping[str, Any], owners: _Owners) -> str | None:
    if not _NAME.fullmatch(name):
        return "is no user name: lower-case letters, digits, dot, dash and underscore, at most 32"
    if name == "root" or _number(user.get("uid")) == 0:
        return "root is not an ordinary user"
    if name in owners.system or name in _TAKEN:
        return "is a user of the system itself"
    return None


def _id_problem(user: Mapping[str, Any]) -> str | None:
    for key in ("uid", "gid"):
        number = _number(user.get(key))
        if number is not None and not 1 <= number <= _LAST_ID:
            return f"{key} {number} is not between 1 and {_LAST_ID}"
        if number in _NOBODY:
            return f"{key} {number} means nobody"
    return None


def _field_problems(user: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Fields of a line in /etc/passwd: a colon or a line break would end it."""
    for key in ("home", "shell", "comment"):
        value = user.get(key)
        if not isinstance(value, str) or not value or holds_template(value):
            continue
        if key != "comment" and not value.startswith("/"):
            yield key, f'"{_shown(value)}" is no absolute path'
        elif re.search(r"[:\r\n]" if key == "comment" else r"[:\s]", value):
            yield (
                key,
                "must have no colon or line break" if key == "comment" else "must have no blank, colon or line break",
            )
    for key in ("group", "groups"):
        value = user.get(key)
        for group in value if isinstance(value, list) else [value]:
            if isinstance(group, str) and not holds_template(group) and not re.fullmatch(r"[\w.-]+\$?", group):
                yield key, f'"{_shown(group)}" is no group name'
