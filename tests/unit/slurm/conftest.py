"""Fixtures for the tests of Slurm's text."""

from __future__ import annotations

import fcntl

import pytest
from hpcprov.paths import cache_dir
from slurm_oracle import NoOracleError, Oracle, find_oracle


@pytest.fixture(scope="session")
def oracle() -> Oracle:
    """Slurm itself. A machine that cannot have it skips, and says why."""
    with (cache_dir("oracle") / "lock").open("w") as lock:
        # Several test processes may find the cache empty at once.
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return find_oracle()
        except NoOracleError as error:
            print(f"no oracle: {error}")
            pytest.skip(str(error))
