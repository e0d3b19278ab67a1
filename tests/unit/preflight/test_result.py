"""What a run of preflight comes to: the result, the refusal, the words."""

from __future__ import annotations

from hpcprov.preflight import Finding, Level, PreflightResult, refusal, render, summary
from hpcprov.preflight.result import reached

from .cluster_look import facts

OFF = Finding("node01", "unreachable", Level.ERROR, "does not answer", fix="is it on?")
UNFIT = Finding("node02", "python", Level.ERROR, "has no python3", fix="install it")
CLOCK = Finding("node03", "clock", Level.WARNING, "the clock is 2.0 s ahead of the control host's", "no time server")


def result(*findings: Finding, hosts: int = 4) -> PreflightResult:
    return PreflightResult(tuple(f"node{number:02d}" for number in range(1, hosts + 1)), findings=findings)


def test_dead_and_unfit_are_told_apart() -> None:
    found = result(OFF, UNFIT, CLOCK)
    assert (found.errors, found.warnings) == ([OFF, UNFIT], [CLOCK])
    assert (found.dead, found.unfit) == (["node01"], ["node02"])
    assert OFF.is_dead and not UNFIT.is_dead


def test_any_error_is_a_refusal_that_tells_all_of_them() -> None:
    error = refusal(result(OFF, UNFIT, CLOCK))
    assert error is not None and error.exit_code == 4
    assert error.message == "2 of 4 hosts cannot be converged"
    assert error.why is not None and "node01: does not answer" in error.why and "node02: has no python3" in error.why
    assert "clock" not in error.why
    assert [(problem.host, problem.message, problem.hint) for problem in error.problems] == [
        ("node01", "does not answer", "is it on?"),
        ("node02", "has no python3", "install it"),
    ]


def test_warnings_are_no_refusal() -> None:
    assert refusal(result(CLOCK)) is None
    assert refusal(result()) is None


def test_hosts_with_one_finding_are_told_together() -> None:
    many = [Finding(f"node{number:03d}", "python", Level.ERROR, "has no python3") for number in range(1, 101)]
    assert render(many) == ["error: node[001-100]: has no python3 (python)"]
    long = [Finding(name, "python", Level.ERROR, "has no python3") for name in ("a.x.org", "b.x.org")]
    assert render(long) == ["error: a.x.org, b.x.org: has no python3 (python)"]


def test_summary_counts_what_is_shown() -> None:
    assert summary(result(hosts=1)) == "1 host, nothing found"
    assert summary(result(OFF, UNFIT, CLOCK)) == "4 hosts, 2 errors, 1 warning"


def test_reached_is_what_the_wheels_are_chosen_by() -> None:
    lab = reached("node01", facts("node01"))
    assert (lab.os, lab.python, lab.machine, lab.glibc, lab.has_gpu) == (
        "Debian GNU/Linux 12 (bookworm)", "3.11.2", "x86_64", "2.36", False,
    )  # fmt: skip
    old = facts(
        "node01", {"pythons": "/usr/bin/python3 3.6.8\n/usr/bin/python3.9 3.9.19", "identity": {"gpu": "nvidia"}}
    )
    assert (reached("node01", old).python, reached("node01", old).has_gpu) == ("3.9.19", True)
    assert reached("node01", facts("node01", {"pythons": ""})).python == ""
