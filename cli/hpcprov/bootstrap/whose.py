"""Who the admin is, and with which key, when the command line does not say."""

from __future__ import annotations

import getpass
from collections.abc import Sequence
from pathlib import Path

from hpcprov.bootstrap.public_key import KeyPair, key_pair
from hpcprov.discovery.connect import Target
from hpcprov.errors import UsageError
from hpcprov.site import Site


def admin_of(targets: Sequence[Target], site: Site | None) -> str:
    """The user by whom the site reaches these hosts; without a site, whoever calls. Raises UsageError."""
    users = {site.hosts[target.name].user for target in targets if target.name in site.hosts} if site else set()
    users.discard(None)
    if len(users) > 1:
        raise UsageError("the site has several users for these hosts", hint="name one with --admin")
    return next((user for user in users if user), getpass.getuser())


def key_for(targets: Sequence[Target], site: Site | None, public: Path | None, login_key: Path | None) -> KeyPair:
    """The key of the site, else the one of the login, else the caller's own. Raises UsageError."""
    keys = {site.hosts[target.name].ssh_key for target in targets if target.name in site.hosts} if site else set()
    keys.discard(None)
    if public is None and len(keys) > 1:
        raise UsageError("the site has several keys for these hosts", hint="name one with --public-key")
    of_site = next((Path(key) for key in keys if key), None)
    return key_pair(public, of_site or login_key, Path.home())
