"""`hpcprov report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hpcprov.commands.site import SHOWN_DEFAULT, chosen


def report(
    run: Annotated[
        Path | None,
        typer.Argument(
            metavar="RUN|SITE",
            help="The directory of a run, or a site file, of which the latest run is taken.",
            show_default=SHOWN_DEFAULT,
        ),
    ] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Show it in this machine's browser.")] = False,
) -> None:
    """Write the report of a run again, and print where it is: one HTML file that needs no network."""
    from hpcprov import report as reports
    from hpcprov.errors import UsageError

    folder = reports.find(run if run is not None and run.is_dir() else chosen(run))
    page = reports.write(reports.read(folder), folder)
    typer.echo(page)
    if open_it:
        import webbrowser

        if not webbrowser.open(page.resolve().as_uri()):
            raise UsageError("no browser starts here", hint=f"copy the file to where one is: {page.resolve()}")
