"""A plan in words: in full for `hpcprov plan`, in a few lines at the start of a deploy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hpcprov.plan.compare import Plan
from hpcprov.plan.diff import Change, Detail, shown
from hpcprov.plan.effects import FIRST, Cost, Effect
from hpcprov.plan.jobs import in_words
from hpcprov.plan.parts import PARTS
from hpcprov.preflight.report import hostlist

MARKS = {"added": "+", "removed": "-", "changed": "~"}
MANY = {"ends": "end", "stops the deploy": "stop the deploy", "waits longer": "wait longer"}
SHORT_NAMES = 4
SHORT_VALUE = 40
# Of what is new only these are worth a word; an admin knows the rest from the site file.
_ABOUT = ("CPUs", "RealMemory", "Gres", "Nodes", "MaxTime", "uid", "version", "on", "clients", "groups")


def full(plan: Plan) -> list[str]:
    """Every change with its effect and why, then jobs, what was edited by hand, restarts."""
    lines = [_heading(plan), *(f"  note: {note}" for note in plan.notes)]
    for part, rule in PARTS.items():
        changes = [change for change in plan.changes if change.part == part]
        if changes:
            lines += ["", rule.title, *(line for names, change in folded(changes) for line in _change(names, change))]
    lines += _section("Jobs", [_job_line(plan, number) for number in range(len(plan.jobs))])
    lines += _section(f"Edited on {_controller(plan)} since the last deploy, which this one sets back", _drift(plan))
    lines += _section("Asked before a deploy, unless --yes", list(plan.losses))
    if plan.restarts:
        told = ", ".join(f"{service} on {hosts}" for service, hosts in plan.restarts.items())
        lines += ["", f"A deploy restarts {told}; running jobs go on unless it says so above."]
    return lines


def short(plan: Plan) -> list[str]:
    """One line for each part that changes; nothing when nothing does."""
    if plan.first:
        count = sum(change.part in ("hosts", "nodes") for change in plan.changes)
        hosts = "1 host" if count == 1 else f"{count:,} hosts"
        return [f"first deploy: {hosts}, everything is new"] if plan.changes else []
    lines = []
    for part, rule in PARTS.items():
        changes = [change for change in plan.changes if change.part == part]
        if changes:
            lines.append(f"{rule.title}: {_short_changes(changes)}")
    lines += [f"edited by hand on {_controller(plan)}, set back: {_names(plan.drift)}"] if plan.drift else []
    return lines + [_job_line(plan, number) for number in range(len(plan.jobs))]


def _heading(plan: Plan) -> str:
    if plan.is_empty:
        return f"{plan.cluster}: nothing would change."
    worst = max((change.effect for change in plan.changes), key=lambda effect: effect.weight)
    count = f"{len(plan.changes):,} {'change' if len(plan.changes) == 1 else 'changes'}"
    since = f", since the deploy of {plan.since}" if plan.since else ""
    return f"{plan.cluster}: {count}{since}" + ("" if plan.first else f"; the most that one needs: {worst}")


def folded(changes: Iterable[Change]) -> list[tuple[str, Change]]:
    """Changes that are alike once, with their names; nodes and hosts as a hostlist."""
    alike: dict[tuple[object, ...], list[Change]] = {}
    for change in changes:
        alike.setdefault((change.part, change.action, change.details, change.cost), []).append(change)
    return [(_fold(same[0].part, [each.name for each in same]), same[0]) for same in alike.values()]


def _fold(part: str, names: list[str]) -> str:
    return hostlist(names) if part in ("nodes", "hosts") else ", ".join(names)


def _change(names: str, change: Change) -> list[str]:
    mark = MARKS[change.action]
    if change.part == "slurm.conf" and len(change.details) == 1:
        return _with_cost(f"  {mark} {names}  {_values(change.details[0])}", change.details[0])
    if change.action != "changed" or not change.details:
        about = " ".join(f"{item.key}={item.new or item.old}" for item in change.details if item.key in _ABOUT)
        return _with_cost(f"  {mark} {names}  {about}".rstrip(), change)
    told: dict[Cost, list[str]] = {}
    for detail in change.details:
        told.setdefault(detail.cost, []).append(f"{detail.key} {_values(detail)}")
    if len(told) == 1:
        return _with_cost(f"  {mark} {names}  {', '.join(*told.values())}", change)
    lines = [line for cost, values in told.items() for line in _with_cost(f"      {', '.join(values)}", cost, indent=8)]
    return [f"  {mark} {names}", *lines]


def _with_cost(text: str, of: Change | Detail | Cost, *, indent: int = 6) -> list[str]:
    cost = of if isinstance(of, Cost) else of.cost
    effect = "" if cost is FIRST or (cost.effect is Effect.NONE and cost.why) else f"  [{cost.effect}]"
    unknown = f" ({cost.source})" if not cost.known else ""
    why = [f"{' ' * indent}{cost.why}"] if cost.why else []
    return [f"{text}{effect}{unknown}", *why]


def _values(detail: Detail) -> str:
    old, new = shown(detail)
    return f"{_cut(old)} → {_cut(new)}"


def _cut(value: str | None) -> str:
    if value is None or value == "":
        return "(none)"
    return value if len(value) <= SHORT_VALUE else value[: SHORT_VALUE - 1] + "…"


def _short_changes(changes: Sequence[Change]) -> str:
    told = []
    for names, change in folded(changes):
        keys = ", ".join(detail.key for detail in change.details)
        if change.part == "slurm.conf" and len(change.details) == 1:
            what = f"{names} {_values(change.details[0])}"
        elif change.action == "changed" and len(change.details) == 1:
            what = f"{names} {keys} {_values(change.details[0])}"
        else:
            what = f"{MARKS[change.action]} {names}" + (f" ({keys})" if change.action == "changed" and keys else "")
        told.append(what + ("" if change.effect is Effect.NONE else f" [{change.effect}]"))
    more = len(told) - SHORT_NAMES
    return "; ".join(told[:SHORT_NAMES]) + (f"; and {more} more (hpcprov plan)" if more > 0 else "")


def _job_line(plan: Plan, number: int) -> str:
    entry = plan.jobs[number]
    fate = entry.fate if len(entry.jobs) == 1 else MANY.get(entry.fate, entry.fate)
    return f"{in_words(entry.jobs)} ({entry.where}) {fate}: {entry.why}"


def _drift(plan: Plan) -> list[str]:
    lines = []
    for names, change in folded(plan.drift):
        told = ", ".join(f"{detail.key} {_values(detail)}" for detail in change.details) or change.action
        where = "" if change.part == "slurm.conf" else f"{change.part} {names}: "
        lines.append(f"{where}{told}")
    return lines


def _names(changes: Sequence[Change]) -> str:
    names = [names for names, _ in folded(changes)]
    return ", ".join(names[:SHORT_NAMES]) + (
        f" and {len(names) - SHORT_NAMES} more" if len(names) > SHORT_NAMES else ""
    )


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", title, *(f"  {line}" for line in lines)] if lines else []


def _controller(plan: Plan) -> str:
    return plan.live.controller if plan.live else "the controller"
