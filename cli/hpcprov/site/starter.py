"""The first site file of a cluster: commented, with what is known filled in and placeholders for the rest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hpcprov.site.flow import flow
from hpcprov.site.ranges import patterns

_NO_NETWORK = "<network between the hosts, such as 10.1.0.0/16>"


@dataclass(frozen=True)
class Start:
    """What a new site is made of. `addresses` may lack hosts; their places become placeholders."""

    name: str
    controller: str
    nodes: Sequence[str]
    login: Sequence[str]
    storage: Sequence[str]
    addresses: Mapping[str, str]
    network: str | None
    user: str
    network_is_guess: bool = False
    domain: str | None = None
    key: str | None = None


def starter(start: Start) -> str:
    """The text of the site file."""
    return "".join(f"{line}\n" for line in [*_head(start), *_groups(start)])


def _head(start: Start) -> Iterator[str]:
    yield "# A cluster. It is a plain Ansible inventory; hardware is not typed here, each node says what it has."
    yield "#   hpcprov validate    check this file"
    yield "#   hpcprov deploy      make it so"
    yield "all:"
    yield "  vars:"
    yield "    # Name of the cluster, for Slurm and its accounting. Do not change it later."
    yield f"    cluster_name: {flow(start.name)}"
    yield "    # The network between the hosts. NFS is limited to it, MPI and the training job use its interface."
    if start.network and start.network_is_guess:
        yield "    # Guessed from the addresses: check it."
    yield f"    cluster_network: {_value(start.network or _NO_NETWORK)}"
    if start.domain:
        yield "    # Domain of the hosts' full names."
        yield f"    cluster_domain: {flow(start.domain)}"
    else:
        yield "    # cluster_domain: cluster.internal"
    yield ""
    yield "    # How this machine reaches the hosts: as root, or as a user who may become root."
    yield f"    ansible_user: {flow(start.user)}"
    if start.user != "root":
        yield "    ansible_become: true"
    comment = "" if start.key else "# "
    yield f"    {comment}ansible_ssh_private_key_file: {start.key or '~/.ssh/id_ed25519'}"
    yield ""
    yield "    # Ordinary users, with the same ids on every host. Leave it out where a directory service has them."
    yield "    # cluster_users:"
    yield "    #   - { name: alice, uid: 5001 }"
    yield ""
    yield "    # Partitions; without this list all nodes are one. Any further key is Slurm's own."
    yield "    # slurm_partitions:"
    yield '    #   - { name: main, nodes: compute, default: true, max_time: "1-00:00:00" }'
    yield "    # Any key of slurm.conf:"
    yield "    # slurm_config: { MaxJobCount: 50000 }"
    yield ""
    yield "    # The storage host exports these paths to cluster_network, all other hosts mount them."
    yield "    # A path from elsewhere names its server: { path: /home, server: nas.example.org }"
    yield "    nfs_exports:"
    yield "      - { path: /shared }"
    yield "    nfs_mounts:"
    yield "      - { path: /shared }"


def _groups(start: Start) -> Iterator[str]:
    told: set[str] = set()
    roles = {
        "controller": ("slurmctld.", [start.controller]),
        "database": ("MariaDB and slurmdbd, for the accounting.", [start.controller]),
        "login": ("Where users work.", start.login),
        "storage": ("Shares the directories above.", start.storage),
    }
    yield ""
    yield "# What a host is for. A host may be in several groups; its variables are written once."
    for role, (about, hosts) in roles.items():
        yield f"# {about}"
        yield f"{role}:"
        yield "  hosts:"
        for host in hosts:
            yield from _host(host, start, told)
    yield "# Where jobs run."
    yield "compute:"
    yield "  hosts:"
    yield from _nodes([node for node in start.nodes if node not in told], start)
    for node in start.nodes:
        if node in told:
            yield f"    {flow(node)}:"


def _host(name: str, start: Start, told: set[str]) -> Iterator[str]:
    if name in told:
        yield f"    {flow(name)}:"
        return
    told.add(name)
    address = start.addresses.get(name) or _unknown(name)
    yield f"    {flow(name)}: {{ ansible_host: {_value(address)} }}"


def _nodes(nodes: Sequence[str], start: Start) -> Iterator[str]:
    """A range where the numbers of the nodes are the ends of their addresses, else one line for each node."""
    known = [node for node in nodes if node in start.addresses]
    template = _template(known, start.addresses)
    if template is not None:
        for pattern in patterns(known):
            yield f"    {flow(pattern)}: {{ ansible_host: {_value(template)} }}"
    else:
        for node in known:
            yield f"    {flow(node)}: {{ ansible_host: {_value(start.addresses[node])} }}"
    for pattern in patterns(node for node in nodes if node not in start.addresses):
        if ":" in pattern:
            yield "    # As 10.1.1.{{ inventory_hostname[-3:] | int }} where numbers fit, else one line for each node."
        yield f"    {flow(pattern)}: {{ ansible_host: {_value(_unknown(pattern))} }}"


def _unknown(name: str) -> str:
    """A placeholder for the address of a host, of a range, or of a host that is a placeholder itself."""
    if "<" in name:
        return "<address>"
    return f"<address of {'each node' if ':' in name else name}>"


def _template(nodes: Sequence[str], addresses: Mapping[str, str]) -> str | None:
    """The address as an expression of the node's number, if one fits all nodes."""
    matches = [re.fullmatch(r".*?(\d{1,3})", node) for node in nodes]
    parts = [re.fullmatch(r"(\d+\.\d+\.\d+\.)(\d+)", addresses[node]) for node in nodes]
    if len(nodes) < 2 or None in matches or None in parts:
        return None
    numbers = [match.group(1) for match in matches if match]
    heads = {part.group(1) for part in parts if part}
    offsets = {int(part.group(2)) - int(number) for part, number in zip(parts, numbers, strict=True) if part}
    widths = {len(number) for number in numbers}
    if len(heads) != 1 or len(offsets) != 1 or len(widths) != 1:
        return None
    [head], [offset], [width] = heads, offsets, widths
    shift = f" + {offset}" if offset > 0 else f" - {-offset}" if offset else ""
    number = f"inventory_hostname[-{width}:] | int"
    return f"{head}{{{{ ({number}){shift} }}}}" if shift else f"{head}{{{{ {number} }}}}"


def _value(text: str) -> str:
    """Between braces, quoted as people do."""
    return f'"{text}"' if re.search(r"[{}<>,\[\]#]|: ", text) or ":" in text else text
