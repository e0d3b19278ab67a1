"""The hosts file of a cluster: every host of the site, on every host the same."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

# Kept from Debian's own file. No host's own name stands here: it must resolve to its cluster address.
_LOOPBACK = """\
127.0.0.1 localhost
::1 localhost ip6-localhost ip6-loopback
ff02::1 ip6-allnodes
ff02::2 ip6-allrouters
"""


@dataclass(frozen=True)
class HostEntry:
    """A host by its inventory name. `aliases` are further names of it."""

    name: str
    address: str
    aliases: Sequence[str] = ()

    def names(self, domain: str) -> list[str]:
        """Bare name, full name, aliases; each once."""
        short = self.name.split(".", 1)[0]
        full = self.name if "." in self.name else f"{short}.{domain}"
        return list(dict.fromkeys([short, full, *self.aliases]))


def hosts_file(entries: Iterable[HostEntry], domain: str) -> str:
    """The text of the file, the same for any order of `entries`.

    Raises ValueError when an address is none, is a loopback, or when two hosts share a name.
    """
    owners: dict[str, str] = {}
    lines = []
    for entry in sorted(entries, key=lambda entry: entry.name):
        address = _usable(entry)
        names = entry.names(domain)
        for name in names:
            if owners.setdefault(name, entry.name) != entry.name:
                raise ValueError(f"{owners[name]} and {entry.name} are both called {name}")
        lines.append((address, " ".join([str(address), *names])))
    lines.sort(key=lambda line: (line[0].version, int(line[0])))
    return _LOOPBACK + "\n" + "".join(f"{line}\n" for _, line in lines)


def _usable(entry: HostEntry) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        address = ipaddress.ip_address(entry.address)
    except ValueError:
        raise ValueError(f"{entry.name}: {entry.address!r} is no address; give it a cluster_address") from None
    if address.is_loopback:
        raise ValueError(f"{entry.name}: {address} is this machine's own loopback, for every other host too")
    return address
