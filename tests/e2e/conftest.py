"""A lab of its own for the end-to-end tests, deployed once by the very command that the README names."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e_lab import HOSTS, NAME, SUBNET, Deployment, Lab, MemoryWatch, make_site, remember_containers, said
from living import SCHEDULER, Joined, Living


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The site; its containers are removed at the end, whatever happened.

    HPCPROV_E2E_SITE names a lab that is deployed already, and stays: for work on a test.
    """
    if present := os.environ.get("HPCPROV_E2E_SITE"):
        yield Lab(Path(present))
        return
    folder = tmp_path_factory.mktemp("e2e")
    site = make_site(folder, NAME, SUBNET)
    under_test = Lab(site)
    under_test.clear()
    yield under_test
    # Kept for whoever has to find out why: set HPCPROV_KEEP_LAB=1.
    if not os.environ.get("HPCPROV_KEEP_LAB"):
        under_test.hpcprov("lab", "down", str(site))
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def deployed(lab: Lab) -> Deployment:
    """The first deploy, all the way to the training job."""
    up = lab.hpcprov("lab", "up", str(lab.site))
    assert up.returncode == 0, said(up)
    remember_containers()
    watch = MemoryWatch()
    watch.start()
    start = time.monotonic()
    done = lab.hpcprov("deploy", str(lab.site))
    seconds = time.monotonic() - start
    watch.stopped.set()
    watch.join()
    assert done.returncode == 0, said(done)
    return Deployment(done, lab.result(), seconds, watch.peak)


@pytest.fixture(scope="session")
def living(lab: Lab, request: pytest.FixtureRequest) -> Living:
    """The deployed lab, seen as a cluster at work."""
    if not os.environ.get("HPCPROV_E2E_SITE"):
        request.getfixturevalue("deployed")
    return Living(lab)


@pytest.fixture(scope="session")
def joined(living: Living) -> Iterator[Joined]:
    """node03 came to the cluster while a job ran on the others; it leaves when the tests are over."""
    original = living.site.read_text()
    before = living.started(*HOSTS)
    try:
        living.site.write_text(living.with_node03)
        with living.job_lives("-N2", program="srun sleep 900"):
            result = living.deploy("--no-smoke")
        yield Joined(result, before, living.started(*HOSTS, "node03"))
    finally:
        if living.site.read_text() != original:
            living.site.write_text(original)
            living.deploy(*SCHEDULER)
