"""What verify found, and how it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

Event = dict[str, Any]
# Left out because another check has failed, which is told there; once at the end is enough.
CONSEQUENCES = ("the host does not answer", "no job can be submitted", "the controller does not answer")


@dataclass(frozen=True)
class Failure:
    """One check that failed on one host (`site` where it is about the cluster as a whole)."""

    host: str
    check: str
    reason: str
    fix: str | None = None
    expected: str | None = None
    found: str | None = None
    cause: str | None = None


@dataclass(frozen=True)
class Outcome:
    """One check on one host: `passed`, `failed` or `skipped`; `reason` says why it was skipped."""

    check: str
    host: str
    outcome: str
    reason: str | None = None


@dataclass
class VerifyResult:
    """Counts over checks and hosts. A check on four hosts counts four times."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    failures: list[Failure] = field(default_factory=list)
    # What each check came to on each host, in the order in which it was told.
    outcomes: list[Outcome] = field(default_factory=list)
    # Check to hosts that passed, failed, were skipped.
    checks: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    # Hosts that SSH did not reach, and what it said; only when no check at all could run because of them.
    unreachable: dict[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Something was checked, and nothing failed."""
        return self.failed == 0 and self.passed > 0

    def as_dict(self) -> dict[str, Any]:
        """As `hpcprov verify --json` prints it."""
        document = asdict(self)
        del document["unreachable"]  # the exit code and the words say it
        words = ("check", "passed", "failed", "skipped")
        document["checks"] = [dict(zip(words, (name, *counts), strict=True)) for name, counts in self.checks.items()]
        return document


@dataclass
class _Check:
    """One check while its hosts come in."""

    left: int
    passed: list[str] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    skipped: dict[str, list[str]] = field(default_factory=dict)  # reason to hosts


class Tally:
    """Turns the plugin's events into a result, and into one line per finished check."""

    def __init__(self, report: Callable[[str], None]) -> None:
        self.result = VerifyResult()
        self._report = report
        self._checks: dict[str, _Check] = {}
        self._consequences: dict[str, int] = {}
        self._held: list[str] = []
        self._answered: set[str] = set()  # hosts that said why a check does not apply to them

    def take(self, event: Event) -> None:
        """One event of the plugin."""
        if event["event"] == "plan":
            self._checks = {name: _Check(count) for name, count in event["checks"].items()}
        elif event["event"] == "outcome":
            self._outcome(event)
        elif event["event"] == "unreachable" and self._nothing_ran(event["hosts"], event["site"]):
            self.result.unreachable = event["hosts"]

    def _nothing_ran(self, hosts: dict[str, str], site: bool) -> bool:
        """Whether all that came back is what must come back when these hosts are silent."""
        silent = {*hosts, "site"} if site else set(hosts)
        failed = {failure.host for failure in self.result.failures}
        return not self.result.passed and failed <= silent and self._answered <= silent | {"site"}

    def _outcome(self, event: Event) -> None:
        name, host = event["check"], event["host"]
        left_out = event["outcome"] == "skipped"
        self.result.outcomes.append(Outcome(name, host, event["outcome"], event["reason"] if left_out else None))
        self._count(name, event["outcome"])
        check = self._checks.setdefault(name, _Check(1))
        check.left -= 1
        if event["outcome"] == "passed":
            self.result.passed += 1
            check.passed.append(host)
        elif event["outcome"] == "skipped":
            self.result.skipped += 1
            if event["reason"] in CONSEQUENCES:
                self._consequences[event["reason"]] = self._consequences.get(event["reason"], 0) + 1
            else:
                check.skipped.setdefault(event["reason"], []).append(host)
                self._answered.add(host)
        else:
            parts = ("fix", "expected", "found", "cause")
            failure = Failure(host, name, event["reason"], **{part: event.get(part) for part in parts})
            self.result.failed += 1
            self.result.failures.append(failure)
            check.failed.append(failure)
        if check.left <= 0:
            self._held += lines(name, check)
        if self.result.passed:
            self._tell_held()

    def _count(self, name: str, outcome: str) -> None:
        passed, failed, skipped = self.result.checks.get(name, (0, 0, 0))
        good, left_out = outcome == "passed", outcome == "skipped"
        self.result.checks[name] = (passed + good, failed + (not good and not left_out), skipped + left_out)

    def finish(self) -> VerifyResult:
        """Say how much could not be checked, and give the result."""
        if self.result.unreachable:
            return self.result  # one error says it all
        self._tell_held()
        for reason, count in self._consequences.items():
            self._report(f"  skip  {count} more checks: {reason}")
        return self.result

    def _tell_held(self) -> None:
        """Until a first check holds, it may still turn out that none could run, and then these lines are noise."""
        for line in self._held:
            self._report(line)
        self._held.clear()


def hosts_in_words(hosts: list[str]) -> str:
    """A few names, or how many."""
    if hosts == ["site"]:
        return ""
    return ", ".join(hosts) if len(hosts) <= 3 else f"{len(hosts)} hosts"


def _with_hosts(text: str, hosts: list[str]) -> str:
    named = hosts_in_words(hosts)
    return f"{text} ({named})" if named else text


def lines(name: str, check: _Check) -> Iterator[str]:
    """A finished check in words."""
    if check.failed:
        yield f"  FAIL  {_with_hosts(name, [failure.host for failure in check.failed])}"
        for failure in check.failed:
            where = "" if failure.host == "site" else f"{failure.host}: "
            yield f"        {where}{failure.reason}"
            if failure.fix:
                yield f"        fix: {failure.fix}"
    elif check.passed:
        yield f"  ok    {_with_hosts(name, check.passed)}"
    for reason, hosts in check.skipped.items():
        yield f"  skip  {_with_hosts(name, hosts)}: {reason}"
