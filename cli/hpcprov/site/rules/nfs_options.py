"""Options and clients of NFS: what stands in lines of /etc/exports and /etc/fstab."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping

from hpcprov.errors import Finding
from hpcprov.site.findings import did_you_mean
from hpcprov.site.rules.registry import Draft, rule
from hpcprov.site.templating import holds_template

# Source: exports(5).
_EXPORT_OPTIONS = frozenset(
    {
        *("ro", "rw", "sync", "async", "wdelay", "no_wdelay", "hide", "nohide", "crossmnt", "subtree_check"),
        *("no_subtree_check", "secure", "insecure", "secure_locks", "insecure_locks", "auth_nlm", "no_auth_nlm"),
        *("mountpoint", "mp", "fsid", "refer", "replicas", "pnfs", "no_pnfs", "security_label", "acl", "no_acl"),
        *("root_squash", "no_root_squash", "all_squash", "no_all_squash", "anonuid", "anongid", "sec", "xprtsec"),
        *("nordirplus", "rdirplus", "no_rdirplus", "reexport"),
    }
)
_WORDS = {"nfs_exports": ("clients", "options"), "nfs_mounts": ("server", "export", "options")}


@rule("nfs-options")
def options(draft: Draft) -> Iterator[Finding]:
    """A blank ends the options of a mount and starts another client of an export."""
    seen: set[tuple[str, int]] = set()
    for host in draft.site.cluster_hosts:
        for variable in (*_WORDS, "nfs_clients"):
            listed = host.vars.get(variable)
            if not isinstance(listed, list) or (variable, id(listed)) in seen:
                continue
            seen.add((variable, id(listed)))
            for path, message, hint in _problems(variable, listed):
                yield draft.place_of(host, variable, *path).finding("nfs-options", message, hint=hint)


_Problem = tuple[tuple[Hashable, ...], str, str | None]


def _problems(variable: str, listed: list[object]) -> Iterator[_Problem]:
    for index, entry in enumerate(listed):
        if isinstance(entry, str):
            yield from _word_problem((index,), "client", entry)
        for key in _WORDS.get(variable, ()) if isinstance(entry, Mapping) else ():
            value = entry.get(key) if isinstance(entry, Mapping) else None
            for number, item in enumerate(value if isinstance(value, list) else [value]):
                path = (index, key, number) if isinstance(value, list) else (index, key)
                if isinstance(item, str) and not holds_template(item):
                    yield from _word_problem(path, key, item)
                    if key == "options":
                        yield from _option_problems(path, item, variable)


def _word_problem(path: tuple[Hashable, ...], what: str, text: str) -> Iterator[_Problem]:
    if re.search(r"\s", text):
        shown = text.replace("\n", "\\n").replace("\r", "\\r")
        hint = "separate options with commas alone" if what == "options" else None
        yield path, f'{what} "{shown}" must hold no blank and no line break', hint
    elif what in ("client", "clients") and re.search(r"[()]", text):
        yield path, f'client "{text}" must be a network or a host alone', "options have a key of their own: options"


def _option_problems(path: tuple[Hashable, ...], text: str, variable: str) -> Iterator[_Problem]:
    for option in re.split(r"[,\s]+", text):
        name = option.partition("=")[0]
        if not name:
            yield path, f'options "{text}" have an empty one between commas', None
        elif variable == "nfs_exports" and not re.search(r"\s", text) and name not in _EXPORT_OPTIONS:
            yield path, f'exports(5) has no option "{name}"', did_you_mean(name, _EXPORT_OPTIONS)
