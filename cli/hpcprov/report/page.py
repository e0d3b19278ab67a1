"""What stands on the page: everything is decided here, the templates only lay it out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hpcprov.report import charts
from hpcprov.report.folding import BAD, SITE, STATES, HostGroup, Problem, host_groups, problems
from hpcprov.results import Result
from hpcprov.verdict import Verdict, verdict

# More than this nobody reads; the rest is folded, and result.json has it all.
MOST_CARDS = 24
MOST_PROBLEMS = 40
JOURNAL_LINES = 20
LONGEST = 4000  # characters of one text
STORAGE = {
    "kernel": "NFS, served by the kernel",
    "ganesha": "NFS, served by nfs-ganesha",
    "external": "provided from outside, only checked",
}


@dataclass(frozen=True)
class Hosts:
    """The grid: `cards` are single hosts. On a large site most are in `folded` groups, and `rows` has each of them."""

    total: int
    counts: list[tuple[str, int]]
    cards: list[HostGroup]
    folded: list[HostGroup]
    rows: list[HostGroup]


@dataclass(frozen=True)
class Check:
    """One check of verify: failed if it did on any host, skipped if it ran on none."""

    check: str
    state: str
    hosts: str


@dataclass(frozen=True)
class Page:
    """One report."""

    result: Result
    title: str
    verdict: Verdict
    started: str
    seconds: str
    errors: list[Problem]
    warnings: list[Problem]
    more: int
    timeline: charts.Timeline
    hosts: Hosts
    checks: list[Check]
    curves: list[charts.Curve]
    training: list[tuple[str, str]]
    epochs: list[tuple[int, str, str]]
    storage: str
    command: str


def page(result: Result) -> Page:
    """The report of a run, also of one that broke off."""
    said = verdict(result)
    found = problems(result)
    errors = [problem for problem in found if problem.level == "error"]
    warnings = [problem for problem in found if problem.level != "error"]
    shown = errors[:MOST_PROBLEMS]
    return Page(
        result=result,
        title=f"{result.cluster or 'site'}: {said.word.lower()}",
        verdict=said,
        started=_moment(result.started),
        seconds=charts.duration(result.seconds),
        errors=shown,
        warnings=warnings[:MOST_PROBLEMS],
        more=len(errors) - len(shown),
        timeline=charts.timeline(result),
        hosts=_hosts(result, errors),
        checks=_checks(result),
        curves=_curves(result),
        training=_training(result),
        epochs=_epochs(result),
        storage=STORAGE.get(result.nfs_backend or "", result.nfs_backend or ""),
        command=" ".join(result.command),
    )


def _moment(text: str) -> str:
    try:
        return datetime.fromisoformat(text).strftime("%-d %B %Y, %H:%M:%S %Z").strip()
    except ValueError:
        return text


def _hosts(result: Result, errors: list[Problem]) -> Hosts:
    broken = {host: problem.rule or "failed" for problem in errors for host in problem.hosts if host != SITE}
    each = host_groups(result.hosts, broken, together=False)
    counts = [(word, sum(group.state == word for group in each)) for word in STATES]
    counts = [(word, count) for word, count in counts if count]
    if len(each) <= MOST_CARDS:
        return Hosts(len(each), counts, each, [], [])
    bad = [group for group in each if group.state in BAD][:MOST_CARDS]
    named = {group.hosts[0] for group in bad}
    rest = {name: host for name, host in result.hosts.items() if name not in named}
    return Hosts(len(each), counts, bad, host_groups(rest, broken, together=True), each)


def _checks(result: Result) -> list[Check]:
    """Failed ones first, those that ran nowhere last."""
    found = []
    for one in result.verify.checks if result.verify else []:
        state = "failed" if one.failed else "passed" if one.passed else "skipped"
        counts = [(one.failed, "failed"), (one.passed, "passed"), (one.skipped, "skipped")]
        several = ", ".join(f"{count:,} {word}" for count, word in counts if count)
        only = one.passed + one.failed + one.skipped
        hosts = several if several.count(",") else f"{only:,} hosts" if only > 1 else ""
        found.append(Check(one.check, state, hosts))
    return sorted(found, key=lambda check: ("failed", "passed", "skipped").index(check.state))


def _curves(result: Result) -> list[charts.Curve]:
    smoke = result.smoke
    if smoke is None:
        return []
    drawn = [
        charts.curve("Training loss", smoke.loss, digits=3, low=0.0),
        charts.curve("Test accuracy", smoke.accuracies, digits=3),
    ]
    return [one for one in drawn if one is not None]


def _training(result: Result) -> list[tuple[str, str]]:
    smoke = result.smoke
    if smoke is None:
        return []
    speed = f"{smoke.samples_per_second:,.0f} images per second" if smoke.samples_per_second else ""
    pairs = [
        ("Result", "passed" if smoke.passed else f"not passed: {smoke.reason or 'no reason given'}"),
        ("Test accuracy", f"{smoke.accuracy:.3f}" if smoke.accuracy is not None else ""),
        ("Job", str(smoke.job_id or "")),
        ("Ranks", str(smoke.ranks or "")),
        ("Nodes", ", ".join(smoke.nodes)),
        ("Speed", speed),
        ("Framework", smoke.framework or ""),
    ]
    return [(name, value) for name, value in pairs if value]


def _epochs(result: Result) -> list[tuple[int, str, str]]:
    if result.smoke is None:
        return []
    loss, accuracies = result.smoke.loss, result.smoke.accuracies
    return [
        (
            number + 1,
            f"{loss[number]:.4f}" if number < len(loss) else "",
            f"{accuracies[number]:.4f}" if number < len(accuracies) else "",
        )
        for number in range(max(len(loss), len(accuracies)))
    ]


def clipped(text: str, limit: int = LONGEST) -> str:
    """A text of reasonable length; the log has it whole."""
    return text if len(text) <= limit else f"{text[:limit]} … ({len(text) - limit:,} more characters)"
