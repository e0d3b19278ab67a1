"""The site file that all commands work on: named, or found where sites usually lie."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

VARIABLE = "HPCPROV_SITE"
PLACES = (Path("inventory") / "site.yaml", Path("site.yaml"))
SHOWN_DEFAULT = f"${VARIABLE}, else {' or '.join(map(str, PLACES))} here"

SiteArgument = Annotated[
    Path | None,
    typer.Argument(
        help="The site file, an Ansible YAML inventory.",
        show_default=SHOWN_DEFAULT,
    ),
]


def chosen(given: Path | None) -> Path:
    """The named file, else the one of the environment, else the one of the current directory. Raises UsageError."""
    if given is not None:
        return given
    if named := os.environ.get(VARIABLE):
        return Path(named)
    for place in PLACES:
        if place.is_file():
            return place
    from hpcprov.errors import UsageError

    raise UsageError(
        "no site file is named",
        why=f"{VARIABLE} is not set, and here is neither {' nor '.join(map(str, PLACES))}",
        hint="name the file after the command, such as /srv/cluster/site.yaml",
    )
