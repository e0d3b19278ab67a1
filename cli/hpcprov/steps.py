"""The phases of a deploy, one function each. Order, results and errors are the business of `deploy`."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from hpcprov import consent, leaving
from hpcprov.clock import Clock
from hpcprov.errors import ConvergeError, HostsError, HpcprovError, SiteError, SmokeError, VerifyError
from hpcprov.losses import Losses
from hpcprov.phases import PREPARATION, Phase
from hpcprov.progress import Progress
from hpcprov.results import CheckCounts, FailureResult, PreflightSummary, Result, VerifyFailure, VerifySummary
from hpcprov.site import Host, Site

if TYPE_CHECKING:
    from hpcprov.converge import Converge
    from hpcprov.deploy import Options
    from hpcprov.preflight import Reached
    from hpcprov.rundir import RunDir


@dataclass
class Steps:
    """What every phase works with."""

    site: Site
    options: Options
    run_dir: RunDir
    result: Result
    progress: Progress
    clock: Clock
    reached: Mapping[str, Reached] = field(default_factory=dict)
    # False when hosts were lost after the training job was made for more nodes than are left.
    trains: bool = True

    def run(self, chosen: tuple[Phase, ...]) -> None:
        """The chosen phases in their order; all playbooks together are one of the steps."""
        if self.options.command == "deploy" and Phase.PREFLIGHT in chosen:
            self.look_before(chosen)
        if Phase.LAB in chosen:
            self.lab()
        if Phase.PREFLIGHT in chosen:
            self.preflight()
        if playbooks := tuple(phase for phase in chosen if phase.is_playbook):
            self.converge(playbooks)
        try:
            if Phase.VERIFY in chosen:
                self.verify()
            if Phase.SMOKE in chosen:
                self.smoke()
        except (VerifyError, SmokeError, HostsError) as error:
            if self.losses.lost:
                raise self._without_the_lost(error) from error
            raise
        if self.losses.lost:
            raise self._without_the_lost()

    def look_before(self, chosen: tuple[Phase, ...]) -> None:
        """Show what the run will do to the cluster. Raises before the first change where work would be lost unasked."""
        from hpcprov.plan import live, make, render

        said = live.ask(self.site)
        losses: tuple[str, ...] = ()
        if playbooks := [phase for phase in chosen if phase.is_playbook]:
            try:
                plan = make.against(self.site, said, self._limited(), playbooks)
            except SiteError as error:  # what the nodes were when they were measured last may be what is wrong
                self.progress.line(f"no plan: {error.message}: {error.why}")
            else:
                losses = plan.losses
                for line in render.short(plan):
                    self.progress.line(line)
        leaving.empty_first(self.site, said, change=not self.options.check)
        if losses and not self.options.check:
            with self.progress.paused():
                consent.require(losses, yes=self.options.yes)

    @cached_property
    def losses(self) -> Losses:
        """Hosts that the run goes on without."""
        return Losses(self.site, self._limited())

    def _without_the_lost(self, also: HpcprovError | None = None) -> HpcprovError:
        done = [phase.name for phase in self.result.phases if phase.name not in PREPARATION]
        return self.losses.error(done, also)

    def lab(self) -> None:
        """Start the containers of a lab; other sites have their hosts already."""
        from hpcprov import lab

        if lab.is_lab(self.site):
            self.clock.begin(Phase.LAB, "containers on this machine")
            lab.up(self.site, self.progress.line)
            self.clock.end()

    def preflight(self) -> None:
        """Every host is there and fit for the roles. Raises HostsError, before anything is changed."""
        from hpcprov.preflight import dead, preflight, refusal, render, summary

        self.clock.begin(Phase.PREFLIGHT)
        found = preflight(self.site, self._limited(), self.progress.line)
        self.reached = found.reached
        for name, reached in self.reached.items():
            self.result.hosts[name].os = reached.os
        self.result.preflight = PreflightSummary.model_validate(
            {"findings": [item.as_dict() for item in found.findings]}
        )
        for line in render(found.warnings):
            self.progress.line(line)
        silent = dead(found)
        if self.losses.accept(silent):
            for name, error in silent.items():
                self.progress.line(f"going on without {name}: {error.message}")
                self.result.failures.append(FailureResult(phase=Phase.PREFLIGHT, host=name, reason=error.message))
        if refused := refusal(found, without=self.losses.lost):
            raise refused
        self.clock.end(summary(found))

    def converge(self, playbooks: tuple[Phase, ...]) -> None:
        """One Ansible run of all chosen playbooks."""
        from hpcprov import converge, secrets
        from hpcprov.ansible.runner import Request

        secrets.ensure(self.site.state_dir)
        if Phase.FRAMEWORKS in playbooks and not self.options.check:
            self._fetch_wheels_meanwhile()
        fewer = self.losses.smoke_nodes
        request = Request(
            playbooks=[converge.playbook(phase) for phase in playbooks],
            inventory=self.site.path,
            folder=self.run_dir.ansible,
            limit=self.losses.limit(self.options.limit),
            tags=self.options.tags,
            check=self.options.check,
            diff=self.options.diff,
            verbosity=max(0, self.options.verbosity - 1),
            # The job comes after verify, and its output is streamed.
            extra_vars={"smoke_run_job": False} | ({"smoke_nodes": fewer} if fewer else {}),
        )
        self.clock.begin(playbooks[0])
        run = converge.Converge(self.result, self.progress, self.clock)
        hosts = [host.name for host in self.losses.remaining]
        try:
            run.run(request)
        except (ConvergeError, HostsError):
            if not self.losses.accept(run.broken):
                raise
        finally:
            self._remember(run, hosts)
        self.trains = not run.broken or self.losses.smoke_nodes == fewer

    def _remember(self, run: Converge, hosts: Sequence[str]) -> None:
        """Keep what is in place now, for the next plan. What goes wrong with it is said, and changes no verdict."""
        from hpcprov.plan import state
        from hpcprov.plan.description import of_site
        from hpcprov.slurm.errors import SlurmConfigError

        if self.options.check or self.options.tags:
            return
        try:
            done = run.done_on(hosts, despite_failures=run.broken.keys() <= self.losses.lost.keys())
            state.record(self.site, of_site(self.site), state.Scope(done))
        except (SlurmConfigError, OSError) as error:
            self.progress.line(f"what was deployed is not saved, the next plan will tell it again: {error}")

    def verify(self) -> None:
        """The checks of tests/cluster. Raises VerifyError when one of them fails."""
        from hpcprov import report, verify

        self.clock.begin(Phase.VERIFY, "services, munge, storage, MPI, jobs")
        only = [host.name for host in self.losses.remaining] if self.options.limit or self.losses.lost else []
        outcome = verify.run(self.site, report=self._verify_line, junit=self.run_dir.path / report.JUNIT, hosts=only)
        failures = [VerifyFailure(**asdict(failure)) for failure in outcome.failures]
        self.result.verify = VerifySummary(
            passed=outcome.passed,
            failed=outcome.failed,
            skipped=outcome.skipped,
            failures=failures,
            checks=[
                CheckCounts(check=name, passed=passed, failed=failed, skipped=skipped)
                for name, (passed, failed, skipped) in outcome.checks.items()
            ],
        )
        note = f"{outcome.passed} passed, {outcome.failed} failed, {outcome.skipped} skipped"
        self.clock.end(note, status="done" if outcome.ok else "failed")
        if error := verify.nobody_answers(self.site, outcome):
            raise error
        if not outcome.ok:
            raise _verify_error(self.result.verify)

    def smoke(self) -> None:
        """The training job. Raises SmokeError when it did not pass."""
        from hpcprov import smoke

        if not self.trains:
            self.progress.line("smoke: no job was submitted, it was made for more nodes than are left")
            return
        self.clock.begin(Phase.SMOKE, "a CNN is trained across the compute nodes")
        outcome = smoke.run(self.site, self.progress.line)
        self.result.smoke = outcome
        self.result.proven = outcome.passed
        if outcome.framework:
            name, _, version = outcome.framework.partition(" ")
            if name.lower() not in map(str.lower, self.result.versions):
                self.result.versions[name] = version
        if not outcome.passed:
            self.clock.end(status="failed")
            raise SmokeError(f"the training job did not pass: {outcome.reason or 'no reason given'}")
        self.clock.end(f"test accuracy {outcome.accuracy:.3f}, {outcome.ranks} ranks on {len(outcome.nodes)} nodes")

    def _limited(self) -> list[Host]:
        from hpcprov.limit import limited

        return limited(self.site, self.options.limit)

    def _verify_line(self, line: str) -> None:
        """Checks that hold are counted and logged; the others, and those left out, are shown."""
        if line.lstrip().startswith("ok "):
            self.run_dir.log(line)
        else:
            self.progress.line(line.removeprefix("  "))

    def _fetch_wheels_meanwhile(self) -> None:
        """Downloads take longest and need no host. Role frameworks waits for the same set, and tells errors."""
        nodes = [self.reached[host.name] for host in self.site.group("compute") if host.name in self.reached]
        if nodes and nodes[0].glibc:
            threading.Thread(target=_fetch_wheels, args=(self.site, nodes), daemon=True).start()


def _fetch_wheels(site: Site, nodes: list[Reached]) -> None:
    from contextlib import suppress

    from hpcprov.errors import HpcprovError
    from hpcprov.wheels import Target, requests_of, resolve

    accelerator = str(site.vars.get("dl_accelerator") or "auto")
    if accelerator == "auto":
        accelerator = "cuda" if any(node.has_gpu for node in nodes) else "cpu"
    target = Target(nodes[0].python, nodes[0].machine, nodes[0].glibc, accelerator)
    for request in requests_of(dict(site.vars), target):
        with suppress(HpcprovError, OSError):
            resolve(request)


def _verify_error(summary: VerifySummary) -> VerifyError:
    if not summary.failures:
        return VerifyError("no check could run", hint="each was skipped; the log says why")
    first, more = summary.failures[0], len(summary.failures) - 1
    count = f" (and {more} more)" if more else ""
    return VerifyError(f"{first.check}: {first.reason}{count}", host=None if first.host == "site" else first.host)
