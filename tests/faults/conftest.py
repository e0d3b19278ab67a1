"""The faults' lab, made once, and the matrix that is printed at the end whatever happened."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from catalogue import FAULTS
from fault import Row
from faults_lab import FaultsLab, make_site
from matrix import print_matrix

ROWS: dict[str, Row] = {}
NOTES: list[str] = []
STARTED = time.monotonic()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultsLab]:
    """The deployed lab. HPCPROV_FAULTS_SITE names one that is there, and stays; HPCPROV_KEEP_LAB=1 keeps ours."""
    if present := os.environ.get("HPCPROV_FAULTS_SITE"):
        yield FaultsLab(Path(present))
        return
    folder = tmp_path_factory.mktemp("faults")
    made = FaultsLab(make_site(folder))
    try:
        made.build()
        yield made
    finally:
        if not os.environ.get("HPCPROV_KEEP_LAB"):
            made.remove()
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def rows() -> dict[str, Row]:
    """The matrix, filled by the tests."""
    return ROWS


@pytest.fixture(scope="session")
def notes() -> list[str]:
    """Lines to print at the end."""
    return NOTES


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The matrix, whatever happened."""
    if ROWS:
        print_matrix(ROWS.values(), len(FAULTS), time.monotonic() - STARTED, terminalreporter.write_line)
    for note in NOTES:
        terminalreporter.write_line(note)
