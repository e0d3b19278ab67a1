"""`hpcprov deploy`."""

from __future__ import annotations

from typing import Annotated

import typer

from hpcprov.commands.site import SiteArgument, chosen


def deploy(
    site: SiteArgument = None,
    *,
    check: Annotated[bool, typer.Option("--check", help="Change nothing, say what would change.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show what changes in files.")] = False,
    limit: Annotated[str | None, typer.Option(help="Converge only these hosts or groups.")] = None,
    tags: Annotated[str | None, typer.Option(help="Run only tasks with these tags.")] = None,
    from_phase: Annotated[str | None, typer.Option("--from", metavar="PHASE", help="Resume at this phase.")] = None,
    to_phase: Annotated[str | None, typer.Option("--to", metavar="PHASE", help="Stop after this phase.")] = None,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="Leave the checks out.")] = False,
    no_smoke: Annotated[bool, typer.Option("--no-smoke", help="Leave the training job out.")] = False,
    verbose: Annotated[int, typer.Option("-v", count=True, help="Show Ansible's output; -vv and -vvv say more.")] = 0,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask, also where jobs or Slurm's state are lost.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print result.json on stdout.")] = False,
) -> None:
    """Converge all hosts of a site, verify the cluster and train a network on it.

    Begins with what will change, in a few lines (`hpcprov plan` tells all of it), and asks when work would be lost:
    running jobs, or Slurm's state. Without a terminal and without --yes it ends then with exit code 2.

    Phases: validate, lab, preflight, base, storage, accounting, scheduler, mpi, frameworks, verify, smoke.
    """
    from hpcprov.deploy import Options, run

    code = run(
        Options(
            site_file=chosen(site),
            check=check,
            diff=diff,
            limit=limit,
            tags=tags,
            first=from_phase,
            last=to_phase,
            no_verify=no_verify,
            no_smoke=no_smoke,
            verbosity=verbose,
            as_json=as_json,
            yes=yes,
        )
    )
    raise typer.Exit(code)
