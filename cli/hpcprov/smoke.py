"""Run the training job of role smoke through Slurm, and read what it proved."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import Any

from hpcprov.errors import SmokeError, UsageError
from hpcprov.remote.connection import Connection
from hpcprov.remote.stream import stream
from hpcprov.results import SmokeResult
from hpcprov.site import Host, Site

# As in roles/smoke/defaults and roles/base/defaults.
DEFAULT_ROOT = "/shared/smoke"
DEFAULT_USER = "hpcsmoke"
LIMITS = {"smoke_limit": 600, "smoke_pending_limit": 180, "smoke_silence_limit": 150}
# run_smoke.py keeps its limits and cancels its job; this much later the host itself does not answer any more.
GRACE_SECONDS = 120.0


def submit_host(site: Site) -> Host:
    """Where jobs are submitted: a login host, or the controller."""
    for group in ("login", "controller"):
        if hosts := site.group(group):
            return hosts[0]
    raise UsageError(f"{site.path}: no login host and no controller to submit a job from")


def run(site: Site, on_line: Callable[[str], None]) -> SmokeResult:
    """Submit the job as the smoke user and follow it; `on_line` gets its output as it comes.

    A job that did not pass is a result, not an error. Raises SmokeError when there is no result at all.
    """
    host = submit_host(site)
    root = str(site.vars.get("smoke_root") or DEFAULT_ROOT)
    user = str((site.vars.get("cluster_smoke_user") or {}).get("name") or DEFAULT_USER)
    script = f"{root.rstrip('/')}/run_smoke.py"
    limits = {name: int(site.vars.get(name) or default) for name, default in LIMITS.items()}
    command = shlex.join(["/usr/bin/python3", script, *(f"--{_flag(name)}={value}" for name, value in limits.items())])
    ear = _Ear(on_line)
    with Connection(host) as connection:
        code = stream(connection, command, ear, user=user, timeout=limits["smoke_limit"] + GRACE_SECONDS)
    if ear.result is None:
        said = ear.last.strip()
        raise SmokeError(
            f"{script} ended with {code} and gave no result" + (f": {said}" if said else ""),
            host=host.name,
            hint="the Ansible part of phase smoke puts it there: hpcprov deploy SITE --from frameworks",
        )
    return summary(ear.result, passed=code == 0)


def _flag(variable: str) -> str:
    return variable.removeprefix("smoke_").replace("_", "-")


class _Ear:
    """Passes lines on, and keeps the JSON document that comes last."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self.on_line = on_line
        self.result: dict[str, Any] | None = None
        self.last = ""

    def __call__(self, line: str) -> None:
        document = _document(line)
        if document is not None:
            self.result = document
        else:
            self.last = line or self.last
            self.on_line(line)


def _document(line: str) -> dict[str, Any] | None:
    if not line.startswith("{"):
        return None
    try:
        document = json.loads(line)
    except ValueError:
        return None
    return document if isinstance(document, dict) and "verdict" in document else None


def summary(document: dict[str, Any], *, passed: bool) -> SmokeResult:
    """The part of run_smoke.py's result that stands in result.json."""
    fields = ("job_id", "accuracy", "ranks", "samples_per_second", "framework", "reason")
    return SmokeResult(
        passed=passed and document.get("verdict") == "passed",
        loss=document.get("loss") or [],
        accuracies=document.get("accuracies") or [],
        nodes=document.get("nodes") or [],
        **{key: document[key] for key in fields if document.get(key) is not None},
    )
