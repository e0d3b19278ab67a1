"""`hpcprov lab up|down|status|ssh`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from hpcprov.lab import NodeStatus
    from hpcprov.site import Site

app = typer.Typer(
    help="The local lab: systemd containers that stand in for the hosts of a site.",
    epilog="Example: hpcprov lab up",
    no_args_is_help=True,
)

SiteArgument = Annotated[
    Path | None, typer.Argument(help="Site file with a `lab` variable.", show_default="the built-in inventory/lab.yaml")
]
SiteOption = Annotated[
    Path | None,
    typer.Option("--site", help="Site file with a `lab` variable.", show_default="the built-in inventory/lab.yaml"),
]


@app.command("up", epilog="Example: hpcprov lab up inventory/lab.yaml")
def up(site: SiteArgument = None) -> None:
    """Start the nodes: build the image once, reuse what runs, replace what is half made."""
    from hpcprov import lab
    from hpcprov.console import say

    lab.up(_load(site), say)


@app.command("down", epilog="Example: hpcprov lab down")
def down(
    site: SiteArgument = None,
    purge: Annotated[bool, typer.Option("--purge", help="Remove the lab's SSH keys too.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also a lab of this name that belongs to another site file.")
    ] = False,
) -> None:
    """Remove the containers, the network and the volumes of this lab."""
    from hpcprov import lab
    from hpcprov.console import say

    loaded = _load(site)
    removed = lab.down(loaded, purge=purge, report=say, force=force)
    for thing in removed or [f"nothing: there is no lab {loaded.cluster_name}"]:
        say(f"Removed {thing}")


@app.command("status", epilog="Example: hpcprov lab status --json")
def status(
    site: SiteArgument = None, as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")] = False
) -> None:
    """Show each node's container, systemd and SSH. Exit code 4 when one is not healthy."""
    import json
    from dataclasses import asdict

    from hpcprov import lab
    from hpcprov.console import out, say, write_json

    loaded = _load(site)
    found = lab.status(loaded)
    if as_json:
        write_json(json.dumps([{**asdict(node), "healthy": node.healthy} for node in found], indent=2))
    else:
        holder = lab.whose(loaded).holder
        say(f"Lab {loaded.cluster_name} of {holder.site or 'an unknown site file'}, state in {holder.state_dir}")
        out().print(_table(found))
    if not all(node.healthy for node in found):
        raise typer.Exit(4)


@app.command(
    "ssh",
    epilog="Example: hpcprov lab ssh node01 -- sinfo -N",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def ssh(
    node: Annotated[str, typer.Argument(help="Name of the host.")],
    command: Annotated[list[str] | None, typer.Argument(help="Command to run there; a shell without one.")] = None,
    site: SiteOption = None,
) -> None:
    """Open a shell on a node, or run a command there."""
    import os

    from hpcprov.lab import reach

    words = reach(_load(site), node, command or [])
    os.execvp(words[0], words)


@app.command("image", epilog="Example: hpcprov lab image trixie")
def image(
    release: Annotated[str, typer.Argument(help="bookworm or trixie.")] = "bookworm",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON: image and containers_conf.")] = False,
) -> None:
    """Build the node image unless it is there, and print its name."""
    import json

    from hpcprov.console import out, say, write_json
    from hpcprov.lab.host import look
    from hpcprov.lab.prepare import node_image

    podman, name = node_image(look(), {"release": release}, say, running=lambda _: True)
    if as_json:
        write_json(json.dumps({"image": name, "containers_conf": str(podman.conf)}))
    else:
        out().print(name, soft_wrap=True)


def _load(site: Path | None) -> Site:
    from hpcprov.paths import project_root
    from hpcprov.site import load_site

    return load_site(site or project_root() / "inventory" / "lab.yaml")


def _table(found: list[NodeStatus]) -> Table:
    from rich.table import Table

    table = Table("Node", "Address", "Container", "systemd", "SSH", box=None)
    for node in found:
        system = f"{node.system} ({', '.join(node.failed_units)})" if node.failed_units else node.system or "-"
        table.add_row(node.name, node.address, node.state.value, system, "answers" if node.ssh else "-")
    return table
