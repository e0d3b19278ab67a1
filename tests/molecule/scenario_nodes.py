"""Fixtures of all scenarios: the nodes of the scenario's site as testinfra hosts, over SSH like Ansible's own way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hpcprov.site import Site, load_site
from hpcprov.verify.transport import Transport

SITE = Path(os.environ["MOLECULE_SITE"])


@pytest.fixture(scope="session")
def site() -> Site:
    """The site that the scenario stands for."""
    return load_site(SITE)


@pytest.fixture(scope="session")
def nodes(site: Site) -> Iterator[Callable[[str], Any]]:
    """Give the testinfra host of a node by its name."""
    with Transport(site) as transport:
        yield transport.connection


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `node` runs once for each host; `@pytest.mark.groups("compute")` narrows that."""
    if "node" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("groups")
        hosts = [host.name for host in load_site(SITE).cluster_hosts if not marker or host.is_in(*marker.args)]
        assert hosts, "no host of the scenario is in the groups that the test is about"
        metafunc.parametrize("node", hosts, indirect=True)


@pytest.fixture
def node(request: pytest.FixtureRequest, nodes: Callable[[str], Any]) -> Any:
    """Each host in turn."""
    return nodes(request.param)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "groups(*names): run the test on hosts of these groups")
