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
# Those that need no host: a mistake in a file, or text that we write.
_UNIT_NUMBERS = {
    "INV": (1, 2, 3, 4, 6, 7, 9, 11, 12, 14, 15, 17, 20, 21, 24, 26),
    "NET": (2, 4, 8, 9, 13, 15),
    "MUN": (3, 6, 9),
    "SLM": (1, 2, 5, 6, 7, 8, 9, 11, 12, 13, 15, 17, 18, 22, 23, 25, 28, 29, 30, 32, 33, 36, 39, 42),
    "PXE": (1, 3),
    "CLI": (1, 2, 5, 6, 11, 13),
    "SEC": (1, 3, 7, 8),
}
UNIT = [f"{family}-{number:02}" for family, numbers in _UNIT_NUMBERS.items() for number in numbers]
# There is nothing yet that could fail in these.
NOT_YET = {
    "GPU-10": "there is no role for GPU drivers yet, so no task that a controller without a GPU could fail",
    **dict.fromkeys(("PXE-07", "PXE-08", "PXE-10"), "there is no boot server yet"),
    "SEC-10": "pam_slurm_adopt is not offered yet",
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


@pytest.mark.parametrize("case", UNIT)
def test_case_is_proved_without_a_host(case: str) -> None:
    unit = [file for file in NAMED.get(case, ()) if file.startswith("tests/unit/")]
    assert unit, f"no unit test names {case}"


@pytest.mark.parametrize("case", NOT_YET)
def test_case_that_came_within_reach_is_listed(case: str) -> None:
    assert case not in NAMED, f"{NAMED[case]} name {case}: move it to COVERED"
