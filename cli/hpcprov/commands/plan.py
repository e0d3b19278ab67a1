"""`hpcprov plan`."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from hpcprov.commands.site import SiteArgument, chosen


def plan(
    site: SiteArgument = None,
    limit: Annotated[
        str | None, typer.Option("--limit", metavar="PATTERN", help="Only these hosts, as in deploy: compute:!node07.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON on stdout.")] = False,
) -> None:
    """Say what a deploy would do to nodes, partitions, Slurm's options, users, mounts and jobs. Nothing is changed.

    Compared are the site file, what was deployed last, and the controller where it answers.
    """
    from hpcprov.console import write_json
    from hpcprov.limit import limited
    from hpcprov.plan.make import make
    from hpcprov.plan.render import full
    from hpcprov.site import load_site

    loaded = load_site(chosen(site))
    made = make(loaded, limited(loaded, limit))
    if as_json:
        write_json(json.dumps(made.as_dict(), indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join(full(made)))
