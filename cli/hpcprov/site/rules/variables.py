"""Values that Ansible misreads or the roles refuse, and names that nothing reads."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from hpcprov.errors import Finding
from hpcprov.site.findings import did_you_mean
from hpcprov.site.role_options import Option, problems, role_options
from hpcprov.site.rules.registry import Draft, rule
from hpcprov.site.scalars import Base60, Octal
from hpcprov.site.templating import is_template

# Each of these belongs to a role or to the site: what no role reads is a slip, or stands under the wrong prefix.
_ROLE_PREFIXES = (
    *("base_", "packages_", "munge_", "slurm_", "nfs_", "mpi_", "dl_", "mariadb_", "smoke_"),
    *("cuda_", "network_", "image_", "cluster_", "hpc_"),
)
# Others set such names too; only those that are nearly ours are told.
_SHARED_PREFIXES = ("bmc_", "ansible_")
# Names of variables that hold an octal mode such as 0644.
_MODE = re.compile(r"mode|mask|perm", re.IGNORECASE)
# Real variables of Ansible that look like slips of ours.
_NOT_A_SLIP = ("ansible_become_user", "ansible_ssh_user", "ansible_ssh_host", "ansible_ssh_port")


@rule("unquoted-colons")
def unquoted_colons(draft: Draft) -> Iterator[Finding]:
    """Ansible reads 1:30:00 as 5400 and 52:54:00:12:34:56 as 41135085296."""
    for layer in draft.variables.all_layers():
        for path, value in _walk(layer.values):
            if isinstance(value, Base60):
                yield layer.place(*path).finding(
                    "unquoted-colons",
                    f"{path[-1]}: {value} is read as a number in base 60",
                    hint=f'quote it: "{value}"',
                )


@rule("octal")
def octal(draft: Draft) -> Iterator[Finding]:
    """Ansible reads 05001 as the octal number 2561. Where a mode is meant that is right, elsewhere it is not."""
    for layer in draft.variables.all_layers():
        for path, value in _walk(layer.values):
            if isinstance(value, Octal) and not _MODE.search(str(path[-1])):
                comes_to = int(value.replace("_", ""), 8)
                yield layer.place(*path).finding(
                    "octal",
                    f"{path[-1]}: {value} is read as the octal number {comes_to}",
                    hint=f'write {value.replace("_", "").lstrip("0") or 0}, or quote it: "{value}"',
                )


def _walk(value: Any, path: tuple[Hashable, ...] = ()) -> Iterator[tuple[tuple[Hashable, ...], Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _walk(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, (*path, index))
    else:
        yield path, value


@rule("variable-name")
def variable_names(draft: Draft) -> Iterator[Finding]:
    """A variable that no role reads would be passed over in silence."""
    strangers = [
        (layer, name) for layer in draft.variables.all_layers() for name in layer.values if name not in _known_names()
    ]
    used: frozenset[str] | None = None
    for layer, name in strangers:
        if not isinstance(name, str):
            yield layer.place(name).finding(
                "variable-name", f"variable name {name!r} is not text", hint=f'quote it: "{name}"'
            )
            continue
        hint = _slip(name)
        if hint is None:
            continue
        used = _used_in_templates(draft) if used is None else used
        if name not in used:
            yield layer.place(name).finding(
                "variable-name", f"{name} is no variable of ours", level="warning", hint=hint
            )


@lru_cache(maxsize=4096)
def _slip(name: str) -> str | None:
    """What to write instead of a name that is not known; None when it is the admin's own."""
    plain = name.replace("-", "_")
    if plain.startswith(_ROLE_PREFIXES):
        own = f'a variable of your own needs another prefix than "{plain.split("_", 1)[0]}_"'
        return did_you_mean(plain, _known_names()) or own
    if name in _NOT_A_SLIP or not plain.startswith(_SHARED_PREFIXES):
        return None
    near = get_close_matches(plain, _known_names(), n=1, cutoff=0.87)
    return f'did you mean "{near[0]}"?' if near else None


def _used_in_templates(draft: Draft) -> frozenset[str]:
    """Names in the templates of the site itself: helpers of the admin, whatever their prefix."""
    texts = {value for layer in draft.variables.all_layers() for _, value in _walk(layer.values) if is_template(value)}
    return frozenset(word for text in texts for word in re.findall(r"[A-Za-z_]\w*", text))


@rule("variable-value")
def variable_values(draft: Draft) -> Iterator[Finding]:
    """A value that the role which reads it would refuse, halfway through a deployment."""
    options = _checked_options()
    for layer in draft.variables.all_layers():
        for name in layer.values.keys() & options.keys():
            for problem in problems(options[name], layer.values[name]):
                where = ".".join(str(part) for part in (name, *problem.path))
                place = layer.place(name, *problem.path)
                yield place.finding("variable-value", f"{where} {problem.message}", hint=problem.hint)


@lru_cache(maxsize=1)
def _checked_options() -> dict[str, Option]:
    """Options that the model of the site does not describe in more detail."""
    from hpcprov.site.schema import KNOWN

    return {name: option for name, option in role_options().items() if name not in KNOWN}


@lru_cache(maxsize=1)
def _known_names() -> dict[str, None]:
    from hpcprov.site.schema import KNOWN

    return dict.fromkeys((*KNOWN, *role_options()))
