"""The lab as a whole: bring it up, take it down, look at it."""

from __future__ import annotations

import fcntl
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

from hpcprov.errors import LabError
from hpcprov.lab import cache, engine, host, image, keys, network, nodes, owner, prepare, storage
from hpcprov.lab.nodes import CLUSTER_LABEL, Node, NodeStatus, State
from hpcprov.lab.plan import (
    check,
    find_host,
    key_store,
    network_name,
    network_plan,
    plan_nodes,
    settings,
    ssh_command,
)
from hpcprov.lab.podman import Podman, write_atomically
from hpcprov.plan.state import forget
from hpcprov.site import Site

Report = Callable[[str], None]

MAX_PARALLEL_STARTS = 8


def up(site: Site, report: Report) -> None:
    """Make the site's hosts exist as running containers that SSH can reach.

    Idempotent: healthy nodes are left alone, stopped ones started, half-made or outdated ones replaced.
    """
    check(site)
    facts = host.look()
    with _lock(site):
        podman, node_image = prepare.node_image(facts, settings(site), report, running=partial(_runs, site))
        _claim_for_up(podman, site, report)
        if notice := host.raise_inotify_limit():
            report(notice)
        store = keys.ensure(site)
        plan = network_plan(site)
        wanted = plan_nodes(site, facts, node_image)
        marks = owner.marks(site)
        present = nodes.inspect(podman, site.cluster_name)
        cache_node = cache.container_of(site.cluster_name, node_image, plan.name, str(plan.cache), owner.owner_of(site))
        _remove_strangers(podman, [*wanted, cache_node], present, report)
        network.ensure(podman, facts, plan, marks)
        _ensure_storage(podman, site, facts, marks, report)
        _write_node_settings(site, store, _start_cache(podman, cache_node, present, report))
        _start_nodes(podman, wanted, present, report)


def down(site: Site, purge: bool = False, report: Report = lambda _: None, *, force: bool = False) -> list[str]:
    """Remove the containers, network and volumes of this lab, and no other's. Returns what was removed.

    The image and the package cache stay. `purge` removes the lab's SSH keys too, `force` a lab of this name that
    belongs to another site file.
    """
    check(site)
    podman = engine.connect()
    with _lock(site):
        claim = _claim(podman, site)
        if not force:
            claim.require()
        if claim.orphaned:
            report(claim.takeover())
        return _remove(podman, site, purge=purge)


def status(site: Site) -> list[NodeStatus]:
    """Look at every node of the lab."""
    check(site)
    facts = host.look()
    podman = engine.connect(facts)
    wanted = plan_nodes(site, facts)
    present = nodes.inspect(podman, site.cluster_name)
    with ThreadPoolExecutor(MAX_PARALLEL_STARTS) as pool:
        return list(pool.map(lambda node: nodes.status(podman, node, present), wanted))


def whose(site: Site) -> owner.Claim:
    """Which site the lab of this name belongs to."""
    check(site)
    return _claim(engine.connect(), site)


def reach(site: Site, node: str, command: Sequence[str] = ()) -> list[str]:
    """The ssh command line to a node that runs. Raises LabError at once when it does not."""
    check(site)
    member = find_host(site, node)
    podman = engine.connect()
    present = nodes.inspect(podman, site.cluster_name)
    owner.claim(podman, site, network_name(site), present).require()
    running = {name for name, container in present.items() if container.get("State") == "running"}
    if nodes.container_name(site.cluster_name, member.node_name) not in running:
        subject = f"node {member.name} of the lab {site.cluster_name}" if running else f"the lab {site.cluster_name}"
        raise LabError(f"{subject} is not running", hint=f"hpcprov lab up {shlex.quote(str(site.path))}")
    return ssh_command(site, node, command)


def shared_storage(site: Site) -> str:
    """How the lab provides shared paths on this machine, in words for a report."""
    return (
        "kernel NFS" if storage.uses_kernel_nfs(site, host.look()) else "shared volume (this kernel has no NFS server)"
    )


def _runs(site: Site, podman: Podman) -> bool:
    present = nodes.inspect(podman, site.cluster_name)
    return any(container.get("State") == "running" for container in present.values())


def _claim(podman: Podman, site: Site) -> owner.Claim:
    return owner.claim(podman, site, network_name(site), nodes.inspect(podman, site.cluster_name))


def _claim_for_up(podman: Podman, site: Site, report: Report) -> None:
    """Refuse a lab of somebody else's; clear away what a removed checkout has left. Its shared volumes are kept."""
    claim = _claim(podman, site)
    claim.require()
    if not claim.orphaned:
        return
    report(f"{claim.takeover()}, its nodes are made anew")
    _remove_containers(podman, site)
    _remove_network(podman, site)
    forget(site.state_dir)


def _remove(podman: Podman, site: Site, *, purge: bool) -> list[str]:
    removed = _remove_containers(podman, site)
    mark = f"label={CLUSTER_LABEL}={site.cluster_name}"
    for entry in podman.query("volume", "ls", "--format", "json", "--filter", mark):
        podman.run("volume", "rm", entry["Name"])
        removed.append(f"volume {entry['Name']}")
    removed += _remove_network(podman, site)
    forget(site.state_dir)
    folder = key_store(site).folder
    if purge and folder.is_dir():
        shutil.rmtree(folder)
        removed.append(f"keys {folder}")
    return removed


def _remove_containers(podman: Podman, site: Site) -> list[str]:
    containers = sorted(nodes.inspect(podman, site.cluster_name))
    if containers:
        podman.remove_containers(*containers)
    return [f"container {name}" for name in containers]


def _remove_network(podman: Podman, site: Site) -> list[str]:
    name = network_name(site)
    if not podman.exists("network", name):
        return []
    podman.run("network", "rm", name)
    return [f"network {name}"]


def _remove_strangers(podman: Podman, wanted: list[Node], present: Mapping[str, Any], report: Report) -> None:
    """Containers of hosts that have left the site file; one may hold an address that is given anew."""
    known = {node.container for node in wanted}
    for name in sorted(set(present) - known):
        report(f"Removing {name}: its host is no longer in the site file")
        podman.remove_containers(name)


def _ensure_storage(
    podman: Podman, site: Site, facts: host.HostFacts, marks: Mapping[str, str], report: Report
) -> None:
    kernel_nfs = storage.uses_kernel_nfs(site, facts)
    if kernel_nfs:
        host.load_modules(facts, "nfs", "nfsd")
    mounts = [m for member in site.cluster_hosts for m in storage.mounts_of(site, member, kernel_nfs=kernel_nfs)]
    storage.ensure(podman, mounts, marks)
    if mounts and not kernel_nfs:
        report("Shared storage: a volume that all nodes mount (no NFS in this kernel)")


def _start_cache(podman: Podman, node: Node, present: Mapping[str, Any], report: Report) -> list[str]:
    """URLs of the proxies that apt in the nodes may use, best first. A lab without its cache still works."""
    upstream = image.host_apt_proxy(image.host_apt_settings(host.look()))
    try:
        proxies = [cache.start(podman, node, present, upstream)]
    except LabError as error:
        report(f"Package cache: {error.message} ({error.why}); nodes download directly")
        proxies = []
    return [*proxies, upstream] if upstream else proxies


def _write_node_settings(site: Site, store: keys.KeyStore, proxies: list[str]) -> None:
    """What all nodes see read-only under /etc/hpcprov-lab/site."""
    folder = site.state_dir / "lab"
    write_atomically(folder / "authorized_keys", store.public(store.client_key) + "\n")
    write_atomically(folder / "apt-proxies", "".join(f"{proxy}\n" for proxy in proxies))


def _start_nodes(podman: Podman, wanted: list[Node], present: Mapping[str, Any], report: Report) -> None:
    states = {node.name: nodes.state_of(node, present) for node in wanted}
    failures: list[LabError] = []

    def start(node: Node) -> None:
        try:
            done = nodes.bring_up(podman, node, states[node.name])
        except LabError as error:
            failures.append(error)
        else:
            if done != "reused":
                report(f"{node.name} ({node.address}): {done}")

    with ThreadPoolExecutor(MAX_PARALLEL_STARTS) as pool:
        list(pool.map(start, wanted))
    if failures:
        raise failures[0]
    _report_older_images(wanted, present, states, report)
    report(f"The lab is running: {', '.join(node.name for node in wanted)}")


def _report_older_images(
    wanted: list[Node], present: Mapping[str, Any], states: Mapping[str, State], report: Report
) -> None:
    kept = [node for node in wanted if states[node.name] in (State.RUNNING, State.STOPPED)]
    older = [node.name for node in kept if present[node.container].get("Image") != node.image]
    if older:
        report(f"Made from an older node image: {', '.join(older)}; `hpcprov lab down` and `up` make them anew")


@contextmanager
def _lock(site: Site) -> Iterator[None]:
    """Two `lab up` of one site wait for each other."""
    folder = site.state_dir / "lab"
    folder.mkdir(parents=True, exist_ok=True)
    site.state_dir.chmod(0o700)
    with (site.state_dir / "lab.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
