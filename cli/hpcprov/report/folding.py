"""Thousands of hosts on one page: what is said of each is said once, with the names folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hpcprov.results import HostResult, Result
from hpcprov.slurm import hostlist
from hpcprov.verdict import INTERRUPTED

SITE = "site"  # where something is about the cluster as a whole
FEW = 4
LONGEST_NAMES = 240  # characters; a hostlist full of holes says nothing


@dataclass
class Problem:
    """Something that is wrong, and all hosts where it is."""

    phase: str
    title: str
    reason: str
    level: str = "error"
    rule: str = ""
    expected: str = ""
    found: str = ""
    cause: str = ""
    fix: str = ""
    journal: list[str] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)

    @property
    def where(self) -> str:
        """The hosts in words; nothing where it is about the whole cluster."""
        return names([host for host in self.hosts if host != SITE])

    @property
    def short(self) -> str:
        """Why, in one line."""
        said = self.found or self.reason or self.cause
        return said.strip().splitlines()[0] if said.strip() else ""

    def key(self) -> tuple[str, ...]:
        """Equal for the same trouble on other hosts, also where the text names the host."""
        texts = (self.phase, self.title, self.level, self.reason, self.expected, self.found, self.cause, self.fix)
        host = self.hosts[0] if self.hosts else ""
        if not host or not any(host in text for text in texts):
            return texts
        pattern = re.compile(rf"(?<![\w.-]){re.escape(host)}(?![\w-])")
        return tuple(pattern.sub("\0", text) for text in texts)


def names(hosts: Iterable[str]) -> str:
    """Hosts for a reader: a few by name, more as a hostlist, of which a long one is cut."""
    listed = list(dict.fromkeys(hosts))
    if len(listed) == 1:
        return listed[0]
    text = ", ".join(listed) if len(listed) <= FEW else hostlist.fold(listed).replace(",", ", ")
    if len(text) <= LONGEST_NAMES:
        return text
    return f"{text[:LONGEST_NAMES].rpartition(',')[0] or text[:LONGEST_NAMES]}, … ({len(listed):,} hosts)"


def problems(result: Result) -> list[Problem]:
    """Everything that is wrong, the same on many hosts once, what stopped the run first."""
    found = [*_findings(result), *_checks(result), *_failures(result)]
    folded: dict[tuple[str, ...], Problem] = {}
    hosts: dict[tuple[str, ...], dict[str, None]] = {}
    for problem in found:
        key = problem.key()
        folded.setdefault(key, problem)
        hosts.setdefault(key, {}).update(dict.fromkeys(problem.hosts))
    for key, problem in folded.items():
        problem.hosts = list(hosts[key])
    return sorted(folded.values(), key=lambda problem: problem.level != "error")


def _findings(result: Result) -> Iterable[Problem]:
    for finding in result.preflight.findings if result.preflight else []:
        yield Problem(
            phase="preflight", title=finding.message, reason="", level=finding.level, rule=finding.rule,
            cause=finding.cause, fix=finding.fix, hosts=[finding.host],
        )  # fmt: skip


def _checks(result: Result) -> Iterable[Problem]:
    for check in result.verify.failures if result.verify else []:
        yield Problem(
            phase="verify", title=check.check, reason="" if check.expected and check.found else check.reason,
            expected=check.expected or "", found=check.found or "", cause=check.cause or "", fix=check.fix or "",
            hosts=[check.host],
        )  # fmt: skip


def _failures(result: Result) -> Iterable[Problem]:
    """What ended the run, unless the checks and findings say it better."""
    checks = bool(result.verify and result.verify.failures)
    unfit = {host for finding in _findings(result) if finding.level == "error" for host in finding.hosts}
    for failure in result.failures:
        if (failure.phase == "verify" and checks) or (failure.phase == "preflight" and failure.host in unfit):
            continue
        if failure.host is None and result.exit_code == INTERRUPTED:
            continue  # that it was stopped is the verdict
        place = ": ".join(part for part in (failure.role, failure.task) if part)
        reason = failure.reason.removeprefix(f"{failure.host}: ")
        first, _, rest = reason.partition("\n")
        yield Problem(
            phase=failure.phase or "", title=place or first, reason=reason if place else rest,
            fix=failure.fix or "", journal=failure.journal, hosts=[failure.host] if failure.host else [],
        )  # fmt: skip


@dataclass(frozen=True)
class HostGroup:
    """Hosts of which the same is to be said."""

    hosts: tuple[str, ...]
    state: str
    groups: str
    os: str
    tasks: str
    services: str

    @property
    def title(self) -> str:
        """The name of one host, the number of many."""
        return self.hosts[0] if len(self.hosts) == 1 else f"{len(self.hosts):,} hosts"

    @property
    def names(self) -> str:
        """All of them, as far as they fit."""
        return names(self.hosts)


STATES = ("failed", "unreachable", "changed", "unchanged", "not touched")
BAD = STATES[:2]


def state(name: str, host: HostResult, broken: Mapping[str, str]) -> str:
    """One word for a host; `broken` are the hosts of problems."""
    if host.unreachable or broken.get(name) == "unreachable":
        return "unreachable"
    if host.failed or name in broken:
        return "failed"
    if host.changed:
        return "changed"
    return "unchanged" if host.ok else "not touched"


def host_groups(all_hosts: Mapping[str, HostResult], broken: Mapping[str, str], *, together: bool) -> list[HostGroup]:
    """The hosts, the bad ones first. `together`: those that differ only in numbers of tasks are one group."""
    folded: dict[tuple[str, ...], list[str]] = {}
    for name, host in all_hosts.items():
        services = [f"started {_list(host.started)}"] if host.started else []
        services += [f"restarted {_list(host.restarted)}"] if host.restarted else []
        key = (state(name, host, broken), ", ".join(host.groups), host.os or "", "; ".join(services))
        folded.setdefault(key if together else (*key, name), []).append(name)
    groups = [
        HostGroup(
            hosts=tuple(members), state=key[0], groups=key[1], os=key[2], services=key[3],
            tasks=_tasks([all_hosts[name] for name in members]),
        )
        for key, members in folded.items()
    ]  # fmt: skip
    return sorted(groups, key=lambda group: STATES.index(group.state))


def _list(services: list[str]) -> str:
    return ", ".join(dict.fromkeys(services))


def _tasks(hosts: list[HostResult]) -> str:
    """Such as `41 ok, 3-5 changed`; nothing for hosts that Ansible did not get to."""
    parts = []
    for word in ("ok", "changed", "failed", "unreachable"):
        numbers = [getattr(host, word) for host in hosts]
        low, high = min(numbers), max(numbers)
        if high:
            parts.append(f"{low} {word}" if low == high else f"{low}\N{EN DASH}{high} {word}")
    return ", ".join(parts)
