"""The text of a new site file for discovered hosts, with comments that tell what was guessed and why."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hpcprov.discovery.cluster_network import NetworkGuess, guess_network
from hpcprov.discovery.connect import Target
from hpcprov.discovery.facts import HostFacts
from hpcprov.discovery.reach import Access
from hpcprov.discovery.roles import Guess, guess_roles
from hpcprov.discovery.variables import gres, host_variables, remarks, same_gres
from hpcprov.site.flow import flow
from hpcprov.site.rules.storage import path_problem

_WIDTH = 110


@dataclass(frozen=True)
class Found:
    """A host with its name in the site."""

    name: str
    target: Target
    facts: HostFacts


def new_site(hosts: list[Found], access: Access, cluster_name: str) -> str:
    """A complete site file. Hosts are in the order in which they were named; there must be one at least."""
    by_name = {host.name: host for host in hosts}
    facts = {host.name: host.facts for host in hosts}
    network = guess_network(facts, {host.name: host.target.route.address for host in hosts})
    guess = guess_roles(facts)
    lines = [
        "# yaml-language-server: $schema=site.schema.json",
        f"# Made by hpcprov discover on {datetime.now(UTC):%Y-%m-%d}. What was guessed says so; change what is wrong,",
        "# then: hpcprov validate, hpcprov preflight, hpcprov deploy.",
        "# Hardware is not written here: each node says itself what it has.",
        *_all(hosts, network, access, cluster_name, guess),
        *_groups(guess, by_name, network),
    ]
    return "".join(f"{line}\n" for line in lines)


def default_cluster_name(path: Path) -> str:
    """The file's own name where it says something, else `cluster`."""
    stem = re.sub(r"[^a-z0-9_-]+", "-", path.stem.lower()).strip("-_")
    return stem if re.match(r"[a-z]", stem) and stem not in ("site", "inventory", "hosts") else "cluster"


def _all(
    hosts: list[Found], network: NetworkGuess, access: Access, cluster_name: str, guess: Guess
) -> Iterator[str]:  # fmt: skip
    yield "all:"
    yield "  vars:"
    yield "    # Do not change the name after the first deploy: slurmctld refuses its old state then."
    yield f"    cluster_name: {flow(cluster_name)}"
    if network.network is not None:
        yield f"    # Guessed: {network.reason}."
        if network.others:
            yield f"    # The hosts share these, too: {', '.join(network.others)}."
        yield f"    cluster_network: {network.network}"
    else:
        yield "    # Fill in the network between the hosts; they told no address of their own:"
        yield "    # cluster_network: 10.1.0.0/16"
    if domain := _domain(hosts):
        yield f"    cluster_domain: {flow(domain)}"
    yield from (f"    {name}: {flow(value)}" for name, value in _ssh(hosts, access).items())
    yield ""
    yield "    # Shared directories: the storage host exports them, all others mount them."
    path = _export(hosts, guess)
    yield f"    nfs_exports: [{{ path: {flow(path)} }}]"
    yield f"    nfs_mounts: [{{ path: {flow(path)} }}]"
    yield "    # Ordinary users, the same ids everywhere; leave it out where a directory service has them."
    yield "    # cluster_users:"
    yield "    #   - { name: alice, uid: 5001 }"


def _domain(hosts: list[Found]) -> str | None:
    """The domain that all hosts have which have one."""
    domains = set()
    for host in hosts:
        for full in (host.facts.hostname, host.target.name):
            domain = full.partition(".")[2].lower()
            if domain and not domain.replace(".", "").isdecimal() and domain != "localdomain":
                domains.add(domain)
    return domains.pop() if len(domains) == 1 else None


def _ssh(hosts: list[Found], access: Access) -> dict[str, Any]:
    """How Ansible and hpcprov reach all hosts, as discover did."""
    users = {host.target.route.user for host in hosts}
    ports = {host.target.route.port for host in hosts}
    variables: dict[str, Any] = {}
    if len(users) == 1:
        user = users.pop()
        variables["ansible_user"] = user
        if user != "root":
            variables["ansible_become"] = True
    if len(ports) == 1 and (port := ports.pop()) != 22:
        variables["ansible_port"] = port
    if access.key is not None:
        variables["ansible_ssh_private_key_file"] = _written(access.key)
    options = []
    if access.jump:
        options.append(f"-J {access.jump}")
    if access.known_hosts is not None:
        options.append(
            f"-o UserKnownHostsFile={shlex.quote(_written(access.known_hosts))} -o StrictHostKeyChecking=yes"
        )
    if options:
        variables["ansible_ssh_common_args"] = " ".join(options)
    return variables


def _written(path: Path) -> str:
    """A path that means the same wherever a command is started."""
    return str(path) if str(path).startswith("~") else str(path.absolute())


def _export(hosts: list[Found], guess: Guess) -> str:
    """Where the storage host's large disk is mounted, if it is."""
    for host in hosts:
        if host.name == guess.roles["storage"][0]:
            disks = sorted((disk for disk in host.facts.disks if not disk.system), key=lambda disk: -disk.bytes)
            mounts = [mount for disk in disks for mount in disk.mounts]
            return next((mount for mount in mounts if mount[0] == "/" and not path_problem(mount, set())), "/shared")
    return "/shared"


def _groups(guess: Guess, hosts: Mapping[str, Found], network: NetworkGuess) -> Iterator[str]:
    told: set[str] = set()
    for role, members in guess.roles.items():
        yield ""
        yield f"# Guessed: {guess.reasons[role]}."
        yield f"{role}:"
        if role != "compute" or not guess.kinds:
            yield "  hosts:"
            yield from _members([hosts[name] for name in members], network, told, 4)
            if role == "compute":
                yield from _shared([hosts[name] for name in members], 2)
            continue
        yield "  # Without slurm_partitions each of these is a partition."
        yield "  children:"
        for kind, inside in guess.kinds.items():
            yield f"    {kind}:"
            yield "      hosts:"
            yield from _members([hosts[name] for name in inside], network, told, 8)
            yield from _shared([hosts[name] for name in inside], 6)


def _shared(hosts: list[Found], indent: int) -> Iterator[str]:
    """GPUs that all hosts of a group have."""
    pad = " " * indent
    if common := same_gres({host.name: host.facts for host in hosts}):
        yield f"{pad}vars:"
        yield f"{pad}  # As nvidia-smi says on each of them; a deploy checks it."
        yield f"{pad}  slurm_gres: {flow(common)}"


def _members(hosts: list[Found], network: NetworkGuess, told: set[str], indent: int) -> Iterator[str]:
    pad = " " * indent
    common = same_gres({host.name: host.facts for host in hosts})
    said = ""
    for host in hosts:
        if host.name in told:
            yield f"{pad}{flow(host.name)}:"
            continue
        told.add(host.name)
        variables = host_variables(host.name, host.target, host.facts, network.network)
        if not common and (own := gres(host.facts)):
            variables["slurm_gres"] = own
        # Alike hosts are described once.
        if (words := describe(host.facts)) != said:
            yield f"{pad}# {words}"
        said = words
        yield from (f"{pad}# {remark}" for remark in remarks(host.facts))
        line = f"{pad}{flow(host.name)}: {flow(variables)}"
        if len(line) <= _WIDTH:
            yield line
        else:
            yield f"{pad}{flow(host.name)}:"
            yield from (f"{pad}  {name}: {flow(value)}" for name, value in variables.items())


def describe(facts: HostFacts) -> str:
    """One line for a person: system, CPUs, memory, disks, GPUs, fast networks."""
    cpu = facts.cpu
    parts = [facts.os or "unknown system"]
    shape = f" ({cpu.sockets} x {cpu.cores} x {cpu.threads})" if cpu.sockets and cpu.cores and cpu.threads else ""
    if cpu.cpus:
        parts.append(f"{cpu.cpus} CPUs{shape}")
    if facts.memory_mib:
        parts.append(f"{facts.memory_mib / 1024:.0f} GiB")
    if total := sum(disk.bytes for disk in facts.disks):
        parts.append(f"{_size(total)} of disks")
    if facts.gpus:
        names = sorted({gpu.model or f"{gpu.vendor} GPU" for gpu in facts.gpus})
        parts.append(f"{len(facts.gpus)} x {'/'.join(names)}")
    parts += sorted({_fabric(one.kind, one.rate) for one in facts.fabric})
    # What a host says must move no cursor, and a comment holds no control characters.
    return "".join(char for char in ", ".join(parts) if char.isprintable())


def _fabric(kind: str, rate: float | None) -> str:
    names = {"infiniband": "InfiniBand", "omni-path": "Omni-Path", "roce": "RDMA Ethernet"}
    return names[kind] + (f" {rate:g} Gbit/s" if rate else "")


def _size(size: int) -> str:
    return f"{size / 10**12:.1f} TB" if size >= 10**12 else f"{size / 10**9:.0f} GB"
