"""Mistakes that admins made in public: each that a site file can show is told, or passes as it must."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

CASES = Path(__file__).parent / "cases"
# Those that must be told, and those that must pass.
WRONG = (
    *("INV-01", "INV-02", "INV-03", "INV-04", "INV-06", "INV-07", "INV-09", "INV-11", "INV-12", "INV-14", "INV-15"),
    *("INV-21", "INV-24", "INV-26", "NET-02", "NET-04", "NET-15", "SLM-06", "SLM-12", "SLM-13", "SLM-15", "SLM-17"),
    *("SLM-23", "CGR-04", "NFS-05", "NFS-07", "PXE-03", "CLI-02", "CLI-11", "SEC-01", "SEC-03", "SEC-07", "SEC-08"),
)
VALID = ("INV-06", "INV-07", "INV-17", "INV-20", "NET-02", "PXE-01")


def named(folder: str) -> set[str]:
    texts = [path.read_text() for path in (CASES / folder).glob("*.yaml")]
    return {case for text in texts for case in re.findall(r"\b[A-Z]{3}-\d{2}\b", text)}


@pytest.mark.parametrize("case", WRONG)
def test_case_is_told(case: str) -> None:
    assert case in named("wrong")


@pytest.mark.parametrize("case", VALID)
def test_case_passes(case: str) -> None:
    assert case in named("valid")
