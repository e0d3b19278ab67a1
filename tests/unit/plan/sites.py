"""A site of three nodes, and what its controller says, to be changed by a test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hpcprov.plan.compare import Plan, Run, compare
from hpcprov.plan.description import Description, describe
from hpcprov.plan.live import Live, parse
from hpcprov.plan.parts import PARTS
from hpcprov.site import Site, load_site

SITE = """\
all:
  vars:
    cluster_name: tiny
    cluster_network: 10.0.0.0/24
    ansible_user: root
    slurm_partitions:
      - {name: main, nodes: "n[1-2]", default: true, max_time: "1-00:00:00"}
      - {name: big, nodes: "n3"}
    slurm_config: {SlurmctldDebug: info}
    cluster_users:
      - {name: alice, uid: 5001}
    packages_extra: [htop]
    nfs_backend: kernel
    nfs_exports: [{path: /shared}]
    nfs_mounts: [{path: /shared}]
controller: {hosts: {head: {ansible_host: 10.0.0.1}}}
database:
  hosts: {head: }
  vars:
    slurm_accounts: [{name: physics, users: [alice]}]
    slurm_qos: [{name: high, Priority: 10}]
login: {hosts: {head: }}
storage: {hosts: {head: }}
compute:
  hosts:
    n1: {ansible_host: 10.0.0.11, slurm_node: {CPUs: 2, RealMemory: 2000}}
    n2: {ansible_host: 10.0.0.12, slurm_node: {CPUs: 2, RealMemory: 2000}}
    n3: {ansible_host: 10.0.0.13, slurm_node: {CPUs: 4, RealMemory: 4000}}
"""
EVERYONE = ("head", "n1", "n2", "n3", "n4")
SECRETS = {"munge": "sha256:aaaa", "database": "sha256:bbbb"}


def site_of(folder: Path, *changes: tuple[str, str]) -> Site:
    """The site with some of its text replaced."""
    text = SITE
    for old, new in changes:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times"
        text = text.replace(old, new)
    path = folder / "site.yaml"
    path.write_text(text)
    return load_site(path)


def described(site: Site, *, facts: Mapping[str, Mapping[str, Any]] | None = None, **secrets: str) -> Description:
    """What the site asks for."""
    return describe(site, facts or {}, {**SECRETS, **secrets})


def deployed(folder: Path) -> Description:
    """What was deployed of the site as it stands above."""
    return described(site_of(folder)).model_copy(update={"saved": "2026-12-01T10:00:00+00:00"})


def answering(jobs: str = "", *, of: Description | None = None, **files: str) -> Live:
    """A controller with three nodes and these jobs; `of` gives it the files that were deployed."""
    said = "".join(f"node n{number}\n" for number in (1, 2, 3)) + "partition main\npartition big\n"
    said += "".join(f"job {line}\n" for line in jobs.splitlines())
    for name, text in {**(of.files if of else {}), **files}.items():
        said += f"has {name}\n" + "".join(f"{name} {line}\n" for line in text.splitlines())
    return parse("head", said)


def plan_of(
    saved: Description | None, site: Site, live: Live | None = None, wanted: Description | None = None, **run: Any
) -> Plan:
    """The plan of a deploy of everything, or of the part that `phases` and `hosts` name."""
    phases = run.get("phases", {part.phase for part in PARTS.values()})
    return compare(site, saved, wanted or described(site), live, Run(phases, run.get("hosts", EVERYONE)))
