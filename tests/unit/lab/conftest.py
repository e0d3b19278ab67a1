"""A host as the lab sees it, to be changed field by field, and sites written to a temporary directory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hpcprov.lab.host import CgroupLayout, HostFacts
from hpcprov.site import Site, load_site

TOOLS = ("podman", "runc", "crun", "mmdebstrap", "ssh", "ssh-keygen", "iptables", "nft", "ip", "modprobe", "apt-config")
GOOD_HOST = HostFacts(
    root=True,
    tools={tool: f"/usr/bin/{tool}" for tool in TOOLS},
    cgroups=CgroupLayout.V2,
    systemd=True,
    cap_sys_resource=True,
    limit_nofile=1048576,
    limit_nproc=127000,
    pid_max=4194304,
    disk_free=100 << 30,
    memory_available=16 << 30,
    filesystems=frozenset({"overlay", "ext4"}),
    modules=frozenset(),
    loopback_resolver=False,
    podman_version=(5, 4),
    keyrings=("/usr/share/keyrings/debian-archive-keyring.gpg",),
)
SITE = """
all:
  vars:
    cluster_name: tiny
    cluster_network: 10.1.2.0/24
    lab: {release: bookworm}
    NFS
controller: {hosts: {head: {ansible_host: 10.1.2.11}}}
database: {hosts: {head: }}
storage: {hosts: {store: {ansible_host: 10.1.2.12}}}
compute: {hosts: {node01: {ansible_host: 10.1.2.21}}}
"""


@pytest.fixture
def facts() -> Callable[..., HostFacts]:
    """A host that can run the lab, with some facts changed; `without` takes tools away."""

    def build(without: tuple[str, ...] = (), **changes: Any) -> HostFacts:
        tools = {name: path for name, path in GOOD_HOST.tools.items() if name not in without}
        return replace(GOOD_HOST, **{"tools": tools, **changes})

    return build


@pytest.fixture
def site(tmp_path: Path) -> Callable[..., Site]:
    """A small lab site with these NFS variables."""

    def build(nfs: str = "nfs_exports: [{path: /shared}]") -> Site:
        path = tmp_path / "inventory" / "tiny.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(SITE.replace("NFS", nfs))
        return load_site(path)

    return build
