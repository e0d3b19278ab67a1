"""A part of ~/.ssh/config: ssh NAME reaches the host the way hpcprov does."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from hpcprov.site.model import Host
from hpcprov.site.rules import Draft

# Options of ssh by their letters, and what a configuration file calls them.
_LETTERS = {"-J": "ProxyJump", "-i": "IdentityFile", "-F": "Include", "-l": "User", "-p": "Port"}


def ssh_config(draft: Draft) -> str:
    """One block for each host, with its short and full name, address, user, port, key and options."""
    blocks = ["\n".join(_block(host, draft.site.cluster_domain)) for host in draft.site.hosts.values()]
    return f"# Hosts of cluster {draft.site.cluster_name}\n" + "\n\n".join(blocks) + "\n"


def _block(host: Host, domain: str) -> Iterator[str]:
    full = host.name if "." in host.name else f"{host.name}.{domain}"
    yield f"Host {' '.join(dict.fromkeys([host.node_name, full]))}"
    yield f"    HostName {host.address}"
    if host.user:
        yield f"    User {host.user}"
    if host.port:
        yield f"    Port {host.port}"
    if host.ssh_key:
        yield f"    IdentityFile {_quoted(host.ssh_key)}"
    yield from (f"    {option} {value}" for option, value in _options(host.ssh_args))


def _options(arguments: str) -> Iterator[tuple[str, str]]:
    words = shlex.split(arguments)
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word == "-o":
            yield _option(following)
        elif word.startswith("-o") and len(word) > 2:
            yield _option(word[2:])
        elif word in _LETTERS and following:
            yield _LETTERS[word], _quoted(following)


def _option(text: str) -> tuple[str, str]:
    name, _, value = text.replace("=", " ", 1).partition(" ")
    return name, _quoted(value.strip())


def _quoted(value: str) -> str:
    return f'"{value}"' if " " in value and not value.startswith('"') else value
