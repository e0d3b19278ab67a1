"""Options of the commands that go to hosts which need not be part of a site yet."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    import paramiko

HostsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="HOSTS",
        help="Names, ranges (node[001-064] or node[001:064]), networks (10.1.0.0/24), or files with such words. "
        "Without any: all hosts of --site.",
        show_default=False,
    ),
]
UserOption = Annotated[str | None, typer.Option("--user", "-u", help="Log in as this user.", show_default=False)]
KeyOption = Annotated[Path | None, typer.Option("--key", "-i", help="Log in with this private key.")]
PortOption = Annotated[int | None, typer.Option("--port", "-p", min=1, max=65535, help="SSH port.")]
JumpOption = Annotated[
    str | None, typer.Option("--jump", "-J", metavar="[USER@]HOST", help="Go through this host, as ssh -J does.")
]
AskPasswordOption = Annotated[bool, typer.Option("--ask-password", "-k", help="Ask for the SSH password.")]
PasswordFileOption = Annotated[
    Path | None,
    typer.Option("--password-file", help="Read the SSH password from this file. Also: $HPCPROV_SSH_PASSWORD."),
]
KnownHostsOption = Annotated[
    Path | None, typer.Option("--known-hosts", help="Check and record host keys here, not in ~/.ssh/known_hosts.")
]
AcceptOption = Annotated[
    bool,
    typer.Option("--accept-new-host-keys", help="Record unknown host keys without a question. Changed ones: never."),
]


def asked_about_keys(accept: bool, keys: Mapping[str, paramiko.PKey]) -> bool:
    """Show unknown keys, and ask about them at a terminal."""
    from hpcprov.console import say
    from hpcprov.discovery.reach import key_lines

    say(f"{len(keys)} unknown host keys:" if len(keys) > 1 else "An unknown host key:")
    for line in key_lines(keys):
        say(f"  {line}")
    if accept:
        say("They are recorded, as --accept-new-host-keys says.")
        return True
    return agreed("Compare them with what the hosts themselves say. Record them and go on?")


def agreed(question: str) -> bool:
    """A yes at a terminal; without one nobody agrees."""
    return sys.stdin.isatty() and typer.confirm(question, err=True)
