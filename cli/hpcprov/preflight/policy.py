"""May a deploy go on with what preflight found?"""

from __future__ import annotations

from collections.abc import Container

from hpcprov.errors import HostsError
from hpcprov.preflight.findings import Finding
from hpcprov.preflight.report import render
from hpcprov.preflight.result import PreflightResult


def refusal(result: PreflightResult, without: Container[str] = ()) -> HostsError | None:
    """Why no deploy may start, None where it may.

    Any error on any host stops it before something changes, except on hosts that the run goes on `without`: a machine
    that is off must not hold up thousands of others, one that answers and is not fit is for the admin to decide about.
    """
    errors = [finding for finding in result.errors if finding.host not in without]
    if not errors:
        return None
    bad = list(dict.fromkeys(finding.host for finding in errors))
    problems = [as_error(finding) for finding in errors]
    return HostsError(
        f"{len(bad)} of {len(result.asked)} hosts cannot be converged",
        why="\n".join(render(errors)),
        problems=problems,
    )


def as_error(finding: Finding) -> HostsError:
    """One finding as the error of its host."""
    return HostsError(finding.message, host=finding.host, why=finding.cause or None, hint=finding.fix or None)


def dead(result: PreflightResult) -> dict[str, HostsError]:
    """Hosts that do not answer, with what SSH said."""
    return {finding.host: as_error(finding) for finding in result.findings if finding.is_dead}
