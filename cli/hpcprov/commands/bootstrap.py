"""`hpcprov bootstrap`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hpcprov.commands.reaching import (
    AcceptOption,
    AskPasswordOption,
    HostsArgument,
    JumpOption,
    KeyOption,
    KnownHostsOption,
    PasswordFileOption,
    PortOption,
    asked_about_keys,
)


def bootstrap(
    hosts: HostsArgument = None,
    *,
    site: Annotated[
        Path | None, typer.Option("--site", "-s", help="The site of the hosts: its ansible_user, key and addresses.")
    ] = None,
    user: Annotated[str, typer.Option("--user", "-u", help="Log in as this user now.")] = "root",
    admin: Annotated[
        str | None,
        typer.Option(
            "--admin", help="The user that deploys use later.", show_default="ansible_user of the site, else yourself"
        ),
    ] = None,
    public_key: Annotated[
        Path | None,
        typer.Option("--public-key", help="The key that the admin gets.", show_default="the public half of your own"),
    ] = None,
    key: KeyOption = None,
    port: PortOption = None,
    jump: JumpOption = None,
    ask_password: AskPasswordOption = False,
    password_file: PasswordFileOption = None,
    known_hosts: KnownHostsOption = None,
    accept_new: AcceptOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Say what would change, and change nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON on stdout.")] = False,
) -> None:
    """Make fresh hosts ready for a deploy: an admin user with your SSH key and sudo, and Python.

    The first login goes by a password or by a key that the host knows already. Nothing is taken away on the host, and
    what would lock the admin out is refused before anything changes. A second run changes nothing. Exit code 4 when a
    host is not ready.
    """
    from hpcprov.bootstrap.bootstrap import Wish, check_admin
    from hpcprov.bootstrap.bootstrap import bootstrap as make_ready
    from hpcprov.bootstrap.report import lines, summary
    from hpcprov.bootstrap.whose import admin_of, key_for
    from hpcprov.console import say, write_json
    from hpcprov.discovery.password import login_password
    from hpcprov.discovery.reach import Access, all_of, targets_for
    from hpcprov.discovery.report import count
    from hpcprov.discovery.wanted import wanted_hosts
    from hpcprov.errors import HostsError, UsageError
    from hpcprov.site import load_site

    loaded = load_site(site) if site else None
    wanted = wanted_hosts(hosts or []) or (all_of(loaded) if loaded else [])
    if not wanted:
        raise UsageError("no hosts are named", hint="for example: hpcprov bootstrap node[001-064] --ask-password")
    access = Access(user, key, port, login_password(ask_password, password_file), jump, known_hosts)
    targets = targets_for(wanted, loaded, access)
    wish = Wish(check_admin(admin or admin_of(targets, loaded)), key_for(targets, loaded, public_key, key), dry_run)
    say(f"{count(len(targets), 'host')}: login as {user} now, as {wish.admin} later")
    results = make_ready(targets, wish, access, lambda keys: asked_about_keys(accept_new, keys), say)
    if as_json:
        write_json(json.dumps({result.host: result.as_dict() for result in results}, indent=2))
    for line in lines(results, dry=dry_run):
        say(line)
    say(summary(results, dry=dry_run))
    if any(result.failed for result in results):
        raise typer.Exit(HostsError.exit_code)
