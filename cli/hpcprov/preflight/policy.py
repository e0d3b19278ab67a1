"""May a deploy go on with what preflight found?"""

from __future__ import annotations

from hpcprov.errors import HostsError
from hpcprov.preflight.report import render
from hpcprov.preflight.result import PreflightResult


def refusal(result: PreflightResult) -> HostsError | None:
    """Why no deploy may start, None where it may: any error on any host stops it before something changes."""
    if not result.errors:
        return None
    bad = list(dict.fromkeys(finding.host for finding in result.errors))
    problems = [
        HostsError(finding.message, host=finding.host, why=finding.cause or None, hint=finding.fix or None)
        for finding in result.errors
    ]
    return HostsError(
        f"{len(bad)} of {len(result.asked)} hosts cannot be converged",
        why="\n".join(render(result.errors)),
        problems=problems,
    )
