"""`hpcprov init`."""

from __future__ import annotations

import ipaddress
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hpcprov.site.starter import Start

_HOSTS_HELP = "NAME, or NAME=ADDRESS where its name does not resolve."


def init(  # noqa: PLR0917 (options of the command line)
    path: Annotated[
        Path | None,
        typer.Argument(
            help="The file to write.", show_default="inventory/site.yaml if there is inventory/, else site.yaml"
        ),
    ] = None,
    nodes: Annotated[
        list[str] | None, typer.Option("--nodes", help="Compute nodes: node[001-064], or node[001-064]=FIRST_ADDRESS.")
    ] = None,
    controller: Annotated[str | None, typer.Option("--controller", help=_HOSTS_HELP)] = None,
    login: Annotated[list[str] | None, typer.Option("--login", help="Login hosts; default the controller.")] = None,
    storage: Annotated[str | None, typer.Option("--storage", help="Storage host; default the controller.")] = None,
    network: Annotated[
        str | None, typer.Option("--cluster-network", help="Network between the hosts.", show_default="from addresses")
    ] = None,
    user: Annotated[
        str | None, typer.Option("--user", help="Who logs in on the hosts.", show_default="who runs this")
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the cluster.", show_default="from the folder")
    ] = None,
) -> None:
    """Write a commented site file to start from. What can be found out is not asked.

    Exit code 0 when the file is complete, 3 when it has something to fill in.
    """
    from hpcprov.console import say
    from hpcprov.errors import SiteError, UsageError
    from hpcprov.site.load import check_site
    from hpcprov.site.report import render
    from hpcprov.site.starter import starter

    file = path or (Path("inventory/site.yaml") if Path("inventory").is_dir() else Path("site.yaml"))
    if file.suffix not in (".yaml", ".yml"):
        raise UsageError(f"{file} must end in .yaml", hint="Ansible reads YAML only from such names")
    if file.exists() or file.is_symlink():
        raise UsageError(f"{file} exists", hint="name another file, or change it: hpcprov inventory --help")
    if sys.stdin.isatty():
        controller, nodes = _asked(controller, nodes)
    start = _start(file, (controller, nodes, login, storage), (network, user, name))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as stream:
            stream.write(starter(start))
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}") from error
    report = check_site(file)
    say(f"{file}: cluster {start.name}, {len(start.nodes)} compute nodes")
    if report.findings:
        say("To be filled in:")
        say(render(report.findings))
    say(f"Next: {'fill that in, ' if report.site is None else ''}hpcprov validate {file}, hpcprov deploy {file}")
    if report.site is None:
        raise typer.Exit(SiteError.exit_code)


def _asked(controller: str | None, nodes: list[str] | None) -> tuple[str, list[str]]:
    """The two things that nobody else knows."""
    import socket

    if controller is None:
        here = socket.gethostname().split(".")[0]
        controller = str(typer.prompt("Controller (NAME or NAME=ADDRESS)", default=here, err=True))
    if not nodes:
        nodes = [str(typer.prompt("Compute nodes, such as node[001-064] or node[001-064]=10.1.1.1", err=True))]
    return controller, nodes


def _start(
    file: Path,
    hosts: tuple[str | None, list[str] | None, list[str] | None, str | None],
    said: tuple[str | None, str | None, str | None],
) -> Start:
    from hpcprov.site.starter import Start
    from hpcprov.site.surroundings import look, network_of

    controller, nodes, login, storage = hosts
    network, user, name = said
    given: dict[str, str] = {}
    heads = _named([controller] if controller else ["<controller>"], given)
    workers = _named(nodes or ["<node>"], given)
    logins = _named(login, given) if login else heads
    stores = _named([storage], given) if storage else heads
    everyone = list(dict.fromkeys([*heads, *logins, *stores, *workers]))
    here = look([host for host in everyone if host not in given and "<" not in host])
    addresses = {**here.addresses, **given}
    return Start(
        name=name or _name_of(file),
        controller=heads[0],
        nodes=workers,
        login=logins,
        storage=stores,
        addresses=addresses,
        network=network or network_of(addresses.values(), here.interfaces),
        network_is_guess=network is None,
        user=user or here.user,
        domain=here.domain,
        key=here.key,
    )


def _named(texts: Sequence[str], given: dict[str, str]) -> list[str]:
    """Hosts of `NAME[=ADDRESS]`; addresses go to `given`, counted up for a hostlist. Raises UsageError."""
    from hpcprov.errors import UsageError
    from hpcprov.site.ranges import RangeError, named
    from hpcprov.slurm.hostlist import HostlistError

    hosts: list[str] = []
    for text in texts:
        name, equals, address = text.partition("=")
        try:
            found = named([name])
            if equals:
                first = ipaddress.ip_address(address)
                given.update((host, str(first + number)) for number, host in enumerate(found))
        except (RangeError, HostlistError) as error:
            raise UsageError(str(error), hint="write hosts as node[001-004],node007") from error
        except ValueError:
            raise UsageError(f'"{address}" is no IP address', hint=f"for example {name}=10.1.1.1") from None
        hosts += found
    return hosts


def _name_of(file: Path) -> str:
    """The name of the folder, as far as it can be the name of a cluster."""
    folder = file.resolve().parent
    folder = folder.parent if folder.name == "inventory" else folder
    plain = re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-")
    return plain[:40].strip("-") if re.match(r"[a-z]", plain) else "cluster"
