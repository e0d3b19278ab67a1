"""The plugin's events become counts, failures, and one line per check."""

import pytest
from hpcprov.verify.outcome import Failure, Tally, hosts_in_words


def outcome(check, host, result="passed", reason=None, **parts):
    return {"event": "outcome", "check": check, "host": host, "outcome": result, "reason": reason, **parts}


def told(*events):
    lines = []
    tally = Tally(lines.append)
    for event in events:
        tally.take(event)
    return tally.result, lines


def test_one_line_per_check_when_its_last_host_is_in():
    result, lines = told(
        {"event": "plan", "checks": {"A": 2, "B": 1}},
        outcome("A", "node01"),
        outcome("B", "site"),
        outcome("A", "node02"),
    )
    assert lines == ["  ok    B", "  ok    A (node01, node02)"]
    assert (result.passed, result.failed, result.skipped, result.ok) == (3, 0, 0, True)


def test_failure_names_host_reason_and_fix():
    result, lines = told(
        {"event": "plan", "checks": {"A": 2}},
        outcome("A", "node01"),
        outcome("A", "node02", "failed", "expected x; found y", expected="x", found="y", fix="do z"),
    )
    assert lines == ["  FAIL  A (node02)", "        node02: expected x; found y", "        fix: do z"]
    assert result.as_dict() == {
        "passed": 1,
        "failed": 1,
        "skipped": 0,
        "failures": [
            {
                "host": "node02",
                "check": "A",
                "reason": "expected x; found y",
                "expected": "x",
                "found": "y",
                "cause": None,
                "fix": "do z",
            },
        ],
        "outcomes": [
            {"check": "A", "host": "node01", "outcome": "passed", "reason": None},
            {"check": "A", "host": "node02", "outcome": "failed", "reason": None},
        ],
        "checks": [{"check": "A", "passed": 1, "failed": 1, "skipped": 0}],
    }
    assert result.failures == [Failure("node02", "A", "expected x; found y", "do z", "x", "y")]
    assert not result.ok


def test_skips_are_told_with_their_reason():
    _, lines = told(
        {"event": "plan", "checks": {"A": 2}},
        outcome("A", "node01", "skipped", "busy"),
        outcome("A", "node02"),
    )
    assert lines == ["  ok    A (node02)", "  skip  A (node01): busy"]


def test_nothing_passed_is_not_ok():
    result, _ = told({"event": "plan", "checks": {"A": 1}}, outcome("A", "site", "skipped", "one node"))
    assert not result.ok


def test_many_hosts_are_counted():
    assert hosts_in_words(["a", "b", "c"]) == "a, b, c"
    assert hosts_in_words(["a", "b", "c", "d"]) == "4 hosts"
    assert hosts_in_words(["site"]) == ""


SILENT = {"node01": "refused", "head": "refused"}
GONE = "the host does not answer"


def finished(*events):
    lines = []
    tally = Tally(lines.append)
    for event in events:
        tally.take(event)
    return tally.finish(), lines


def test_when_no_host_is_reached_no_check_is_told():
    result, lines = finished(
        {"event": "plan", "checks": {"A": 1, "B": 1, "C": 1}},
        outcome("A", "node01", "failed", "refused"),
        outcome("B", "node01", "skipped", GONE),
        outcome("C", "site", "failed", "no job"),
        {"event": "unreachable", "hosts": SILENT, "site": True},
    )
    assert result.unreachable == SILENT and not result.ok
    assert lines == []
    assert "unreachable" not in result.as_dict()


def test_a_choice_that_leaves_only_skips_of_silent_hosts_could_not_run():
    result, _ = finished(
        outcome("B", "node01", "skipped", GONE), {"event": "unreachable", "hosts": SILENT, "site": False}
    )
    assert result.unreachable == SILENT


@pytest.mark.parametrize(
    "other",
    [
        outcome("A", "node02"),
        outcome("A", "node02", "failed", "broken"),
        outcome("A", "node02", "skipped", "a container"),
        outcome("A", "site", "failed", "broken"),
    ],
)
def test_one_check_that_ran_makes_it_a_verdict_about_the_cluster(other):
    result, lines = finished(
        {"event": "plan", "checks": {"R": 1, "A": 1}},
        outcome("R", "node01", "failed", "refused"),
        other,
        {"event": "unreachable", "hosts": SILENT, "site": False},
    )
    assert result.unreachable == {}
    assert lines[:2] == ["  FAIL  R (node01)", "        node01: refused"]
