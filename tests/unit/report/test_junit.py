"""The one file for CI."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hpcprov.report import junit

from . import results_of_runs as runs

PYTEST = """<?xml version="1.0" encoding="utf-8"?>
<testsuites name="pytest tests"><testsuite name="pytest" errors="0" failures="1" skipped="0" tests="2" time="3.1">
<testcase classname="test_munge" name="test_key[node01]" time="0.1"/>
<testcase classname="test_munge" name="test_key[node02]" time="0.1"><failure message="no">no</failure></testcase>
</testsuite></testsuites>"""

GOOD = ["passed", "not_proven", "checked", "only_looked"]


def suites(document: str) -> dict[str, list[tuple[str, str, str | None]]]:
    """Suite to (class, name, message of the failure)."""
    found = {}
    for suite in ET.fromstring(document.encode()):
        cases = []
        for case in suite.iter("testcase"):
            failure = case.find("failure")
            cases.append(
                (case.get("classname", ""), case.get("name", ""), None if failure is None else failure.get("message"))
            )
        assert suite.get("tests") == str(len(cases))
        assert suite.get("failures") == str(sum(message is not None for *_, message in cases))
        found[suite.get("name", "")] = cases
    return found


def test_phases_and_the_checks_that_pytest_wrote(tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    file.write_text(PYTEST)
    for _ in range(2):  # written again, it is the same
        file.write_text(junit.document(runs.failed_verify(), file))
        found = suites(file.read_text())
        assert list(found) == ["phases", "verify"]
        assert [case[1] for case in found["phases"]][-2:] == ["frameworks", "verify"]
        assert found["phases"][-1][2].startswith("node02: Munge credentials")  # type: ignore[union-attr]
        assert [case[2] for case in found["verify"]] == [None, "no"]
    root = ET.fromstring(file.read_text().encode())
    assert (root.get("tests"), root.get("failures")) == ("12", "2")


def test_checks_without_a_file_of_pytest(tmp_path: Path) -> None:
    found = suites(junit.document(runs.failed_verify(), tmp_path / "junit.xml"))
    assert ("verify.node01", "Clock agrees with the controller", "node01 is 900 s ahead") in found["verify"]


def test_a_check_that_says_everything(tmp_path: Path) -> None:
    document = junit.document(runs.failed_in_full(), tmp_path / "junit.xml")
    told = ["mode is 0644", "expected: 0400 munge:munge", "found: 0644 munge:munge"]
    assert "\n".join(told) in document and "fix: chmod 0400 /etc/munge/munge.key &amp;&amp; systemctl" in document


def test_findings_of_preflight(tmp_path: Path) -> None:
    found = suites(junit.document(runs.unfit(), tmp_path / "junit.xml"))
    skew = "its clock is 7.2 s behind the control host"
    assert found["preflight"] == [
        ("preflight.node01", skew, skew), ("preflight.node02", skew, skew),
        ("preflight.store", "does not answer", "does not answer"), ("preflight.head", "has 1.9 GiB of memory", None),
    ]  # fmt: skip


@pytest.mark.parametrize("run", sorted(set(runs.RUNS) - set(GOOD)))
def test_a_run_that_is_not_good_is_red_and_readable(run: str, tmp_path: Path) -> None:
    found = suites(junit.document(runs.RUNS[run](), tmp_path / "junit.xml"))
    assert any(message is not None for cases in found.values() for *_, message in cases)


@pytest.mark.parametrize("run", GOOD)
def test_a_good_run_is_green(run: str, tmp_path: Path) -> None:
    found = suites(junit.document(runs.RUNS[run](), tmp_path / "junit.xml"))
    assert all(message is None for cases in found.values() for *_, message in cases)
