"""`hpcprov import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_site(
    files: Annotated[list[Path], typer.Argument(help="slurm.conf, an inventory, CSV, DHCP files, /etc/hosts …")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The site file to write; - is stdout.")],
    format_name: Annotated[
        str | None, typer.Option("--format", help="The format of all files, where it cannot be told.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what became of everything as JSON on stdout.")] = False,
) -> None:
    """Make a site file of what other tools say about a cluster.

    Several files become one site. What was mapped, changed and could not be carried is told; nothing is dropped in
    silence, and no secret is copied.
    """
    from hpcprov.console import say
    from hpcprov.errors import UsageError
    from hpcprov.importers.formats import FORMATS
    from hpcprov.importers.report import report, to_json
    from hpcprov.importers.run import import_files

    to_stdout = str(output) == "-"
    if to_stdout and as_json:
        raise UsageError("--json and --output - both want stdout", hint="name a file for the site")
    if format_name is not None and format_name not in FORMATS:
        raise UsageError(f'--format "{format_name}" is none of {", ".join(FORMATS)}')
    if not to_stdout and output.suffix not in (".yaml", ".yml"):
        raise UsageError(f"{output} must end in .yaml or .yml", hint="Ansible reads YAML only from such names")
    if not to_stdout and output.exists() and not force:
        raise UsageError(f"{output} exists", hint="name another file, or overwrite it with --force")
    imported = import_files(files, Path("site.yaml") if to_stdout else output, format_name)
    if to_stdout:
        typer.echo(imported.text, nl=False)
    else:
        try:
            output.write_text(imported.text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{output} cannot be written: {error.strerror}") from error
    if as_json:
        typer.echo(to_json(imported.notes))
    else:
        say(report(imported.notes))
    say(f"{'site' if to_stdout else output}: {'valid' if imported.is_complete else 'to be filled in, see above'}")
