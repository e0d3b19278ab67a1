"""A pytest plugin that tells the parent process what each check found, as JSON lines on a pipe."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any

import pytest

from hpcprov.verify.checks import CheckError

EVENTS = "hpcprov-events"  # under this name pytest has the plugin


def pytest_addoption(parser: pytest.Parser) -> None:
    """The pipe, as the number of an inherited file descriptor."""
    parser.addoption("--hpcprov-events", type=int, help="file descriptor that gets JSON lines")


def pytest_configure(config: pytest.Config) -> None:
    """Nothing to do without a pipe."""
    descriptor = config.getoption("--hpcprov-events")
    if descriptor is not None:
        config.pluginmanager.register(Events(descriptor), EVENTS)


def check_name(item: pytest.Item) -> str:
    """The check in an admin's words: the first line of the test's docstring."""
    text = getattr(getattr(item, "obj", None), "__doc__", None) or item.name
    return str(text).strip().splitlines()[0].rstrip(".")


def host_of(item: pytest.Item) -> str:
    """The host that the check looks at, `site` when it is about the whole cluster."""
    callspec = getattr(item, "callspec", None)
    return str(callspec.params.get("probe", "site")) if callspec else "site"


class Events:
    """The hooks."""

    def __init__(self, descriptor: int) -> None:
        self._pipe = os.fdopen(descriptor, "w", encoding="utf-8")

    def _tell(self, **event: Any) -> None:
        self._pipe.write(json.dumps(event) + "\n")
        self._pipe.flush()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A test file that cannot be read is our own fault, not the cluster's."""
        if report.failed:
            self._tell(event="broken", reason=str(report.longrepr))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """How many outcomes to expect for each check."""
        self._tell(event="plan", checks=dict(Counter(check_name(item) for item in session.items)))

    def unreachable(self, hosts: dict[str, str], *, site: bool) -> None:
        """The checks are done: hosts that SSH did not reach, and whether checks of the site as a whole need them."""
        self._tell(event="unreachable", hosts=hosts, site=site)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        """One outcome: what failed in any stage, else what the call came to."""
        report: pytest.TestReport = (yield).get_result()
        if report.when != "call" and report.outcome == "passed":
            return
        reason = None
        parts: dict[str, str | None] = {}
        if report.outcome == "failed" and call.excinfo:
            error = call.excinfo.value
            reason = f"{type(error).__name__}: {error}"
            if isinstance(error, CheckError):
                reason, parts = error.reason, error.parts
                report.longrepr = str(error)  # in JUnit, too, the admin reads words and no traceback
        elif report.outcome == "skipped" and isinstance(report.longrepr, tuple):
            reason = str(report.longrepr[2]).removeprefix("Skipped: ")
        self._tell(
            event="outcome",
            check=check_name(item),
            host=host_of(item),
            outcome=report.outcome,
            reason=reason,
            **parts,
        )
