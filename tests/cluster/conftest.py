"""Checks of a cluster, by testinfra. Run by `hpcprov verify`, or plainly: `pytest tests/cluster --site SITE`.

To add a check: write a test whose docstring's first line says it in an admin's words. `probe` makes one test per host
of the marked groups, `jobs` and `cluster` are about the site. End a bad case with `fail(expected, found, cause, fix)`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hpcprov.site import Site, load_site
from hpcprov.verify import causes
from hpcprov.verify.checks import fail
from hpcprov.verify.cluster import Cluster, Probe
from hpcprov.verify.plugin import EVENTS

ORDER = ("hosts", "services", "munge", "configuration", "hardware", "storage", "slurm", "accounting", "mpi", "software")
NEED_PROBES = {"probe", "cluster", "config"}
NEED_JOBS = {"node", "jobs", "parallel"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--site", type=Path, help="the site file of the cluster to check")
    parser.addoption("--only-host", action="append", default=[], help="check only this host")


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--site")
    config.stash[SITE] = load_site(path) if path else None


SITE = pytest.StashKey[Site | None]()
CLUSTER = pytest.StashKey[Cluster]()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test per host of the groups that a check is about."""
    if "probe" not in metafunc.fixturenames:
        return
    site = metafunc.config.stash[SITE]
    marker = metafunc.definition.get_closest_marker("groups")
    only = metafunc.config.getoption("--only-host")
    hosts = [
        host.name
        for host in (site.cluster_hosts if site else [])
        if (not marker or host.is_in(*marker.args)) and (not only or host.name in only)
    ]
    metafunc.parametrize("probe", hosts, indirect=True)


def is_about_no_host(item: pytest.Item) -> bool:
    """Pytest makes one test of an empty list of parameters, marked to be skipped."""
    marker = item.get_closest_marker("skip")
    return marker is not None and "empty parameter set" in str(marker.kwargs.get("reason", ""))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """From the ground up: a cause is told before what follows from it. Checks of groups without hosts fall away."""
    empty = [item for item in items if is_about_no_host(item)]
    config.hook.pytest_deselected(items=empty)
    items[:] = [item for item in items if item not in empty]
    items.sort(key=lambda item: ORDER.index(item.path.stem.removeprefix("test_")))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start what the chosen checks need, side by side, before the first one asks for it."""
    site = session.config.stash[SITE]
    if site is None or session.config.option.collectonly:
        return
    wanted = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    cluster = session.config.stash[CLUSTER] = Cluster(site, session.config.getoption("--only-host"))
    if wanted & NEED_JOBS:
        cluster.start_jobs(run=bool(wanted & {"node", "parallel"}), parallel="parallel" in wanted)
    if wanted & NEED_PROBES:
        cluster.start_probes()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Who could not be reached: when that is everybody, the checks say nothing about the cluster."""
    cluster = session.config.stash.get(CLUSTER, None)
    events = session.config.pluginmanager.get_plugin(EVENTS)
    if cluster and events and cluster.unreachable:
        events.unreachable(
            cluster.unreachable, site=bool({cluster.controller, cluster.submit_host} & set(cluster.unreachable))
        )


def pytest_unconfigure(config: pytest.Config) -> None:
    cluster = config.stash.get(CLUSTER, None)
    if cluster:
        cluster.close()


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config) -> Cluster:
    if CLUSTER not in pytestconfig.stash:
        pytest.skip("no site: give one with --site")
    return pytestconfig.stash[CLUSTER]


@pytest.fixture
def probe(request: pytest.FixtureRequest, cluster: Cluster) -> Probe:
    """What one host said. A host that does not answer fails one check, not all of them."""
    found = cluster.probes[request.param]
    if found.error and not request.node.get_closest_marker("even_silent"):
        pytest.skip("the host does not answer")
    return found


def site_path(cluster: Cluster) -> Path:
    """The site file as the admin can type it."""
    path = cluster.site.path
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


@pytest.fixture
def repair(cluster: Cluster) -> Callable[..., str]:
    """The command that brings one phase of a deploy, or the phases to `last`, back to what the site file says."""
    return lambda phase, last=None: f"hpcprov deploy {site_path(cluster)} --from {phase} --to {last or phase}"


@pytest.fixture
def part(probe: Probe, cluster: Cluster) -> Any:
    """Read one part of what a host said; a part that broke on the host fails the check."""

    def read(name: str) -> Any:
        found = probe.get(name)
        if isinstance(found, dict) and found.get("error") and set(found) == {"error"}:
            fail(
                follows=causes.of_client(cluster, probe.host.name),
                expected=f"the host tells about {name.replace('_', ' ')}",
                found=found["error"],
                cause="the program is not installed, or its daemon does not run",
                fix=f"hpcprov deploy {site_path(cluster)}",
            )
        return found

    return read


@pytest.fixture
def config(cluster: Cluster) -> dict[str, Any]:
    """Configuration of the running controller."""
    if "error" in cluster.config:
        pytest.skip("the controller does not answer")
    return cluster.config


@pytest.fixture
def jobs(cluster: Cluster) -> dict[str, Any]:
    """What the job script said."""
    if "error" in cluster.jobs:
        pytest.skip("no job can be submitted")
    return cluster.jobs


@pytest.fixture
def node(probe: Probe, jobs: dict[str, Any], repair: Callable[[str], str]) -> dict[str, Any]:
    """What Slurm and a job said about one compute node."""
    found: dict[str, Any] | None = jobs["nodes"].get(probe.host.node_name)
    if found is None:
        fail(
            expected=f"Slurm knows the node {probe.host.node_name}",
            found="no such node",
            cause="slurm.conf on the controller was written without it",
            fix=repair("scheduler"),
        )
    return found


@pytest.fixture
def told(node: dict[str, Any]) -> dict[str, str]:
    """What the job on a node said; whether it ran is a check of its own."""
    if "told" not in node:
        pytest.skip("no job ran on the node")
    said: dict[str, str] = node["told"]
    return said


@pytest.fixture
def parallel(jobs: dict[str, Any]) -> dict[str, Any]:
    """What the two-node programs said."""
    found: dict[str, Any] = jobs["parallel"]
    if "job" not in found:
        pytest.skip(f"no allocation for it: {found['error']}")
    return found


@pytest.fixture
def two_nodes(cluster: Cluster) -> None:
    """Skip what one node alone cannot show."""
    if len(cluster.site.group("compute")) < 2:
        pytest.skip("the site has one compute node")
