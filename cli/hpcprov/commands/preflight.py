"""`hpcprov preflight`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from hpcprov.commands.site import SiteArgument, chosen


def preflight(
    site: SiteArgument = None,
    limit: Annotated[
        str | None, typer.Option("--limit", metavar="PATTERN", help="Only these hosts, as in deploy: compute:!node07.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")] = False,
    rules: Annotated[bool, typer.Option("--rules", help="List the rules and stop.")] = False,
) -> None:
    """Look at all hosts side by side, without changing them: are they fit for a deploy?

    Exit code 4 when an error is found; warnings are mended by the deploy, or worth knowing.
    """
    from hpcprov.console import say, write_json
    from hpcprov.errors import HostsError
    from hpcprov.limit import limited
    from hpcprov.preflight import preflight as look_at
    from hpcprov.preflight import render, summary
    from hpcprov.preflight.rules import load_rules
    from hpcprov.site import load_site

    if rules:
        typer.echo("\n".join(f"{name}: {entry.about.splitlines()[0]}" for name, entry in load_rules().items()))
        return
    loaded = load_site(chosen(site))
    result = look_at(loaded, limited(loaded, limit), say)
    if as_json:
        write_json(json.dumps(result.as_dict(), indent=2))
    for line in render(result.findings):
        say(line)
    say(f"{summary(result)}, in {result.seconds:.1f} s")
    if result.errors:
        raise typer.Exit(HostsError.exit_code)
