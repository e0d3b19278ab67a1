"""`hpcprov inventory`: look at a site, change it, and give it to other tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hpcprov.commands.site import SHOWN_DEFAULT, SiteArgument, chosen

if TYPE_CHECKING:
    from hpcprov.site.edit import Edit

app = typer.Typer(help="Look at a site, change it, and give it to other tools.", no_args_is_help=True)

SiteOption = Annotated[Path | None, typer.Option("--site", "-s", help="The site file.", show_default=SHOWN_DEFAULT)]
Hosts = Annotated[list[str], typer.Argument(help="Names or hostlists, such as node[001-004].")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Show the change, write nothing.")]


@app.command("list", epilog="Example: hpcprov inventory list inventory/site.yaml")
def list_hosts(site: SiteArgument = None, as_json: JsonOption = False) -> None:
    """List the hosts: those that are in the same groups on one line."""
    from hpcprov.site import load_site
    from hpcprov.site.show import host_rows, list_lines

    loaded = load_site(chosen(site))
    _print(host_rows(loaded) if as_json else list_lines(loaded), as_json)


@app.command("graph", epilog="Example: hpcprov inventory graph inventory/site.yaml")
def graph(site: SiteArgument = None, as_json: JsonOption = False) -> None:
    """Show the tree of groups with their hosts."""
    from hpcprov.site import load_draft
    from hpcprov.site import show as view

    groups = view.graph(load_draft(chosen(site)))
    _print(groups if as_json else view.graph_lines(groups), as_json)


@app.command("show", epilog="Example: hpcprov inventory show node[001-002]")
def show(hosts: Hosts, site: SiteOption = None, as_json: JsonOption = False) -> None:
    """Show hosts with their variables, and where each of them is written. Secrets are starred."""
    from hpcprov.errors import UsageError
    from hpcprov.site import load_draft
    from hpcprov.site import show as view
    from hpcprov.site.findings import did_you_mean

    draft = load_draft(chosen(site))
    names = _hosts(hosts)
    for name in names:
        if name not in draft.site.hosts:
            hint = did_you_mean(name, draft.site.hosts)
            raise UsageError(f"{draft.site.path} has no host {name}", hint=hint or "hpcprov inventory list names them")
    details = [view.host_details(draft, name) for name in names]
    lines = (line for one in details for line in view.detail_lines(one))
    _print(details if as_json else lines, as_json)


@app.command("add", epilog="Example: hpcprov inventory add node[065-072] --group compute --address 10.1.1.65")
def add(  # noqa: PLR0917 (options of the command line)
    hosts: Hosts,
    group: Annotated[list[str], typer.Option("--group", "-g", help="Group to put them in; may be repeated.")],
    address: Annotated[
        str | None, typer.Option("--address", help="Address of the first host; the others get those behind it.")
    ] = None,
    variables: Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE for each of the hosts.")] = None,
    site: SiteOption = None,
    dry_run: DryRun = False,
) -> None:
    """Add hosts to groups. A host that the site has already only joins the groups."""
    from hpcprov.site.edit import add_hosts

    names = _hosts(hosts)
    addresses = _addresses(address, len(names)) if address else []
    values = {
        name: ({"ansible_host": addresses[number]} if addresses else {}) | _assignments(variables or [])
        for number, name in enumerate(names)
    }
    _finish(add_hosts(chosen(site), names, group, values), dry_run)


@app.command("remove", epilog="Example: hpcprov inventory remove node[017-020]")
def remove(
    hosts: Hosts,
    group: Annotated[
        list[str] | None, typer.Option("--group", "-g", help="Only out of this group; may be repeated.")
    ] = None,
    site: SiteOption = None,
    dry_run: DryRun = False,
) -> None:
    """Remove hosts. Ranges that hold them are split; what else names them is told."""
    from hpcprov.console import say
    from hpcprov.site.edit import remove_hosts
    from hpcprov.site.load import check_site
    from hpcprov.site.mentions import mentions

    file, names = chosen(site), _hosts(hosts)
    draft = check_site(file).draft
    if draft is not None and not group:
        for mention in mentions(draft, names):
            say(f"{mention}; it stays there", style="yellow")
    _finish(remove_hosts(file, names, group or []), dry_run)


@app.command("set", epilog="Example: hpcprov inventory set node[001-004] slurm_weight=10 slurm_node.MemSpecLimit=4096")
def set_variables(
    target: Annotated[str, typer.Argument(help="A hostlist, a group, or all.")],
    assignments: Annotated[list[str], typer.Argument(help="KEY=VALUE; KEY.INNER=VALUE for one key of a mapping.")],
    site: SiteOption = None,
    dry_run: DryRun = False,
) -> None:
    """Set variables of hosts or of a group. VALUE is YAML: 4, true, text, [a, b]."""
    from hpcprov.site.edit import group_or_hosts, set_values

    file = chosen(site)
    _finish(set_values(file, group_or_hosts(file, target), _assignments(assignments)), dry_run)


@app.command("export", epilog="Example: hpcprov inventory export --format ssh-config >> ~/.ssh/config")
def export(
    site: SiteArgument = None,
    format_name: Annotated[
        str, typer.Option("--format", "-f", help="ansible, hosts, clustershell, genders or ssh-config.")
    ] = "ansible",
) -> None:
    """Print the site as another tool reads it."""
    from hpcprov.errors import UsageError
    from hpcprov.exporters.formats import FORMATS
    from hpcprov.site import load_draft
    from hpcprov.site.findings import did_you_mean

    if format_name not in FORMATS:
        hint = did_you_mean(format_name, FORMATS)
        raise UsageError(f'--format "{format_name}" is none of {", ".join(FORMATS)}', hint=hint)
    typer.echo(FORMATS[format_name](load_draft(chosen(site))), nl=False)


def _print(data: Any, as_json: bool) -> None:
    if as_json:
        import json

        from hpcprov.console import write_json

        write_json(json.dumps(data, indent=2, default=str))
        return
    lines: Iterator[str] = data
    for line in lines:
        typer.echo(line)


def _hosts(texts: list[str]) -> list[str]:
    from hpcprov.errors import UsageError
    from hpcprov.site.ranges import RangeError, named
    from hpcprov.slurm.hostlist import HostlistError

    try:
        return named(texts)
    except (RangeError, HostlistError) as error:
        raise UsageError(str(error), hint="write hosts as node[001-004],node007") from error


def _addresses(first: str, count: int) -> list[str]:
    import ipaddress

    from hpcprov.errors import UsageError

    try:
        start = ipaddress.ip_address(first)
    except ValueError:
        raise UsageError(f'--address "{first}" is no IP address', hint="for example 10.1.1.65") from None
    return [str(start + number) for number in range(count)]


def _assignments(texts: list[str]) -> dict[str, Any]:
    from hpcprov.errors import UsageError
    from hpcprov.site.edit import value_of

    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or "" in name.split("."):
            raise UsageError(f'"{text}" sets nothing', hint="write KEY=VALUE, such as slurm_weight=10")
        values[name.strip()] = value_of(value)
    return values


def _finish(edit: Edit, dry_run: bool) -> None:
    """Show the change, then write it."""
    from hpcprov.console import say
    from hpcprov.site.save import diff, save

    change = diff(edit)
    if not change:
        say(f"{edit.path}: nothing to change")
        return
    typer.echo(change)
    for finding in edit.report.findings:  # without their lines, which are not in the file yet
        say(f"{finding}{f' ({finding.hint})' if finding.hint else ''}", style="yellow")
    if dry_run:
        say(f"{edit.path}: left as it is (--dry-run)")
        return
    save(edit)
    say(f"{edit.path}: changed. Next: hpcprov deploy {edit.path}")
