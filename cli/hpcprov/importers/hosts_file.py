"""/etc/hosts: names and addresses."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path

from hpcprov.importers.draft import Draft, HostDraft, Value
from hpcprov.importers.format import Format
from hpcprov.site.findings import Place
from hpcprov.site.model import is_address, short_name

# Names of a host's management controller: the host's own with one of these.
_OTHER_NETWORK = re.compile(r"^(?P<host>.+?)[-.](?:ib|ipoib|hsn|opa|roce|data|eth|en|bond)\d*$")
_BMC = re.compile(
    r"^(?P<host>.+?)[-.]?(?P<what>bmc|ipmi|ilo|idrac|drac|imm|rsc|oob)$|^(?:bmc|ipmi|ilo|idrac)-(?P<after>.+)$"
)


def recognises(path: Path, text: str) -> bool:
    """Every line that says something begins with an address and goes on with a name."""
    lines = [line.split("#", 1)[0].split() for line in text.splitlines()]
    said = [words for words in lines if words]
    return bool(said) and all(len(words) > 1 and is_address(words[0].split("%")[0]) for words in said)


def read_into(draft: Draft, path: Path, text: str) -> None:
    """A name is the host's; the others on its line are further names of it. Each line leaves a note."""
    waiting: list[tuple[Place, str, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#", 1)[0].split()
        place = Place(path, number, 1)
        if not words:
            continue
        address, names = words[0], words[1:]
        if not names or not is_address(address.split("%")[0]):
            draft.notes.left(place, address, None, "is no address with a name")
        elif _is_every_machines(address):
            what = "hpcprov writes the lines of a machine itself"
            if any("localhost" not in name and not name.startswith(("ip6-", "broadcasthost")) for name in names):
                what = "dropped: the name of a host must be its address in the cluster, and not this machine"
            draft.notes.changed(place, address, " ".join(names), what)
        elif _bmc_of(names) or _OTHER_NETWORK.match(short_name(names[0]).lower()):
            waiting.append((place, address, names))
        else:
            _host(draft, place, address, names)
    # Their hosts may stand below them.
    for place, address, names in waiting:
        _second_address(draft, place, address, names)


def _second_address(draft: Draft, place: Place, address: str, names: list[str]) -> None:
    """An address of a host that is not the one in the cluster network."""
    match = _OTHER_NETWORK.match(short_name(names[0]).lower())
    owner = draft.hosts.get(match.group("host") if match else _bmc_of(names))
    if owner is None:
        _host(draft, place, address, names)
    elif match:
        result = f"a further network of {owner.name}; the hosts file has one address for each host"
        draft.notes.left(place, names[0], address, result)
    else:
        draft.set_host(owner, "bmc_address", address, place, names[0])
        owner.variables.setdefault("bmc_name", Value(names[0], place))


def _is_every_machines(address: str) -> bool:
    one = ipaddress.ip_address(address.split("%", maxsplit=1)[0])
    return (
        one.is_loopback or one.is_multicast or one.is_unspecified or one.is_link_local or address == "255.255.255.255"
    )


def _bmc_of(names: list[str]) -> str:
    match = _BMC.match(short_name(names[0]).lower())
    return (match.group("host") or match.group("after")) if match else ""


def _host(draft: Draft, place: Place, address: str, names: list[str]) -> None:
    host = _known(draft, names) or draft.host(names[0], place, defined=False)
    for name in names:
        if "." in name and short_name(name).lower() == host.name.lower():
            draft.host(name, place, defined=False)
        elif name.lower() != host.name.lower():
            host.aliases[name] = None
    draft.set_host(host, "cluster_address", address, place, names[0])


def _known(draft: Draft, names: list[str]) -> HostDraft | None:
    return next((host for name in names if (host := draft.hosts.get(short_name(name).lower()))), None)


FORMAT = Format("hosts", recognises, read_into, defines=False)
