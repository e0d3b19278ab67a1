"""run_smoke.py against a Slurm of shell scripts: each way in which a job can disappoint."""

from __future__ import annotations

import json
import os
import signal
import threading
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

Cluster = Callable[..., dict[str, Any]]
TRAINED = {"verdict": "passed", "job_id": 12, "accuracy": 0.97, "loss": [1.7, 0.1], "nodes": ["n1", "n2"]}


@pytest.fixture
def run(
    program: Callable[[str], ModuleType],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Cluster:
    """Run the smoke test where `scontrol` says `states` one after the other (the last one for ever)."""
    tools = tmp_path / "bin"
    tools.mkdir()
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    monkeypatch.chdir(tmp_path)
    module = program("run_smoke")
    monkeypatch.setattr(module, "POLL", 0.02)
    monkeypatch.setattr(module, "RESULT_WAIT", 0.2)

    def tool(name: str, text: str) -> None:
        path = tools / name
        path.write_text(f"#!/bin/bash\n{text}\n")
        path.chmod(0o755)

    def smoke(
        states: list[str], *, output: str = "", trained: dict[str, Any] | None = None, refuse: str = "", **limits: float
    ) -> dict[str, Any]:
        trace = tmp_path / "cancelled"
        (tmp_path / "states").write_text("\n".join(states) + "\n")
        result = f"echo '{json.dumps(trained)}' > train.json" if trained else ""
        job = f"printf '{output}' > job.log\n{result}\necho '12;cluster'"
        tool("sbatch", f"echo {refuse!r} >&2; exit 1" if refuse else job)
        tool(
            "scontrol",
            f"cd {tmp_path}; line=$(head -1 states); [ $(wc -l < states) -gt 1 ] && sed -i 1d states;"
            ' echo "JobId=12 JobName=x $line ExitCode=1:0"',
        )
        tool("scancel", f"echo $1 > {trace}")
        tool("sinfo", "echo 'n1 down* Not responding'")
        options = {"limit": 20, "pending_limit": 10, "silence_limit": 10, **limits}
        code = module.smoke(Namespace(job=tmp_path / "job.sbatch", runs=tmp_path / "runs", **options))
        lines = capsys.readouterr().out.splitlines()
        found: dict[str, Any] = json.loads(lines[-1])
        kept = json.loads((Path(found["directory"]) / "result.json").read_text())
        assert kept == found
        return {**found, "code": code, "lines": lines[:-1], "cancelled": trace.exists()}

    return smoke


PENDING = "JobState=PENDING Reason=Resources"
RUNNING = "JobState=RUNNING Reason=None NodeList=n[1-2]"
DONE = "JobState=COMPLETED Reason=None NodeList=n[1-2]"


def test_job_that_trains_passes(run: Cluster) -> None:
    result = run([PENDING, RUNNING, DONE], output="epoch 1\\nend without newline", trained=TRAINED)
    assert (result["code"], result["verdict"], result["reason"]) == (0, "passed", None)
    assert (result["accuracy"], result["job_id"], result["cancelled"]) == (0.97, 12, False)
    assert "epoch 1" in result["lines"]
    assert "end without newline" in result["lines"]
    assert "smoke: job 12 is pending (Resources)" in result["lines"]
    assert "smoke: job 12 is running on n[1-2]" in result["lines"]


def test_refused_job_says_why(run: Cluster) -> None:
    result = run([PENDING], refuse="sbatch: error: invalid partition specified: p")
    assert result["code"] == 1
    assert result["reason"] == "sbatch refused the job: sbatch: error: invalid partition specified: p"


def test_job_that_stays_pending_is_cancelled(run: Cluster) -> None:
    result = run([PENDING], pending_limit=0.2)
    assert result["reason"] == "the job is still pending after 0.2 s: Resources"
    assert result["cancelled"]
    assert result["sinfo"] == ["n1 down* Not responding"]
    assert "smoke: sinfo -R: n1 down* Not responding" in result["lines"]


def test_job_that_can_never_start_is_not_waited_for(run: Cluster) -> None:
    result = run(["JobState=PENDING Reason=BadConstraints"])
    assert result["reason"] == "the job can never start: BadConstraints"
    assert result["cancelled"]


def test_job_that_dies_shows_its_last_lines(run: Cluster) -> None:
    result = run([RUNNING, "JobState=FAILED Reason=NonZeroExitCode"], output="Traceback\\nImportError: torch\\n")
    assert result["reason"] == "the job ended as failed (exit code 1:0)"
    assert result["tail"] == ["Traceback", "ImportError: torch"]
    assert "smoke:   ImportError: torch" in result["lines"]
    assert not result["cancelled"]


def test_lost_node_is_named(run: Cluster) -> None:
    assert run([RUNNING, "JobState=NODE_FAIL Reason=NodeDown"])["reason"].startswith("the job ended as node_fail")


def test_silent_job_is_cancelled(run: Cluster) -> None:
    result = run([RUNNING], output="rank 0\\n", silence_limit=0.3)
    assert result["reason"] == "the job hangs: no output for 0.3 s"
    assert (result["cancelled"], result["tail"]) == (True, ["rank 0"])


def test_whole_run_has_a_limit(run: Cluster) -> None:
    result = run([RUNNING], limit=0.3)
    assert result["reason"].startswith("the job did not end within 0.3 s, it is running")
    assert result["cancelled"]


def test_completed_without_a_result_is_no_proof(run: Cluster) -> None:
    assert run([DONE])["reason"] == "the job ended without a result"


def test_result_of_another_job_is_no_proof(run: Cluster) -> None:
    assert run([DONE], trained={**TRAINED, "job_id": 3})["reason"] == "the result is of job 3, not of 12"


def test_training_that_fell_short_keeps_its_figures(run: Cluster) -> None:
    short = {**TRAINED, "verdict": "failed", "accuracy": 0.5, "failures": ["test accuracy 0.500 is below 0.95"]}
    result = run([DONE], trained=short)
    assert (result["verdict"], result["reason"]) == ("failed", "test accuracy 0.500 is below 0.95")
    assert result["accuracy"] == 0.5


def test_interrupt_cancels_the_job(run: Cluster, program: Callable[[str], ModuleType]) -> None:
    before = signal.signal(signal.SIGTERM, program("run_smoke").interrupted)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    try:
        result = run([RUNNING])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert (result["reason"], result["cancelled"], result["code"]) == ("interrupted by SIGTERM", True, 1)
