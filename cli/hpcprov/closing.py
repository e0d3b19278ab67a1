"""The end of a deploy: what the cluster is now, in one table, and what was proved."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hpcprov import verdict as verdicts
from hpcprov.results import Result
from hpcprov.site import Site

if TYPE_CHECKING:
    from rich.table import Table

GROUP_ORDER = ("controller", "database", "login", "storage", "compute", "provisioner", "monitoring")
STORAGE = {
    "kernel": "NFS, served by the kernel",
    "ganesha": "NFS, served by nfs-ganesha",
    "external": "provided from outside, only checked",
}
OUTSIDE = "(outside --limit)"
MANY_HOSTS = 24  # more rows than this nobody reads; then hosts are folded by groups and system


def table(site: Site, result: Result, systems: Mapping[str, str]) -> Table:
    """One table of two columns: the thing, and how it is."""
    from rich import box
    from rich.table import Table

    grid = Table(title=f"Cluster {site.cluster_name}", title_justify="left", show_header=False, box=box.SIMPLE)
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for title, lines in _rows(site, result, systems):
        if lines:
            grid.add_row(title, "\n".join(_escaped(line) for line in lines))
    return grid


def _rows(site: Site, result: Result, systems: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    return [
        ("Nodes", _nodes(site, systems)),
        ("Partitions", result.partitions),
        ("Versions", _columns(list(result.versions.items()))),
        ("Shared storage", _storage(site, result)),
        ("Checks", _checks(result)),
        ("Training", _training(result)),
        ("Time", _times(result)),
        ("Notices", [f"{number}. {notice}" for number, notice in enumerate(result.notices, 1)]),
    ]


def _nodes(site: Site, systems: Mapping[str, str]) -> list[str]:
    rows: dict[tuple[str, str], list[str]] = {}
    for host in site.cluster_hosts:
        groups = ", ".join(group for group in GROUP_ORDER if group in host.groups)
        rows.setdefault((groups, systems.get(host.name, "")), []).append(host.name)
    if len(site.cluster_hosts) <= MANY_HOSTS:
        triples = [(name, *key) for key, names in rows.items() for name in names]
    else:
        triples = [(f"{len(names)} hosts", *key) for key, names in rows.items()]
    widths = [max(len(row[column]) for row in triples) for column in (0, 1)]
    return [f"{name:<{widths[0]}}  {groups:<{widths[1]}}  {system}".rstrip() for name, groups, system in triples]


def _storage(site: Site, result: Result) -> list[str]:
    if result.nfs_backend == "external" and "lab" in site.vars:
        return ["a volume that the containers share: this kernel has no NFS server"]
    return [STORAGE.get(result.nfs_backend, result.nfs_backend)] if result.nfs_backend else []


def _checks(result: Result) -> list[str]:
    if result.verify is None:
        return []
    counts = result.verify
    return [f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped"]


def _training(result: Result) -> list[str]:
    smoke = result.smoke
    if smoke is None or smoke.accuracy is None:
        return []
    speed = f"{smoke.samples_per_second:.0f} samples/s" if smoke.samples_per_second else ""
    parts = [f"test accuracy {smoke.accuracy:.3f}", f"{smoke.ranks} ranks on {', '.join(smoke.nodes)}", speed]
    loss = f"loss {smoke.loss[0]:.3f} to {smoke.loss[-1]:.3f} in {len(smoke.loss)} epochs" if smoke.loss else ""
    return [", ".join(part for part in [*parts, loss, f"job {smoke.job_id}"] if part)]


def _times(result: Result) -> list[str]:
    pairs = [(phase.name, f"{phase.seconds:.1f} s") for phase in result.phases]
    return _columns([*pairs, ("in all", f"{result.seconds:.1f} s")])


def _columns(pairs: list[tuple[str, str]]) -> list[str]:
    if not pairs:
        return []
    width = max(len(name) for name, _ in pairs)
    values = max(len(value) for _, value in pairs)
    right = all(value.endswith(" s") for _, value in pairs)
    return [f"{name:<{width}}  {value:>{values}}" if right else f"{name:<{width}}  {value}" for name, value in pairs]


def verdict(site: Site, result: Result) -> str:
    """What may be said now, and how to prove a cluster that is not."""
    said = verdicts.verdict(result)
    if said.kind != "unproven" or not verdicts.converged(result):
        return said.sentence
    return f"{said.sentence} {said.purpose} with: hpcprov smoke {site.path}"


def way_in(site: Site) -> str | None:
    """The command that opens a shell where users of a lab log in; None for a site of real hosts."""
    from hpcprov.lab import is_lab
    from hpcprov.paths import project_root

    if not is_lab(site):
        return None
    host = [*site.group("login"), *site.group("controller"), *site.cluster_hosts][0]
    built_in = site.path.resolve() == (project_root() / "inventory" / "lab.yaml").resolve()
    return f"hpcprov lab ssh {host.name}" + ("" if built_in else f" --site {shlex.quote(str(site.path))}")


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)
