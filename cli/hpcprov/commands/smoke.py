"""`hpcprov smoke`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def smoke(
    site: Annotated[Path, typer.Argument(help="The site file, an Ansible YAML inventory.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print result.json on stdout.")] = False,
) -> None:
    """Train the network across the compute nodes through Slurm, without converging anything."""
    from hpcprov.deploy import Options, run

    raise typer.Exit(run(Options(site_file=site, first="smoke", no_verify=True, as_json=as_json)))
