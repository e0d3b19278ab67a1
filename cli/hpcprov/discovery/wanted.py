"""Which hosts the command line means: names, ranges in Slurm's and Ansible's notation, networks, files."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hpcprov.errors import UsageError
from hpcprov.site import ranges
from hpcprov.site.model import is_address
from hpcprov.slurm import hostlist

MOST_HOSTS = 4096
_NAME = re.compile(r"^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?$")


@dataclass(frozen=True)
class Wanted:
    """One host. `is_named` is false for an address of a network, where nobody need be."""

    name: str
    user: str | None = None
    port: int | None = None
    is_named: bool = True


def wanted_hosts(arguments: Iterable[str]) -> list[Wanted]:
    """Each host once, in the order of the arguments. Raises UsageError.

    An argument is `node01`, `admin@node01:2222`, `node[001-064,070]`, `node[001:064]`, `10.0.0.0/24`,
    `10.0.0.[1-9]`, or a file with such words, one or more in a line.
    """
    found: dict[str, Wanted] = {}
    for argument in arguments:
        for host in _of(argument):
            if host.name not in found or host.is_named:
                found[host.name] = host
            if len(found) > MOST_HOSTS:
                raise UsageError(f'"{argument}": more than {MOST_HOSTS} hosts', hint="name smaller networks or ranges")
    return list(found.values())


def _of(argument: str) -> Iterator[Wanted]:
    path = Path(argument)
    if argument.startswith("@") or ("/" in argument and not _is_network(argument)) or path.is_file():
        yield from _from_file(Path(argument.removeprefix("@")))
        return
    try:
        parts = hostlist.split(argument)
    except hostlist.HostlistError as error:
        raise UsageError(str(error)) from error
    for part in parts:
        yield from _from_word(part)


def _from_file(path: Path) -> Iterator[Wanted]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is no text"
        raise UsageError(f"{path} cannot be read: {why}", hint="a file of hosts has names, one in a line") from error
    for number, line in enumerate(lines, 1):
        for word in line.split("#", 1)[0].replace(",", ", ").split():
            try:
                yield from (host for part in hostlist.split(word.strip(",")) for host in _from_word(part))
            except (UsageError, hostlist.HostlistError) as error:
                raise UsageError(f"{path}:{number}: {error}", hint=getattr(error, "hint", None)) from error


def _from_word(word: str) -> Iterator[Wanted]:
    if _is_network(word):
        yield from _from_network(word)
        return
    user, _, rest = word.rpartition("@")
    if is_address(rest):
        yield Wanted(rest, user or None)
        return
    for name, port in _expanded(rest):
        if not _NAME.match(name) and not is_address(name):
            raise UsageError(f'"{name}" is no host name', hint="a name has letters, digits, dots and hyphens")
        yield Wanted(name, user or None, port)


def _from_network(word: str) -> Iterator[Wanted]:
    try:
        network = ipaddress.ip_network(word, strict=False)
    except ValueError as error:
        raise UsageError(f'"{word}" is no network', hint="for example 10.0.0.0/24") from error
    if network.num_addresses > MOST_HOSTS:
        raise UsageError(
            f'"{word}" has {network.num_addresses} addresses, more than {MOST_HOSTS}', hint="name smaller networks"
        )
    alone = network.num_addresses == 1
    yield from (Wanted(str(address), is_named=alone) for address in network.hosts())


def _expanded(word: str) -> Iterator[tuple[str, int | None]]:
    """Names and port of a word that may have ranges, in either notation."""
    name, port = word, None
    if match := re.fullmatch(r"(.*[^:\]]|.*\]):(\d+)", word):
        name, port = match.group(1), int(match.group(2))
        if not 0 < port < 65536:
            raise UsageError(f'"{word}": {port} is no port')
    try:
        if "[" not in name and "]" not in name:
            yield name, port
        elif re.search(r"\[[^\]]*:", name):
            yield from ((host, port) for host in ranges.expand(name)[0])
        else:
            yield from ((host, port) for host in _slurm(name))
    except ranges.RangeError as error:
        raise UsageError(str(error), hint=error.hint) from error
    except hostlist.HostlistError as error:
        raise UsageError(str(error), hint="write a range as node[001-064]") from error


def _slurm(name: str) -> Iterator[str]:
    """As Slurm, and with text behind the last range, such as a domain."""
    head, bracket, tail = name.rpartition("]")
    for host in hostlist.expand(head + bracket):
        yield host + tail


def _is_network(word: str) -> bool:
    head, slash, length = word.partition("/")
    return bool(slash) and length.isdecimal() and (is_address(head) or head.replace(".", "").isdecimal())
