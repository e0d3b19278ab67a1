"""`hpcprov smoke`."""

from __future__ import annotations

from typing import Annotated

import typer

from hpcprov.commands.site import SiteArgument, chosen


def smoke(
    site: SiteArgument = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print result.json on stdout.")] = False,
) -> None:
    """Train the network across the compute nodes through Slurm, without converging anything."""
    from hpcprov.deploy import Options, run

    raise typer.Exit(run(Options(chosen(site), command="smoke", first="smoke", no_verify=True, as_json=as_json)))
