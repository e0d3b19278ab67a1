"""Accounts, their users, and QOS of Slurm's accounting."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hpcprov.errors import Finding
from hpcprov.site.findings import did_you_mean
from hpcprov.site.model import Host
from hpcprov.site.rules.registry import Draft, rule
from hpcprov.site.templating import holds_template
from hpcprov.slurm import accounts as slurm

_Entry = tuple[tuple[Hashable, ...], Mapping[str, Any]]
_LIST_IT = "list it too; what is there already stays as it is"


@dataclass(frozen=True)
class _Listed:
    """slurm_accounts or slurm_qos where a host reads it."""

    draft: Draft
    host: Host
    variable: str

    @property
    def entries(self) -> list[_Entry]:
        listed = self.host.vars.get(self.variable)
        items = listed if isinstance(listed, list) else []
        return [((index,), entry) for index, entry in enumerate(items) if isinstance(entry, Mapping)]

    def found(self, rule_name: str, message: str, *keys: Hashable, level: str = "error", hint: str = "") -> Finding:
        place = self.draft.place_of(self.host, self.variable, *keys)
        return place.finding(rule_name, message, level=level, hint=hint or None)


def _lists(draft: Draft, *variables: str) -> Iterator[_Listed]:
    """Each list once, however many hosts read it."""
    seen: set[tuple[str, int]] = set()
    for host in draft.site.cluster_hosts:
        for variable in variables:
            value = host.vars.get(variable)
            if isinstance(value, list) and (variable, id(value)) not in seen:
                seen.add((variable, id(value)))
                yield _Listed(draft, host, variable)


def _what(variable: str) -> str:
    return "QOS" if variable == "slurm_qos" else "account"


def _label(variable: str, entry: Mapping[str, Any]) -> str:
    return f"{_what(variable)} {entry.get('name')}"


def _users(keys: tuple[Hashable, ...], account: Mapping[str, Any]) -> list[_Entry]:
    """The users of an account as mappings, with their place."""
    users = account.get("users")
    listed = users if isinstance(users, list) else []
    return [
        ((*keys, "users", index), user if isinstance(user, Mapping) else {"name": user})
        for index, user in enumerate(listed)
        if isinstance(user, str | Mapping)
    ]


@rule("account-name")
def names(draft: Draft) -> Iterator[Finding]:
    """An account or QOS has one name; sacctmgr takes a comma or a blank for the start of another."""
    for listed in _lists(draft, "slurm_accounts", "slurm_qos"):
        seen: set[str] = set()
        for keys, entry in listed.entries:
            name = entry.get("name")
            if name is None:
                yield listed.found("account-name", f"{_what(listed.variable)} has no name", *keys)
            elif holds_template(name):
                continue
            elif not slurm.is_name(name):
                message = f"{_what(listed.variable)} name {_shown(name)} cannot be used"
                hint = "letters, digits, dot, dash and underscore, as text"
                yield listed.found("account-name", message, *keys, "name", hint=hint)
            elif name.lower() in seen:
                yield listed.found("account-name", f"{_label(listed.variable, entry)} stands twice", *keys, "name")
            seen.add(str(name).lower())


def _shown(value: object) -> str:
    return '"' + value.replace("\n", "\\n").replace("\r", "\\r") + '"' if isinstance(value, str) else str(value)


@rule("account-key")
def keys_and_values(draft: Draft) -> Iterator[Finding]:
    """A key or value that sacctmgr refuses stops the deploy half-way."""
    for listed in _lists(draft, "slurm_accounts", "slurm_qos"):
        of_qos = listed.variable == "slurm_qos"
        words = slurm.QOS_WORDS if of_qos else slurm.ACCOUNT_WORDS
        limits = slurm.QOS_KEYS if of_qos else slurm.ASSOCIATION_KEYS
        for keys, entry in listed.entries:
            yield from _key_findings(listed, keys, entry, words, limits)
            for user_keys, user in [] if of_qos else _users(keys, entry):
                yield from _key_findings(listed, user_keys, user, slurm.USER_WORDS, slurm.ASSOCIATION_KEYS)


def _key_findings(
    listed: _Listed, keys: tuple[Hashable, ...], entry: Mapping[str, Any], words: tuple[str, ...], limits: Any
) -> Iterator[Finding]:
    seen: dict[str, Any] = {}
    for key, value in entry.items():
        if key in words:
            problem = None if holds_template(value) else _word_problem(key, value)
            if problem:
                yield listed.found("account-key", f"{key} {problem}", *keys, key)
            continue
        limit = slurm.limit_of(str(key), limits)
        if limit is None:
            known = [name for name, _, aliases in limits for name in (name, *aliases)] + list(words)
            hint = did_you_mean(str(key).replace("_", ""), known) or ""
            yield listed.found("account-key", f'unknown key "{key}"', *keys, key, hint=hint)
        elif seen.setdefault(limit[0], key) != key:
            yield listed.found("account-key", f"{key} and {seen[limit[0]]} are the same limit", *keys, key)
        elif not holds_template(value) and (problem := slurm.value_problem(*limit, value)):
            yield listed.found("account-key", f"{key}: {problem}", *keys, key)


def _word_problem(key: str, value: Any) -> str | None:
    """What is wrong with a key that is ours, not a limit. Names and users have rules of their own."""
    if value is None:
        return None
    if key == "state" and value not in ("present", "absent"):
        return f"must be present or absent, not {value}"
    if key == "default" and not isinstance(value, bool):
        return "must be true or false"
    if key == "admin_level" and str(value).lower() not in [level.lower() for level in slurm.ADMIN_LEVELS]:
        return f"must be {', '.join(slurm.ADMIN_LEVELS[:-1])}, not {value}"
    if key in ("description", "organization") and not slurm.is_one_text(value):
        return "must be text on one line, without quotes and |"
    return None


@rule("account-parent")
def parents(draft: Draft) -> Iterator[Finding]:
    """Accounts are a tree below root: a parent exists, and nothing is above itself."""
    for listed in _lists(draft, "slurm_accounts"):
        above: dict[str, str] = {}
        for _, entry in listed.entries:
            if entry.get("state") != "absent" and entry.get("name") is not None:
                above.setdefault(str(entry["name"]).lower(), str(entry.get("parent") or "root").lower())
        open_names = holds_template(list(above))
        for keys, entry in listed.entries:
            parent = entry.get("parent")
            name = str(entry.get("name")).lower()
            left_out = parent in (None, "") or entry.get("state") == "absent" or name not in above
            problem = None if left_out or open_names or holds_template(parent) else _parent_problem(name, above)
            if problem:
                hint = (did_you_mean(str(parent), above) or _LIST_IT) if "no account" in problem else ""
                message = f"{_label(listed.variable, entry)}: {problem}"
                yield listed.found("account-parent", message, *keys, "parent", hint=hint)


def _parent_problem(name: str, above: Mapping[str, str]) -> str | None:
    if name == slurm.BUILT_IN_ACCOUNT:
        return "root is above all accounts and has no parent"
    parent = above[name]
    if parent == name:
        return "is its own parent"
    if parent != slurm.BUILT_IN_ACCOUNT and parent not in above:
        return f'there is no account "{parent}" to be its parent'
    way = [name]
    while parent in above and parent != slurm.BUILT_IN_ACCOUNT and parent not in way:
        way.append(parent)
        parent = above[parent]
    return f"is above itself: {' below '.join([*way, name])}" if parent == name else None


@rule("account-users")
def users(draft: Draft) -> Iterator[Finding]:
    """Users of an account are a list; each stands once in it."""
    for listed in _lists(draft, "slurm_accounts"):
        for keys, entry in listed.entries:
            value = entry.get("users")
            if value is not None and not isinstance(value, list) and not holds_template(value):
                hint = "write [alice, bob], or {name: alice, MaxJobs: 3} for one with limits"
                message = f"users of {_label(listed.variable, entry)} must be a list of names"
                yield listed.found("account-users", message, *keys, "users", hint=hint)
            yield from _user_findings(listed, keys, entry)
        yield from _two_defaults(listed)


def _user_findings(listed: _Listed, keys: tuple[Hashable, ...], account: Mapping[str, Any]) -> Iterator[Finding]:
    where = _label(listed.variable, account)
    value = account.get("users")
    for index, user in enumerate(value if isinstance(value, list) else []):
        if not isinstance(user, str | Mapping):
            yield listed.found("account-users", f"a user of {where} must be a name", *keys, "users", index)
    seen: set[str] = set()
    for user_keys, entry in _users(keys, account):
        name = entry.get("name")
        if holds_template(name):
            continue
        if not isinstance(name, str) or not slurm.is_name(name):
            yield listed.found("account-users", f"{where}: {_shown(name)} is no user name", *user_keys)
        elif name in seen:
            yield listed.found("account-users", f"{where}: user {name} stands twice", *user_keys)
        seen.add(str(name))


def _two_defaults(listed: _Listed) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for keys, account in listed.entries:
        for user_keys, user in _users(keys, account):
            name, here = str(user.get("name")), str(account.get("name"))
            if user.get("default") is True and first.setdefault(name, here) != here:
                message = f"user {name} has two default accounts: {first[name]} and {here}"
                yield listed.found("account-users", message, *user_keys, "default")


@rule("account-unknown-user")
def unknown_users(draft: Draft) -> Iterator[Finding]:
    """A user of an account who is not in cluster_users may be a slip, or come from a directory service."""
    for listed in _lists(draft, "slurm_accounts"):
        present = listed.host.vars.get("cluster_users")
        if not isinstance(present, list) or not present or holds_template(present):
            continue
        known = {str(user.get("name")) for user in present if isinstance(user, Mapping)}
        smoke = listed.host.vars.get("cluster_smoke_user")
        known |= {"root", str(smoke.get("name")) if isinstance(smoke, Mapping) else "hpcsmoke"}
        for keys, account in listed.entries:
            for user_keys, user in _users(keys, account):
                name = str(user.get("name"))
                if (
                    slurm.is_name(user.get("name"))
                    and name not in known
                    and user.get("state") != "absent"
                    and not holds_template(name)
                ):
                    message = f"{_label(listed.variable, account)}: user {name} is not in cluster_users"
                    hint = did_you_mean(name, known) or ""
                    yield listed.found("account-unknown-user", message, *user_keys, level="warning", hint=hint)


@rule("qos-unknown")
def unknown_qos(draft: Draft) -> Iterator[Finding]:
    """A QOS that is used but not listed: sacctmgr refuses the account, slurmctld the partition."""
    for listed in _lists(draft, "slurm_accounts", "slurm_qos", "slurm_partitions"):
        qos = listed.host.vars.get("slurm_qos")
        defined = [item for item in (qos if isinstance(qos, list) else []) if isinstance(item, Mapping)]
        known = {str(item.get("name")).lower() for item in defined if item.get("state") != "absent"} - {"none"}
        known |= {slurm.BUILT_IN_QOS, *(("all",) if listed.variable == "slurm_partitions" else ())}
        if holds_template(qos):
            continue
        for keys, name, value in _qos_uses(listed):
            for used in slurm.names_in(value) if not isinstance(value, Mapping) else ():
                if used.lower() not in known and not holds_template(used):
                    hint = did_you_mean(used, known) or f"{_LIST_IT}: slurm_qos"
                    yield listed.found("qos-unknown", f'{name}: there is no QOS "{used}"', *keys, name, hint=hint)


def _qos_uses(listed: _Listed) -> Iterator[tuple[tuple[Hashable, ...], str, Any]]:
    """Keys that name a QOS, with their values."""
    wanted = {
        "slurm_accounts": ("qos", "qoslevel", "defaultqos", "defqos"),
        "slurm_qos": ("preempt",),
        "slurm_partitions": ("qos", "allowqos", "allow_qos"),
    }[listed.variable]
    for keys, entry in listed.entries:
        people = _users(keys, entry) if listed.variable == "slurm_accounts" else []
        for place, item in [(keys, entry), *people]:
            if item.get("state") != "absent":
                yield from ((place, key, item[key]) for key in item if str(key).lower() in wanted)
