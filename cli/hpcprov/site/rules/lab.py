"""The lab of a site, and the key for real hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from hpcprov.errors import Finding
from hpcprov.site.findings import did_you_mean
from hpcprov.site.rules.registry import Draft, rule
from hpcprov.site.templating import holds_template

_KEYS = ("release", "image", "mirror", "components")


@rule("lab")
def lab(draft: Draft) -> Iterator[Finding]:
    """A key of `lab` that nobody reads would be passed over; a release must be one that labs are made of."""
    settings = draft.site.vars.get("lab")
    for key, value in settings.items() if isinstance(settings, Mapping) else ():
        place = draft.site_place("lab", key)
        if key not in _KEYS:
            hint = did_you_mean(str(key), _KEYS) or f"lab has {', '.join(_KEYS)}"
            yield place.finding("lab", f'unknown key "{key}" of lab', hint=hint)
            continue
        problem = None if value in (None, "") or holds_template(value) else _problem(str(key), value)
        if problem:
            yield place.finding("lab", f"lab.{key} {problem}")


def _problem(key: str, value: object) -> str | None:
    from hpcprov.lab.image import RELEASES

    if key == "release" and value not in RELEASES:
        return f"must be {' or '.join(RELEASES)}, not {value}"
    items = value if key == "components" else [value]
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        return "must be a list of names" if key == "components" else "must be text"
    return "must hold no blank" if any(re.search(r"\s", item) for item in items) else None


@rule("ssh-key")
def ssh_key(draft: Draft) -> Iterator[Finding]:
    """A key that is not there: SSH would try others, or ask."""
    if draft.site.vars.get("lab") is not None:
        return
    seen: set[str] = set()
    for host in draft.site.cluster_hosts:
        named = host.vars.get("ansible_ssh_private_key_file")
        # A path under ~ is another file for everyone who reads the site.
        if not isinstance(named, str) or not named.startswith("/") or holds_template(named) or named in seen:
            continue
        seen.add(named)
        if not Path(named).exists():
            place = draft.place_of(host, "ansible_ssh_private_key_file")
            yield place.finding("ssh-key", f"there is no key {named} on this machine", level="warning")
