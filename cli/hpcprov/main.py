"""The `hpcprov` command: what commands there are, and the one place where errors become words and exit codes.

Modules with the work are imported inside the commands, so that `--help` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from hpcprov import __version__
from hpcprov.commands import (
    bootstrap,
    deploy,
    discover,
    importing,
    init,
    inventory,
    lab,
    plan,
    preflight,
    report,
    slurm,
    smoke,
    validate,
    verify,
)
from hpcprov.console import say
from hpcprov.errors import HpcprovError, SiteError

EXIT_CODES = (
    "Exit codes: 0 done, 2 usage, 3 site invalid, 4 hosts not reachable or unfit, "
    "5 converge failed, 6 verify or smoke failed, 130 stopped by the user."
)
EXAMPLE = "Example: hpcprov deploy inventory/site.yaml"
JOURNAL_LINES = 12

app = typer.Typer(
    name="hpcprov",
    help="From bare machines to a working Slurm cluster, proved by a training job.",
    epilog=f"{EXIT_CODES}\n\n{EXAMPLE}",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("init", epilog="Example: hpcprov init --nodes 'node[001-064]' --controller head1")(init.init)
app.command("validate", epilog="Example: hpcprov validate inventory/site.yaml")(validate.validate)
app.command("import", epilog="Example: hpcprov import slurm.conf /etc/hosts --output site.yaml")(importing.import_site)
app.command("discover", epilog="Example: hpcprov discover head node[001-064] --site inventory/site.yaml")(
    discover.discover
)
app.command("bootstrap", epilog="Example: hpcprov bootstrap node[001-064] --ask-password --accept-new-host-keys")(
    bootstrap.bootstrap
)
app.command("preflight", epilog="Example: hpcprov preflight inventory/site.yaml --limit compute")(preflight.preflight)
app.command("plan", epilog="Example: hpcprov plan inventory/site.yaml --json")(plan.plan)
app.command("deploy", epilog="Example: hpcprov deploy inventory/site.yaml --check --diff")(deploy.deploy)
app.command("verify", epilog="Example: hpcprov verify inventory/site.yaml -k 'munge and node01'")(verify.verify)
app.command("smoke", epilog="Example: hpcprov smoke inventory/site.yaml")(smoke.smoke)
app.command("report", epilog="Example: hpcprov report runs/latest")(report.report)
app.add_typer(inventory.app, name="inventory")
app.add_typer(lab.app, name="lab")
app.add_typer(slurm.app, name="slurm")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"hpcprov {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """From bare machines to a working Slurm cluster, proved by a training job."""


def show_error(error: HpcprovError) -> None:
    """Say what is wrong, where, why, and what to do next."""
    where = f"{error.host}: " if error.host else ""
    say(f"Error: {where}{error.message}", style="bold red")
    if error.why:
        say("\n".join(f"  {line}" for line in error.why.splitlines()))
    if isinstance(error, SiteError):
        for finding in error.findings:
            say(f"  {finding}")
            if finding.hint:
                say(f"      {finding.hint}", style="dim")
    if error.journal:
        say("  journal:")
        for line in error.journal[-JOURNAL_LINES:]:
            say(f"    {line}", style="dim")
    if error.hint:
        say(
            "\n".join(
                f"  {'next: ' if number == 0 else '      '}{line}"
                for number, line in enumerate(error.hint.splitlines())
            )
        )


def main(args: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        app(args=None if args is None else list(args), prog_name="hpcprov")
    except HpcprovError as error:
        show_error(error)
        return error.exit_code
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    return 0


def run() -> NoReturn:
    """Entry point of the console script."""
    sys.exit(main())
