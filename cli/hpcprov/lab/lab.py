"""The lab as a whole: bring it up, take it down, look at it."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from hpcprov.errors import LabError, UsageError
from hpcprov.lab import cache, engine, host, image, keys, network, nodes, storage
from hpcprov.lab.nodes import CLUSTER_LABEL, Node, NodeStatus, State
from hpcprov.lab.podman import Podman, write_atomically
from hpcprov.lab.preflight import Problem, can_ask_podman, preflight, require
from hpcprov.site import Host, Site

Report = Callable[[str], None]

DEFAULT_RELEASE = "bookworm"
MAX_PARALLEL_STARTS = 8
HOST_MOUNT = "/etc/hpcprov-lab/host"
SITE_MOUNT = "/etc/hpcprov-lab/site"


def is_lab(site: Site) -> bool:
    """Does the site file say that its hosts are containers of this machine?"""
    return "lab" in site.vars


def up(site: Site, report: Report) -> None:
    """Make the site's hosts exist as running containers that SSH can reach.

    Idempotent: healthy nodes are left alone, stopped ones started, half-made or outdated ones replaced.
    """
    _check(site)
    facts = host.look()
    with _lock(site):
        podman, node_image = _image(site, facts, report)
        store = keys.ensure(site)
        plan = _plan(site)
        wanted = plan_nodes(site, facts, node_image, plan, store)
        marks = {CLUSTER_LABEL: site.cluster_name}
        present = nodes.inspect(podman, site.cluster_name)
        _remove_strangers(podman, wanted, present, report)
        network.ensure(podman, facts, plan, marks)
        _ensure_storage(podman, site, facts, marks, report)
        cache_node = cache.container_of(site.cluster_name, node_image, plan.name, str(plan.cache))
        _write_node_settings(site, store, _start_cache(podman, cache_node, present, report))
        _start_nodes(podman, wanted, present, report)


def down(site: Site, purge: bool = False) -> list[str]:
    """Remove the containers, network and volumes of this lab, and no other's. Returns what was removed.

    The image and the package cache stay. `purge` removes the lab's SSH keys too.
    """
    _check(site)
    podman = engine.connect()
    removed = []
    mark = f"label={CLUSTER_LABEL}={site.cluster_name}"
    containers = sorted(nodes.inspect(podman, site.cluster_name))
    if containers:
        podman.run("rm", "--force", "--time=0", "--volumes", *containers, timeout=300)
        removed += [f"container {name}" for name in containers]
    for entry in podman.query("volume", "ls", "--format", "json", "--filter", mark):
        podman.run("volume", "rm", entry["Name"])
        removed.append(f"volume {entry['Name']}")
    if podman.exists("network", network_name(site)):
        podman.run("network", "rm", network_name(site))
        removed.append(f"network {network_name(site)}")
    if purge and (site.state_dir / "ssh").is_dir():
        shutil.rmtree(site.state_dir / "ssh")
        removed.append(f"keys {site.state_dir / 'ssh'}")
    return removed


def status(site: Site) -> list[NodeStatus]:
    """Look at every node of the lab."""
    _check(site)
    facts = host.look()
    podman = engine.connect(facts)
    settings = _settings(site)
    node_image = settings.get("image") or image.recipe(_release(site), settings).tag
    wanted = plan_nodes(site, facts, node_image, _plan(site), keys.KeyStore(site.state_dir / "ssh"))
    present = nodes.inspect(podman, site.cluster_name)
    with ThreadPoolExecutor(MAX_PARALLEL_STARTS) as pool:
        return list(pool.map(lambda node: nodes.status(podman, node, present), wanted))


def ssh_command(site: Site, node: str, command: Sequence[str] = ()) -> list[str]:
    """The ssh command line that reaches a node with the lab's own keys."""
    _check(site)
    found = [member for member in site.cluster_hosts if node in (member.name, member.node_name)]
    if not found:
        raise UsageError(f"there is no node {node}", hint=f"nodes: {', '.join(m.name for m in site.cluster_hosts)}")
    store = keys.KeyStore(site.state_dir / "ssh")
    return [
        "ssh", "-i", str(store.client_key), "-o", f"UserKnownHostsFile={store.known_hosts}",
        "-o", "StrictHostKeyChecking=yes", "-o", "IdentitiesOnly=yes", f"root@{found[0].address}", *command,
    ]  # fmt: skip


def shared_storage(site: Site) -> str:
    """How the lab provides shared paths on this machine, in words for a report."""
    return (
        "kernel NFS" if storage.uses_kernel_nfs(site, host.look()) else "shared volume (this kernel has no NFS server)"
    )


def network_name(site: Site) -> str:
    """The lab's podman network."""
    return f"hpcprov-{site.cluster_name}"


def plan_nodes(
    site: Site, facts: host.HostFacts, node_image: str, plan: network.Plan, store: keys.KeyStore
) -> list[Node]:
    """How each host's container must be."""
    kernel_nfs = storage.uses_kernel_nfs(site, facts)
    return [_node(site, member, node_image, plan, store, kernel_nfs=kernel_nfs) for member in site.cluster_hosts]


def _node(
    site: Site, member: Host, node_image: str, plan: network.Plan, store: keys.KeyStore, *, kernel_nfs: bool
) -> Node:
    volumes = [(m.volume, m.path, "rw") for m in storage.mounts_of(site, member, kernel_nfs=kernel_nfs)]
    mounts = (
        nodes.directory_mount(store.host_folder(member), HOST_MOUNT),
        nodes.directory_mount(store.folder.parent / "lab", SITE_MOUNT),
        *volumes,
    )
    return Node(
        name=member.name, node_name=member.node_name, cluster=site.cluster_name,
        kind=str(_settings(site).get("image") or _release(site)), image=node_image, network=plan.name,
        address=member.address, mounts=mounts,
    )  # fmt: skip


def _check(site: Site) -> None:
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


def _settings(site: Site) -> Mapping[str, Any]:
    value = site.vars.get("lab") or {}
    if not isinstance(value, Mapping):
        raise LabError("`lab` must be a mapping such as {release: bookworm}")
    return value


def _release(site: Site) -> str:
    return str(_settings(site).get("release", DEFAULT_RELEASE))


def _plan(site: Site) -> network.Plan:
    addresses = {member.name: member.address for member in site.cluster_hosts}
    return network.plan(network_name(site), site.cluster_network, addresses)


def _image(site: Site, facts: host.HostFacts, report: Report) -> tuple[Podman, str]:
    """The node image of the site, built when it is missing, after a look at everything the lab needs."""
    settings = _settings(site)
    wanted, problems = _recipe(settings)
    name = str(settings.get("image") or (wanted.tag if wanted else ""))
    build, room = True, True
    if can_ask_podman(facts):
        podman = engine.connect(facts)
        build = not (name and podman.exists("image", name))
        room = not any(c.get("State") == "running" for c in nodes.inspect(podman, site.cluster_name).values())
    require([*preflight(facts, build=build and wanted is not None, room=room), *problems])
    podman = engine.connect(facts)
    if wanted is not None:
        image.ensure(podman, facts, wanted, report)
    elif build:
        raise LabError(f"there is no image {name}", hint="remove lab.image from the site file to have one built")
    return engine.choose_runtime(facts, name), name


def _recipe(settings: Mapping[str, Any]) -> tuple[image.Recipe | None, list[Problem]]:
    if settings.get("image"):
        return None, []
    try:
        return image.recipe(str(settings.get("release", DEFAULT_RELEASE)), settings), []
    except LabError as error:
        return None, [Problem(f"{error.message} ({error.why})" if error.why else error.message, hint=error.hint or "")]


def _remove_strangers(podman: Podman, wanted: list[Node], present: Mapping[str, Any], report: Report) -> None:
    """Containers of hosts that have left the site file; one may hold an address that is given anew."""
    known = {node.container for node in wanted} | {f"hpcprov-{wanted[0].cluster}-{cache.NAME}"} if wanted else set()
    for name in sorted(set(present) - known):
        report(f"Removing {name}: its host is no longer in the site file")
        podman.run("rm", "--force", "--time=0", "--volumes", name)


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
