"""Findings of one range, told once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hpcprov.errors import Finding
from hpcprov.main import main
from hpcprov.site.folding import fold_ranges

HOSTS = [f"node{number:02d}" for number in range(1, 17)]
CASE = Path(__file__).parent / "cases" / "wrong" / "range_without_addresses.yaml"


def finding(message: str, line: int = 5, rule: str = "r") -> Finding:
    return Finding(Path("site.yaml"), line, 1, rule, message)


def messages(*findings: Finding) -> list[str]:
    return [found.message for found in fold_ranges(findings, HOSTS)]


def test_one_place_is_told_once() -> None:
    told = messages(*(finding(f"{host}: 10.1.0.{number} is taken") for number, host in enumerate(HOSTS)))
    assert told == ["node01: 10.1.0.0 is taken (the same for 15 more: node[02-16])"]


def test_what_differs_stays_apart() -> None:
    apart = (
        finding("node01 is late"),
        finding("node02 is early"),
        finding("node03 is late", line=6),
        finding("node04 is late", rule="other"),
        finding("10.1.0.1 is taken"),
        finding("10.1.0.2 is taken"),
        finding("node05 and node06 are equal"),
        finding("node05 and node07 are equal"),
    )
    assert messages(*apart) == [found.message for found in apart]


def test_json_has_one_finding_for_a_range(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--json", str(CASE)]) == 3
    lines = [found["line"] for found in json.loads(capsys.readouterr().out)]
    assert lines == [7, 8]
