"""`hpcprov verify`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hpcprov.commands.site import SiteArgument, chosen


def verify(  # noqa: PLR0917 (options of the command line)
    site: SiteArgument = None,
    keyword: Annotated[
        str | None,
        typer.Option("-k", metavar="EXPR", help="Only checks that match, such as 'munge and node01'; words: --list."),
    ] = None,
    host: Annotated[list[str] | None, typer.Option(help="Only this host; may be given again.")] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a JUnit report.")] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="Print all checks and the words that -k accepts, and check nothing.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")] = False,
) -> None:
    """Check services, munge, clocks, names, storage, and run real jobs on every compute node.

    Exit code 6 when a check fails, 4 when no check could run because hosts are not reached.
    """
    import time

    from hpcprov.console import say, write_json
    from hpcprov.errors import VerifyError
    from hpcprov.site import load_site
    from hpcprov.verify import nobody_answers, run

    if show_list:
        from hpcprov.verify.catalogue import checks, hosts

        for check in checks():
            typer.echo(f"{check.area:<14} {check.name:<24} {check.text} ({hosts(check)})")
        return
    started = time.monotonic()
    loaded = load_site(chosen(site))
    result = run(loaded, report=say, keyword=keyword, junit=junit, hosts=host or [])
    say(
        f"{result.passed} passed, {result.failed} failed, {result.skipped} skipped "
        f"in {time.monotonic() - started:.1f} s"
    )
    if as_json:
        write_json(json.dumps(result.as_dict(), indent=2))
    if error := nobody_answers(loaded, result):
        raise error
    if not result.ok:
        raise typer.Exit(VerifyError.exit_code)
