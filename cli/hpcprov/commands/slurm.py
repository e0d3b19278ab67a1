"""`hpcprov slurm`: Slurm's own files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Look at Slurm's own configuration files.", no_args_is_help=True)


@app.command("lint", epilog="Example: hpcprov slurm lint /etc/slurm/slurm.conf --slurm-version 24.05")
def lint(
    files: Annotated[list[Path] | None, typer.Argument(help="slurm.conf, gres.conf, cgroup.conf …")] = None,
    slurm_version: Annotated[
        str | None, typer.Option("--slurm-version", help="The Slurm to judge by, such as 24.05.", show_default="any")
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", help="What the files are, where their names do not tell.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON on stdout.")] = False,
    rules: Annotated[bool, typer.Option("--rules", help="List the rules and stop.")] = False,
) -> None:
    """Check Slurm's files without Slurm. Every mistake is told in one pass.

    Beside a slurm.conf its gres.conf, cgroup.conf and topology.conf are read too.
    Exit code 3 with an error, 0 with warnings only.
    """
    from hpcprov.console import say
    from hpcprov.errors import SiteError, UsageError
    from hpcprov.site.report import render, summary
    from hpcprov.slurm import lint as linter
    from hpcprov.slurm.keys import release_named

    if rules:
        typer.echo("\n".join(f"{name}: {text}" for name, text in linter.rule_texts().items()))
        return
    if not files:
        raise UsageError("no file is named", hint="for example hpcprov slurm lint /etc/slurm/slurm.conf")
    if kind is not None and kind not in linter.KINDS:
        raise UsageError(f'--kind "{kind}" is none of {", ".join(linter.KINDS)}')
    findings = linter.lint(files, kind, release_named(slurm_version) if slurm_version else None)
    if as_json:
        import json

        typer.echo(json.dumps([finding.as_dict() for finding in findings], indent=2))
    else:
        if findings:
            typer.echo(render(findings))
        say(f"{', '.join(map(str, files))}: {summary(findings)}")
    if any(finding.level == "error" for finding in findings):
        raise typer.Exit(SiteError.exit_code)
