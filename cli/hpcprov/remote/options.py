"""How SSH reaches a host: the site's ssh arguments first, then the admin's ssh configuration, as `ssh` itself does."""

from __future__ import annotations

import getpass
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import paramiko

from hpcprov.site import Host

CONFIG_FILES = (Path("~/.ssh/config"), Path("/etc/ssh/ssh_config"))
USER_KNOWN_HOSTS = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
GLOBAL_KNOWN_HOSTS = ("/etc/ssh/ssh_known_hosts",)
# Short options of ssh that say the same as a configuration key.
_FLAGS = {"-i": "identityfile", "-J": "proxyjump", "-F": "configfile", "-p": "port", "-l": "user"}


@dataclass(frozen=True)
class Route:
    """Everything that a connection needs."""

    host: str
    address: str
    port: int
    user: str
    key: str | None
    known_hosts: list[Path]
    proxy_command: str | None

    @property
    def known_name(self) -> str:
        """The name of the host in known_hosts."""
        return self.address if self.port == 22 else f"[{self.address}]:{self.port}"


def route(host: Host) -> Route:
    """The way to a host of the site."""
    given = parse(host.ssh_args)
    config = _config(given, host.address)
    address = given.get("hostname") or config.get("hostname") or host.address
    port = host.port or int(given.get("port") or config.get("port") or 22)
    user = host.user or given.get("user") or config.get("user") or getpass.getuser()
    return Route(
        host=host.name,
        address=address,
        port=port,
        user=user,
        key=_key(host, given, config),
        known_hosts=_known_hosts(given, config),
        proxy_command=_proxy(given, config, address, port, user),
    )


def parse(arguments: str) -> dict[str, str]:
    """The options in a string of ssh arguments; keys in lower case, the first one of a kind wins, as in ssh."""
    options: dict[str, str] = {}
    words = iter(shlex.split(arguments))
    for word in words:
        for key, value in _option(word, words):
            options.setdefault(key.strip().lower(), value.strip())
    return options


def _option(word: str, rest: Iterator[str]) -> Iterator[tuple[str, str]]:
    flag, attached = word[:2], word[2:]
    if flag != "-o" and flag not in _FLAGS:
        return
    text = attached or next(rest, "")
    if flag in _FLAGS:
        yield _FLAGS[flag], text
        return
    key, separator, value = text.partition("=")
    if not separator:
        key, _, value = text.strip().partition(" ")
    yield key, value


def _config(given: dict[str, str], address: str) -> dict[str, str]:
    files = [Path(given["configfile"])] if "configfile" in given else list(CONFIG_FILES)
    merged: dict[str, str] = {}
    for file in (path.expanduser() for path in files):
        if not file.is_file():
            continue
        for key, value in paramiko.SSHConfig.from_path(str(file)).lookup(address).items():
            merged.setdefault(key, value[0] if isinstance(value, list) else value)
    return merged


def _key(host: Host, given: dict[str, str], config: dict[str, str]) -> str | None:
    chosen = host.ssh_key or given.get("identityfile") or config.get("identityfile")
    return str(Path(chosen).expanduser()) if chosen else None


def _known_hosts(given: dict[str, str], config: dict[str, str]) -> list[Path]:
    def files(key: str, default: tuple[str, ...]) -> list[str]:
        text = given.get(key) or config.get(key)
        return shlex.split(text) if text else list(default)

    names = files("userknownhostsfile", USER_KNOWN_HOSTS) + files("globalknownhostsfile", GLOBAL_KNOWN_HOSTS)
    return [Path(name).expanduser() for name in names if name != "none"]


def _proxy(given: dict[str, str], config: dict[str, str], address: str, port: int, user: str) -> str | None:
    """A jump host is reached by `ssh` itself, which checks its host key in the admin's known_hosts."""
    jump = given.get("proxyjump") or config.get("proxyjump")
    command = given.get("proxycommand") or config.get("proxycommand")
    if jump and jump != "none":
        first, _, rest = jump.rpartition(",")
        via = f"-J {shlex.quote(first)} " if first else ""
        return f"ssh -o BatchMode=yes -W {shlex.quote(f'{address}:{port}')} {via}{shlex.quote(rest)}"
    if command and command != "none":
        return command.replace("%h", address).replace("%p", str(port)).replace("%r", user)
    return None
