"""`hpcprov validate`."""

from __future__ import annotations

from typing import Annotated

import typer

from hpcprov.commands.site import SiteArgument, chosen


def validate(
    site: SiteArgument = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON on stdout.")] = False,
    rules: Annotated[bool, typer.Option("--rules", help="List the rules and stop.")] = False,
) -> None:
    """Check a site file without touching a host. Every mistake is told in one pass.

    Exit code 3 with an error, 0 with warnings only.
    """
    from hpcprov.console import say
    from hpcprov.errors import SiteError
    from hpcprov.site.load import check_site
    from hpcprov.site.report import render, summary
    from hpcprov.site.rules import rule_texts

    if rules:
        typer.echo("\n".join(f"{name}: {text}" for name, text in rule_texts().items()))
        return
    file = chosen(site)
    report = check_site(file)
    if as_json:
        import json

        typer.echo(json.dumps([finding.as_dict() for finding in report.findings], indent=2))
    else:
        if report.findings:
            typer.echo(render(report.findings))
        count = f", {len(report.site.hosts)} hosts" if report.site else ""
        say(f"{file}: {summary(report.findings)}{count}")
    if report.site is None:
        raise typer.Exit(SiteError.exit_code)
