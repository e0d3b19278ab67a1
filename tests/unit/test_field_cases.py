"""Problems that admins met with tools like ours: each that containers can show is proved by a test that names it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ID = re.compile(r"\b(?:INV|NET|MUN|SLM|DBD|CGR|NFS|MPI|GPU|DL|PXE|CLI|IDM|SEC)-\d{2}\b")

_NUMBERS = {
    "INV": (17,),
    "NET": (1, 5, 8, 11),
    "MUN": (1, 2, 3, 4, 6, 7, 11),
    "SLM": (1, 27, 30, 32, 37, 39, 40, 43),
    "DBD": (1, 2, 3, 4, 8),
    "CGR": (1, 2, 8, 9),
    "NFS": (4,),
    "MPI": (1, 2, 4, 6),
    "DL": (1, 3, 5, 6, 9, 12, 14),
    "CLI": (4, 9, 10),
    "IDM": (1, 4, 5, 7, 8, 11),
    "SEC": (5, 6),
}
COVERED = [f"{family}-{number:02}" for family, numbers in _NUMBERS.items() for number in numbers]
# Containers could show these too, but there is nothing yet that could fail.
NOT_YET = {
    "GPU-10": "there is no role for GPU drivers yet, so no task that a controller without a GPU could fail",
    "PXE-08": "there is no boot server yet",
}


def named_in_tests() -> dict[str, list[str]]:
    """Files that name each case."""
    files = [
        *ROOT.glob("tests/**/*.py"),
        *ROOT.glob("tests/**/cases/**/*.yaml"),
        *ROOT.glob("roles/*/molecule/**/*.py"),
    ]
    named: dict[str, list[str]] = {}
    for file in files:
        if file != Path(__file__).resolve():
            for case in set(ID.findall(file.read_text())):
                named.setdefault(case, []).append(str(file.relative_to(ROOT)))
    return named


NAMED = named_in_tests()


@pytest.mark.parametrize("case", COVERED)
def test_case_is_proved_by_a_test(case: str) -> None:
    assert NAMED.get(case), f"no test names {case}"


@pytest.mark.parametrize("case", NOT_YET)
def test_case_that_came_within_reach_is_listed(case: str) -> None:
    assert case not in NAMED, f"{NAMED[case]} name {case}: move it to COVERED"
