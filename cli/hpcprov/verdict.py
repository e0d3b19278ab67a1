"""What may be said about a run, in words, and how to go on. Pure functions of the results."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Literal

from hpcprov.errors import SiteError
from hpcprov.phases import PLAYBOOKS, PREPARATION, Phase
from hpcprov.results import Result, SmokeResult

Kind = Literal["passed", "failed", "unproven", "checked", "stopped", "unfinished"]
WORDS: dict[Kind, str] = {
    "passed": "Passed",
    "failed": "Failed",
    "unproven": "Not proven",
    "checked": "Nothing was changed",
    "stopped": "Stopped",
    "unfinished": "Not finished",
}
INTERRUPTED = 130


@dataclass(frozen=True)
class Verdict:
    """One word, one sentence, and the command to go on with and what it is for."""

    kind: Kind
    sentence: str
    purpose: str
    command: str

    @property
    def word(self) -> str:
        """The verdict at one glance."""
        return WORDS[self.kind]


def verdict(result: Result) -> Verdict:
    """The verdict. Only a training job of this run proves a cluster."""
    kind = _kind(result)
    deploy = _command("deploy", result)
    if kind == "passed":
        return Verdict(kind, good(result), "Check it at any time", _command("verify", result))
    if kind == "unproven" and converged(result):
        return Verdict(kind, good(result), "Prove it", _command("smoke", result))
    if kind in ("checked", "unproven"):
        return Verdict(kind, good(result), "Do it", deploy)
    purpose = "When it is mended, go on with" if kind == "failed" else "Go on with"
    sentence = {"failed": _failed, "stopped": _stopped, "unfinished": _unfinished}[kind](result)
    return Verdict(kind, sentence, purpose, _resume(result))


def good(result: Result) -> str:
    """What a run that did not fail has shown."""
    name = result.cluster or result.site
    if not converged(result):
        return f"{name}: done up to {result.phases[-1].name}, nothing was converged."
    if result.check:
        count = sum(host.changed for host in result.hosts.values())
        return f"{name}: {count} tasks would change something." if count else f"{name}: nothing would change."
    if result.proven and result.smoke is not None:
        return f"{name} works: {_trained(result.smoke)}."
    return f"{name} is converged, not proven: no training job ran."


def _trained(smoke: SmokeResult) -> str:
    count = len(smoke.nodes)
    return f"job {smoke.job_id} trained across {count} {'node' if count == 1 else 'nodes'}"


def converged(result: Result) -> bool:
    """Whether the run came to Ansible at all."""
    return any(phase.name in PLAYBOOKS for phase in result.phases)


def hosts_in_words(names: list[str]) -> str:
    """A few names, or a few and how many more."""
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3:,} more"


def _kind(result: Result) -> Kind:
    if result.exit_code is None:
        return "unfinished"
    if result.exit_code == INTERRUPTED:
        return "stopped"
    if result.verdict != "passed":
        return "failed"
    if result.check:
        return "checked"
    return "passed" if result.proven else "unproven"


def _failed(result: Result) -> str:
    """Where and on which hosts; the causes stand below it."""
    if result.exit_code == SiteError.exit_code:
        return f"{result.site} is not valid, nothing was touched."
    name = result.cluster or result.site
    phase = failed_phase(result)
    checks = result.verify.failures if result.verify and phase == Phase.VERIFY else []
    named = dict.fromkeys([check.host for check in checks] or [item.host for item in result.failures if item.host])
    # In the order of the site; a host that the results do not list comes last.
    hosts = [host for host in dict.fromkeys([*result.hosts, *named]) if host in named and host != "site"]
    where = f" on {hosts_in_words(hosts)}" if hosts else ""
    if checks:
        count = "1 check" if len(checks) == 1 else f"{len(checks):,} checks"
        return f"{name} is not as it should be: {count} failed{where}."
    if hosts and converged(result) and all(item.status == "done" for item in result.phases):
        proof = f" The others work: {_trained(result.smoke)}." if result.proven and result.smoke else ""
        return f"{name} is not complete, all was done without {hosts_in_words(hosts)}.{proof}"
    return f"{name}: {phase or 'the run'} failed{where}."


def _stopped(result: Result) -> str:
    done = [phase.name for phase in result.phases if phase.status == "done"]
    return f"{result.cluster or result.site}: stopped by the user. Done: {', '.join(done) or 'nothing'}."


def _unfinished(result: Result) -> str:
    return f"{result.cluster or result.site}: this run still works, or was killed. What is known so far stands below."


def failed_phase(result: Result) -> str | None:
    """The phase that ended the run."""
    broken = [phase.name for phase in result.phases if phase.status != "done"]
    return next(iter([*broken, *(item.phase for item in result.failures if item.phase)]), None)


def _resume(result: Result) -> str:
    phase = failed_phase(result)
    if result.command[1:2] == ["smoke"]:
        return _command("smoke", result)
    command = _command("deploy", result)
    return command if phase is None or phase in PREPARATION else f"{command} --from {phase}"


def _command(name: str, result: Result) -> str:
    return shlex.join(["hpcprov", name, result.site])
