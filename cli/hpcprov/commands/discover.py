"""`hpcprov discover`."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    UserOption,
    agreed,
    asked_about_keys,
)

if TYPE_CHECKING:
    from hpcprov.discovery.discover import Proposal


def discover(
    hosts: HostsArgument = None,
    *,
    site: Annotated[
        Path | None,
        typer.Option("--site", "-s", help="Write this site file, or bring it up to date. Without it: only look."),
    ] = None,
    user: UserOption = None,
    key: KeyOption = None,
    port: PortOption = None,
    jump: JumpOption = None,
    ask_password: AskPasswordOption = False,
    password_file: PasswordFileOption = None,
    known_hosts: KnownHostsOption = None,
    accept_new: AcceptOption = False,
    cluster_name: Annotated[str | None, typer.Option("--cluster-name", help="cluster_name of a new site file.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without a question.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Show what would be written, and stop.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON on stdout.")] = False,
) -> None:
    """Find out over SSH what hosts are, and make a site file of it. They need no Python, and nothing on them changes.

    Hosts that do not answer are listed with the reason; the others are saved all the same. Exit code 4 when a host
    that was named did not answer (an address of a network need not), 3 when the new site file has something to fill
    in, 0 otherwise.
    """
    from hpcprov.console import say, write_json
    from hpcprov.discovery import discover as work
    from hpcprov.discovery.password import login_password
    from hpcprov.discovery.reach import Access, all_of, targets_for
    from hpcprov.discovery.report import as_dict, count, failures, remarks, summary, table
    from hpcprov.discovery.survey import survey
    from hpcprov.discovery.wanted import wanted_hosts
    from hpcprov.errors import HostsError, UsageError

    present = work.existing(site) if site else None
    wanted = wanted_hosts(hosts or []) or (all_of(present) if present else [])
    if not wanted:
        raise UsageError("no hosts are named", hint="for example: hpcprov discover node[001-064] --site site.yaml")
    access = Access(user, key, port, login_password(ask_password, password_file), jump, known_hosts)
    targets = targets_for(wanted, present, access)
    started = time.monotonic()
    say(f"asking {count(len(targets), 'host')}")
    result = survey(targets, access, lambda keys: asked_about_keys(accept_new, keys), say)
    names = work.site_names(result, present)
    if result.found:
        say(table(names, result.found))
    for line in (*remarks(result, names), *failures(result.failures)):
        say(line)
    say(summary(result, time.monotonic() - started))
    if as_json:
        write_json(json.dumps(as_dict(result, names, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"), indent=2))
    code = HostsError.exit_code if result.failures or not result.found else 0
    if site is not None and result.found:
        # Facts of a site that is there are worth keeping even when its file cannot be changed.
        if present and not dry_run:
            say(f"facts are in {work.save_facts(site, present.cluster_name, result, names)}")
        proposal = work.propose(site, present, result, access, cluster_name)
        _show(proposal)
        if dry_run:
            say("nothing was written (--dry-run)")
        else:
            code = _write(proposal, yes) or code
            if not present:
                say(f"facts are in {work.save_facts(site, proposal.cluster_name, result, proposal.names)}")
    raise typer.Exit(code)


def _show(proposal: Proposal) -> None:
    """What would be written."""
    from hpcprov.console import say
    from hpcprov.site.save import diff

    for note in proposal.notes:
        say(note)
    if proposal.is_empty:
        say(f"{proposal.edit.path} says all of this already")
    else:
        say(proposal.edit.after if proposal.is_new else diff(proposal.edit))


def _write(proposal: Proposal, yes: bool) -> int:
    """Write the site file once the admin agrees. The exit code: 3 where something has to be filled in."""
    from hpcprov.console import say
    from hpcprov.discovery.discover import create
    from hpcprov.errors import SiteError, UsageError
    from hpcprov.site.report import render
    from hpcprov.site.save import save

    path = proposal.edit.path
    if proposal.is_empty:
        return 0
    if not (yes or agreed(f"Write {path}?")):
        raise UsageError("nothing was written", hint="look at it, and write it with --yes")
    if proposal.is_new:
        create(proposal.edit)
    else:
        save(proposal.edit)
    say(f"wrote {path}")
    findings = [finding for finding in proposal.edit.report.findings if finding.level == "error"]
    if not findings:
        return 0
    say("to fill in:")
    say(render(findings))
    return SiteError.exit_code
