"""One JUnit file for CI: the phases, what preflight found, and the checks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree as ET

from hpcprov.report.folding import Problem, problems
from hpcprov.results import PhaseResult, Result

VERIFY = "verify"
# What XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def document(result: Result, present: Path) -> str:
    """The file. The checks' own suite is taken from `present`, where pytest wrote it, if it is there."""
    root = ET.Element("testsuites", name=f"hpcprov {_clean(result.cluster or '')}".strip())
    root.append(_phases(result))
    findings = [problem for problem in problems(result) if problem.phase == "preflight"]
    if findings:
        root.append(_preflight(findings))
    checks = _of_pytest(present)
    if checks is None and result.verify is not None:
        checks = _verify(result)
    if checks is not None:
        root.append(checks)
    for key in ("tests", "failures", "errors", "skipped"):
        root.set(key, str(sum(int(suite.get(key) or 0) for suite in root)))
    root.set("time", f"{result.seconds:.3f}")
    ET.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _phases(result: Result) -> ET.Element:
    cases = [_phase(phase, result) for phase in result.phases]
    named = {phase.name for phase in result.phases}
    # What failed before a phase began still has to be red.
    for failure in result.failures:
        if failure.phase not in named:
            cases.append(_case("phases", failure.phase or "run", failure=failure.reason))
            named.add(failure.phase or "run")
    if result.exit_code is None:
        cases.append(_case("phases", "run", failure="the run is not over, or was killed"))
    return _suite("phases", cases)


def _phase(phase: PhaseResult, result: Result) -> ET.Element:
    # A phase that went on without some hosts is done, but not good.
    reasons = [
        "\n".join(filter(None, [f"{item.host}: {item.reason}" if item.host else item.reason, *item.journal]))
        for item in result.failures
        if item.phase == phase.name
    ]
    text = "\n".join(reasons) or ("" if phase.status == "done" else f"{phase.name} {phase.status}")
    return _case("phases", phase.name, seconds=phase.seconds, failure=text)


def _preflight(findings: list[Problem]) -> ET.Element:
    """A warning is a case that passed, with its text."""
    cases = []
    for finding in findings:
        text = "\n".join(filter(None, [finding.title, finding.cause, f"fix: {finding.fix}" if finding.fix else ""]))
        for host in finding.hosts:
            error = finding.level == "error"
            cases.append(_case(f"preflight.{host}", finding.title, failure=text if error else ""))
            if not error:
                ET.SubElement(cases[-1], "system-out").text = _clean(text)
    return _suite("preflight", cases)


def _of_pytest(present: Path) -> ET.Element | None:
    try:
        root = ET.parse(present).getroot()
    except (OSError, ET.ParseError):
        return None
    suite = next((one for one in root.iter("testsuite") if one.get("name") in (VERIFY, "pytest")), None)
    if suite is not None:
        suite.set("name", VERIFY)
    return suite


def _verify(result: Result) -> ET.Element:
    """Without pytest's own file only the failed checks have names."""
    assert result.verify is not None
    cases = []
    for check in result.verify.failures:
        told = {"expected": check.expected, "found": check.found, "cause": check.cause, "fix": check.fix}
        parts = [f"{name}: {text}" for name, text in told.items() if text]
        cases.append(_case(f"verify.{check.host}", check.check, failure="\n".join([check.reason, *parts])))
    return _suite(VERIFY, cases)


def _suite(name: str, cases: Iterable[ET.Element]) -> ET.Element:
    suite = ET.Element("testsuite", name=name)
    suite.extend(cases)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in suite)))
    suite.set("errors", "0")
    suite.set("skipped", "0")
    suite.set("time", f"{sum(float(case.get('time') or 0) for case in suite):.3f}")
    return suite


def _case(classname: str, name: str, *, seconds: float = 0.0, failure: str = "") -> ET.Element:
    case = ET.Element("testcase", classname=_clean(classname), name=_clean(name), time=f"{seconds:.3f}")
    if failure:
        first = failure.strip().splitlines()[0]
        ET.SubElement(case, "failure", message=_clean(first)).text = _clean(failure)
    return case


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
