"""Is the cluster what its site file says, and does it run jobs? The checks are the tests in tests/cluster."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from hpcprov.errors import HostsError, UsageError, VerifyError
from hpcprov.paths import project_root
from hpcprov.site import Host, Site
from hpcprov.slurm import hostlist
from hpcprov.verify.outcome import Failure, Tally, VerifyResult

__all__ = ["Failure", "VerifyResult", "nobody_answers", "run"]

NO_TESTS = 5  # pytest's exit codes
BAD_USE = 4
PLUGINS = ("no:cacheprovider", "hpcprov.verify.plugin")


def run(
    site: Site,
    *,
    report: Callable[[str], None],
    keyword: str | None = None,
    junit: Path | None = None,
    hosts: Sequence[str] = (),
) -> VerifyResult:
    """Check the site; `report` gets one line per finished check.

    `keyword` chooses checks like pytest's -k, `hosts` limits to these hosts. Raises UsageError when nothing is chosen,
    VerifyError when the checks themselves could not run. A cluster that fails them is a result, not an error.
    """
    unknown = [name for name in hosts if name not in {host.name for host in site.cluster_hosts}]
    if unknown:
        raise UsageError(f"no host {', '.join(unknown)} in {site.path}", hint="hosts have the site file's names")
    if junit:
        _require_writable(junit)
    tally = Tally(report)
    code, broken, said = _run_pytest(_arguments(site, keyword, junit, hosts), tally)
    if code == NO_TESTS:
        what = f"matches -k {keyword!r}" if keyword else "is about these hosts"
        raise UsageError(f"no check {what}", hint="hpcprov verify --list shows the words; names of hosts match too")
    if code == BAD_USE and keyword and "-k" in said:
        raise UsageError(f"-k {keyword!r} cannot be read", why=said)
    if broken or code not in (0, 1):
        raise VerifyError("the checks could not run", why=broken or said or f"pytest ended with {code}")
    return tally.finish()


def _require_writable(report: Path) -> None:
    """Before minutes of checks, not after them."""
    folder = report.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"cannot write {report}: there is no directory {folder}", hint=f"mkdir -p {folder}")
    if report.is_dir() or not os.access(report if report.exists() else folder, os.W_OK):
        why = "it is a directory" if report.is_dir() else "permission denied"
        raise UsageError(f"cannot write {report}: {why}", hint="give another file with --junit")


def nobody_answers(site: Site, result: VerifyResult) -> HostsError | None:
    """The error for a run whose checks could not run because hosts are not reached; None when they could."""
    if not result.unreachable:
        return None
    reasons: dict[str, list[str]] = {}
    for name, reason in sorted(result.unreachable.items()):
        reasons.setdefault(_without_address(reason, site.hosts[name]), []).append(name)
    lines = [f"{hostlist.fold(names)}: {reason}" for reason, names in reasons.items()]
    first = site.hosts[next(iter(reasons.values()))[0]]
    port = f"-p {first.port} " if first.port else ""
    hint = f"hpcprov lab up {site.path}" if "lab" in site.vars else f"ssh {port}{_target(first)}"
    problems = [HostsError(reason, host=name) for name, reason in result.unreachable.items()]
    return HostsError(
        "no check could run, SSH reaches no host that they need", why="\n".join(lines), hint=hint, problems=problems
    )


def _without_address(reason: str, host: Host) -> str:
    """What ssh said, in words that are the same for all hosts."""
    for name in (host.address, host.name):
        reason = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", "HOST", reason)
    return re.sub(r"\s*\bhost HOST\b", " the host", reason).strip().removeprefix("ssh: ")


def _target(host: Host) -> str:
    return f"{host.user}@{host.address}" if host.user else host.address


def _arguments(site: Site, keyword: str | None, junit: Path | None, hosts: Sequence[str]) -> list[str]:
    tests = project_root() / "tests" / "cluster"
    arguments = [str(tests), "-c", str(tests / "pytest.ini"), f"--site={site.path}", "-q", "--tb=native"]
    for plugin in PLUGINS:
        arguments += ["-p", plugin]
    arguments += [f"--only-host={name}" for name in hosts]
    if keyword:
        arguments += ["-k", keyword]
    if junit:
        arguments.append(f"--junit-xml={junit}")
    return arguments


def _run_pytest(arguments: list[str], tally: Tally) -> tuple[int, str, str]:
    """Exit code, what was broken in the checks, and pytest's last words.

    In a process of its own: pytest rewrites imports and captures streams, which the deploy around us must not feel.
    """
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "pytest", *arguments, f"--hpcprov-events={writer}"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # others' plugins cost more than all our checks
    broken = ""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as words:
        child = subprocess.Popen(
            command, pass_fds=[writer], stdin=subprocess.DEVNULL, stdout=words, stderr=words, env=environment
        )
        os.close(writer)
        with os.fdopen(reader, encoding="utf-8") as events:
            for line in events:
                event = json.loads(line)
                if event["event"] == "broken":
                    broken = broken or event["reason"]
                tally.take(event)
        code = child.wait()
        words.seek(0)
        said = [line for line in words.read().splitlines() if line.strip()]
    errors = [line for line in said if line.startswith("ERROR")]
    return code, broken, (errors or said or [""])[-1]
