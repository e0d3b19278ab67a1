"""What a site's lab must be: its network and its containers, from the site file alone."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from hpcprov.errors import LabError, UsageError
from hpcprov.lab import cache, network, nodes, storage
from hpcprov.lab.host import HostFacts
from hpcprov.lab.keys import KeyStore
from hpcprov.lab.nodes import Node
from hpcprov.lab.owner import owner_of
from hpcprov.site import Host, Site

DEFAULT_RELEASE = "bookworm"
HOST_MOUNT = "/etc/hpcprov-lab/host"
SITE_MOUNT = "/etc/hpcprov-lab/site"


def is_lab(site: Site) -> bool:
    """Does the site file say that its hosts are containers of this machine?"""
    return "lab" in site.vars


def check(site: Site) -> None:
    """Raise LabError for a site that cannot be a lab."""
    if not is_lab(site):
        raise LabError(
            f"{site.path} describes real hosts, not a lab",
            hint="a site becomes a lab by the variable `lab:` in its file",
        )
    for member in site.cluster_hosts:
        if member.user not in (None, "root"):
            raise LabError(f"a lab node is reached as root, not as {member.user}", host=member.name)
        if member.node_name == cache.NAME:
            raise LabError("the name `cache` is taken by the lab's package cache", host=member.name)


def settings(site: Site) -> Mapping[str, Any]:
    """The `lab` variable."""
    value = site.vars.get("lab") or {}
    if not isinstance(value, Mapping):
        raise LabError("`lab` must be a mapping such as {release: bookworm}")
    return value


def kind(site: Site) -> str:
    """What the nodes are made of: the image that the site names, or a release."""
    chosen = settings(site)
    return str(chosen.get("image") or chosen.get("release") or DEFAULT_RELEASE)


def network_name(site: Site) -> str:
    """The lab's podman network."""
    return f"hpcprov-{site.cluster_name}"


def key_store(site: Site) -> KeyStore:
    """Where the lab's SSH keys are."""
    return KeyStore(site.state_dir / "ssh")


def network_plan(site: Site) -> network.Plan:
    """The addresses of the lab network. Raises LabError when they do not fit together."""
    addresses = {member.name: member.address for member in site.cluster_hosts}
    return network.plan(network_name(site), site.cluster_network, addresses)


def plan_nodes(site: Site, facts: HostFacts, node_image: str = "") -> list[Node]:
    """How each host's container must be. The image counts only for a container that is made now."""
    kernel_nfs = storage.uses_kernel_nfs(site, facts)
    return [_node(site, member, node_image, kernel_nfs=kernel_nfs) for member in site.cluster_hosts]


def _node(site: Site, member: Host, node_image: str, *, kernel_nfs: bool) -> Node:
    volumes = [(m.volume, m.path, "rw") for m in storage.mounts_of(site, member, kernel_nfs=kernel_nfs)]
    mounts = (
        nodes.directory_mount(key_store(site).host_folder(member), HOST_MOUNT),
        nodes.directory_mount(site.state_dir / "lab", SITE_MOUNT),
        *volumes,
    )
    return Node(
        name=member.name, node_name=member.node_name, cluster=site.cluster_name,
        kind=kind(site), image=node_image, network=network_name(site),
        address=member.address, mounts=mounts, owner=owner_of(site),
    )  # fmt: skip


def find_host(site: Site, node: str) -> Host:
    """A host by its inventory name or its node name. Raises UsageError that lists them."""
    for member in site.cluster_hosts:
        if node in (member.name, member.node_name):
            return member
    raise UsageError(f"there is no node {node}", hint=f"nodes: {', '.join(m.name for m in site.cluster_hosts)}")


def ssh_command(site: Site, node: str, command: Sequence[str] = ()) -> list[str]:
    """The ssh command line that reaches a node with the lab's own keys."""
    check(site)
    member = find_host(site, node)
    store = key_store(site)
    return [
        "ssh", "-i", str(store.client_key), "-o", f"UserKnownHostsFile={store.known_hosts}",
        "-o", "StrictHostKeyChecking=yes", "-o", "IdentitiesOnly=yes", f"root@{member.address}",
        *_remote_words(command),
    ]  # fmt: skip


def _remote_words(command: Sequence[str]) -> list[str]:
    """Keep `bash -lc 'module avail'` three words: ssh joins them with spaces for the shell of the node.

    One word alone is a command line, and words without spaces may hold patterns for the node's shell.
    """
    if len(command) < 2:
        return list(command)
    return [shlex.quote(word) if not word or any(c.isspace() for c in word) else word for word in command]
