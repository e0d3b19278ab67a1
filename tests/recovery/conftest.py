"""A lab that is made anew for each deploy that is compared. Its secrets stay, so that files can be equal."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from e2e_lab import Lab
from recovery_lab import NAME, make_site


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The site; its containers are removed at the end, whatever happened."""
    folder = tmp_path_factory.mktemp(NAME)
    under_test = Lab(make_site(folder))
    under_test.clear()
    yield under_test
    under_test.hpcprov("lab", "down", str(under_test.site))
    shutil.rmtree(folder, ignore_errors=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Where each deploy was killed."""
    from recovery_lab import KILLS

    if KILLS:
        terminalreporter.section("deploys that were killed and run again")
        for line in KILLS:
            terminalreporter.write_line(line)
