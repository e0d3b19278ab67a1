"""Are the fixed ids free?"""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.preflight import needs
from hpcprov.preflight.facts import Entry, Facts
from hpcprov.preflight.findings import Finding, Level
from hpcprov.preflight.look import Look
from hpcprov.preflight.rules.registry import rule


@rule("ids")
def ids(look: Look) -> Iterator[Finding]:
    """Slurm, munge and NFS know people by number, so a number must mean the same everywhere."""
    for host, facts in look.hosts:
        for account in needs.accounts(host):
            for message, fix in _conflicts(account, facts):
                cause = "made before hpcprov came, or by a package"
                yield Finding(host.name, "ids", Level.ERROR, message, cause, fix)


def _conflicts(account: needs.Account, facts: Facts) -> Iterator[tuple[str, str]]:
    name, uid, gid = account.name, account.uid, account.gid
    present, holder = _named(facts.users, name), _numbered(facts.users, uid)
    if present and present.id != uid:
        yield (
            f"user {name} has uid {present.id}, the site wants {uid}",
            f"as root there: usermod -u {uid} {name}; or give the site {present.id}, where all hosts have that",
        )
    elif not present and holder:
        yield f"uid {uid}, which the site wants for {name}, belongs to {holder.name}", _other("uid", uid, holder.name)
    if gid is None:
        return
    group, owner = _named(facts.groups, name), _numbered(facts.groups, gid)
    if group and group.id != gid:
        yield (
            f"group {name} has gid {group.id}, the site wants {gid}",
            f"as root there: groupmod -g {gid} {name}; or give the site {group.id}, where all hosts have that",
        )
    elif not group and owner:
        yield f"gid {gid}, which the site wants for {name}, belongs to {owner.name}", _other("gid", gid, owner.name)
    elif present and group and present.gid != gid:
        yield (
            f"user {name} has the primary group {present.gid}, the site wants {gid}",
            f"as root there: usermod -g {gid} {name}",
        )


def _other(kind: str, number: int, owner: str) -> str:
    command = f"usermod -u NEW {owner}" if kind == "uid" else f"groupmod -g NEW {owner}"
    return f"give the site another {kind} than {number}, or as root there: {command}"


def _named(entries: tuple[Entry, ...], name: str) -> Entry | None:
    return next((entry for entry in entries if entry.name == name), None)


def _numbered(entries: tuple[Entry, ...], number: int) -> Entry | None:
    return next((entry for entry in entries if entry.id == number), None)
