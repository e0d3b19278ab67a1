"""`hpcprov deploy` and `hpcprov smoke`: what is left of a run in every case, and what may be said about it."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import NoReturn

from hpcprov import __version__, closing, phases, progress
from hpcprov.clock import Clock
from hpcprov.console import say, write_json
from hpcprov.errors import HostsError, HpcprovError, SiteError
from hpcprov.lock import site_lock
from hpcprov.paths import site_home
from hpcprov.phases import Phase
from hpcprov.results import FailureResult, HostResult, PhaseResult, Result
from hpcprov.rundir import RunDir
from hpcprov.site import Site, load_site
from hpcprov.steps import Steps
from hpcprov.verdict import INTERRUPTED


@dataclass(frozen=True)
class Options:
    """What the admin asked for."""

    site_file: Path
    command: str = "deploy"
    check: bool = False
    diff: bool = False
    limit: str | None = None
    tags: str | None = None
    first: str | None = None
    last: str | None = None
    no_verify: bool = False
    no_smoke: bool = False
    verbosity: int = 0
    as_json: bool = False
    yes: bool = False

    def phases(self) -> tuple[Phase, ...]:
        """The phases of this run. A run that changes nothing has nothing to prove either."""
        unwanted = {Phase.VERIFY: self.no_verify or self.check, Phase.SMOKE: self.no_smoke or self.check}
        return phases.choose(first=self.first, last=self.last, skip=[phase for phase, no in unwanted.items() if no])


def run(options: Options) -> int:
    """Do it, and return the exit code. An error is raised after the results are written."""
    started = time.monotonic()
    chosen = options.phases()
    try:
        site = load_site(options.site_file)
    except SiteError as error:
        if options.site_file.is_file():
            with RunDir(site_home(options.site_file)) as run_dir:
                Deploy(options, run_dir, started).fail(error)
        raise
    # Nothing is written before the lock is ours: the results of the run that holds it stay the latest.
    with site_lock(site.state_dir), RunDir(site.home) as run_dir:
        return Deploy(options, run_dir, started).run(site, chosen)


class Deploy:
    """One run and its results."""

    def __init__(self, options: Options, run_dir: RunDir, started: float) -> None:
        self.options = options
        self.run_dir = run_dir
        self.started = started
        self.report: Path | None = None
        self.result = Result(
            site=str(options.site_file.resolve()),
            hpcprov=__version__,
            command=["hpcprov", *sys.argv[1:]],
            started=datetime.now().astimezone().isoformat(timespec="seconds"),
            check=options.check,
        )
        self.progress = progress.make(verbose=options.verbosity > 0, record=run_dir.log)
        self.clock = Clock(self.progress, self.result, self._save, started)
        run_dir.log("$ " + " ".join(self.result.command))

    def run(self, site: Site, chosen: tuple[Phase, ...]) -> int:
        """All chosen phases. Whatever happens, result.json tells it."""
        self.result.cluster = site.cluster_name
        self.result.hosts = {
            host.name: HostResult(groups=[group for group in closing.GROUP_ORDER if group in host.groups])
            for host in site.cluster_hosts
        }
        steps = Steps(site, self.options, self.run_dir, self.result, self.progress, self.clock)
        try:
            with _sigterm_is_ctrl_c(), self.progress:
                self._validated(site)
                steps.run(chosen)
                self._survey(site, chosen)
        except HpcprovError as error:
            self.fail(error)
            raise
        except KeyboardInterrupt:
            return self._interrupted()
        except BaseException as error:  # a defect of ours: tell it in the results, then let it be seen
            self.fail(HpcprovError(f"{type(error).__name__}: {error}"))
            raise
        self._close(0)
        self._tell(site, steps)
        return 0

    def fail(self, error: HpcprovError) -> None:
        """Write the results of a run that failed, and tell the error where to look and how to go on."""
        phase = self.clock.phase or self._last_failed()
        self.clock.end(status="failed")
        if not self.result.failures:
            parts: list[HpcprovError] = [*error.problems] if isinstance(error, HostsError) else []
            self.result.failures += [_failure(phase, part) for part in parts or [error]]
        self._close(error.exit_code)
        hints = [error.hint] if error.hint else []
        if phase and phase not in phases.PREPARATION:
            hints.append(f"when it is mended: {self._resume(phase)}")
        elif isinstance(error, HostsError):
            hints.append(f"when it is mended, the same again: {' '.join(self.result.command)}")
        if self.report is not None:
            hints.append(f"report: {self.report}")
        error.hint = "\n".join([*hints, f"full log: {self.run_dir.log_path}"])

    def _interrupted(self) -> int:
        phase = self.clock.phase
        self.clock.end(status="interrupted")
        running = phase or next((item.name for item in self.result.phases if item.status == "interrupted"), None)
        done = [item.name for item in self.result.phases if item.status == "done"]
        self.result.failures.append(FailureResult(phase=running, host=None, reason="stopped by the user"))
        self._close(INTERRUPTED)
        say(f"Stopped. Done: {', '.join(done) or 'nothing'}.", style="bold yellow")
        say(f"Go on with: {self._resume(running or Phase.VALIDATE)}")
        self._tell_paths()
        return INTERRUPTED

    def _validated(self, site: Site) -> None:
        seconds = round(time.monotonic() - self.started, 2)
        validated = PhaseResult(name=Phase.VALIDATE.value, seconds=seconds, status="done", spans=[(0.0, seconds)])
        self.result.phases.append(validated)
        self.progress.end(Phase.VALIDATE, seconds, f"{site.path}: {len(site.cluster_hosts)} hosts")
        self._save()

    def _survey(self, site: Site, chosen: tuple[Phase, ...]) -> None:
        """What the closing table says about the cluster as a whole."""
        from hpcprov.survey import versions_and_partitions

        if any(phase.is_playbook or phase in phases.PROOF for phase in chosen):
            versions, self.result.partitions = versions_and_partitions(site)
            self.result.versions = {**versions, **self.result.versions}

    def _tell(self, site: Site, steps: Steps) -> None:
        systems = dict.fromkeys(site.hosts, closing.OUTSIDE if steps.reached else "")
        systems |= {name: reached.os for name, reached in steps.reached.items()}
        say(closing.table(site, self.result, systems))
        say(closing.verdict(site, self.result), style="bold green" if self.result.proven else "bold yellow")
        deployed = self.options.command == "deploy" and not self.options.check and steps.reached
        if deployed and (way_in := closing.way_in(site)):
            say(f"Go in with: {way_in}")
        self._tell_paths()

    def _close(self, code: int) -> None:
        self.result.exit_code = code
        self.result.verdict = "passed" if code == 0 else "failed"
        self.result.seconds = round(time.monotonic() - self.started, 2)
        self._save()
        if self.options.as_json:
            write_json(self.result.document())
        self._report()

    def _report(self) -> None:
        """The page for people and the file for CI. What goes wrong with them is said, and changes no verdict."""
        from hpcprov import report

        try:
            self.report = report.write(self.result, self.run_dir.path)
        except Exception as error:  # a defect there must not make a good run red
            line = f"report: not written: {type(error).__name__}: {error}"
            say(line, style="bold red")
            self.run_dir.log(line)

    def _tell_paths(self) -> None:
        say(f"Results: {self.run_dir.path}")
        if self.report is not None:
            say(f"Report: {self.report}")

    def _save(self) -> None:
        self.run_dir.write_result(self.result.document())

    def _last_failed(self) -> Phase | None:
        names = [item.name for item in self.result.phases if item.status == "failed"]
        return Phase(names[0]) if names else None

    def _resume(self, phase: str) -> str:
        """The command that goes on here. `hpcprov smoke` has only the one thing to do."""
        where = "" if self.options.command == "smoke" else f" --from {phase}"
        return f"hpcprov {self.options.command} {self.options.site_file}{where}"


def _failure(phase: str | None, error: HpcprovError) -> FailureResult:
    findings = [str(finding) for finding in error.findings] if isinstance(error, SiteError) else []
    reason = "\n".join(filter(None, [error.message, error.why, *findings]))
    return FailureResult(phase=phase, host=error.host, reason=reason, journal=list(error.journal), fix=error.hint)


@contextmanager
def _sigterm_is_ctrl_c() -> Iterator[None]:
    """A polite kill ends a run as Ctrl-C does, with results."""

    def stop(_number: int, _frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
