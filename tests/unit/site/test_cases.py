"""Whole site files, right and wrong. A new case is a new file in cases/; what is expected stands at its end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hpcprov.errors import SiteError
from hpcprov.site import check_site, load_site
from hpcprov.site.rules import rule_texts

CASES = Path(__file__).parent / "cases"
WRONG = sorted((CASES / "wrong").glob("*.yaml"))
VALID = sorted((CASES / "valid").glob("*.yaml"))


def expected(path: Path) -> list[str]:
    return re.findall(r"^# expect: (.*)$", path.read_text(), re.MULTILINE)


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_wrong_site(path: Path) -> None:
    report = check_site(path)
    found = [f"{f.line}:{f.column} {f.level} {f.rule}: {f.message}" for f in report.findings]
    assert found == expected(path)
    assert found, "a wrong case must expect something"
    has_error = any(finding.level == "error" for finding in report.findings)
    assert (report.site is None) == has_error


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_valid_site_has_no_finding(path: Path) -> None:
    assert check_site(path).findings == []
    assert load_site(path).hosts


def test_every_rule_is_broken_by_a_case() -> None:
    broken = {line.split(" ")[2].rstrip(":") for path in WRONG for line in expected(path)}
    # These need a file that is absent or named otherwise; test_load.py has them.
    assert set(rule_texts()) - broken == {"file-missing", "file-name"}


def test_every_rule_says_why() -> None:
    assert [name for name, text in rule_texts().items() if len(text) < 20 or not text.endswith(".")] == []


def test_load_site_raises_all_errors() -> None:
    with pytest.raises(SiteError, match="has 2 errors") as caught:
        load_site(CASES / "wrong" / "partition_unknown_node.yaml")
    assert [finding.rule for finding in caught.value.findings] == ["partition-nodes", "partition-nodes"]
    assert caught.value.exit_code == 3
