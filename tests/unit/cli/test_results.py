"""result.json, the directory of a run, and the lock of a site."""

from __future__ import annotations

import json
import multiprocessing
import stat
from pathlib import Path

import jsonschema
import pytest
from hpcprov.errors import UsageError
from hpcprov.lock import site_lock
from hpcprov.paths import project_root
from hpcprov.results import (
    FailureResult,
    HostResult,
    PhaseResult,
    PreflightFinding,
    PreflightSummary,
    Result,
    SmokeResult,
    VerifyFailure,
    VerifySummary,
    schema,
)
from hpcprov.rundir import RunDir

DOCS = project_root() / "docs"

FULL = Result(
    verdict="passed",
    exit_code=0,
    proven=True,
    site="/srv/inventory/site.yaml",
    cluster="lab",
    command=["hpcprov", "deploy", "inventory/site.yaml"],
    hpcprov="0.1.0",
    started="2026-12-01T04:46:30+00:00",
    seconds=81.2,
    phases=[PhaseResult(name="base", seconds=12.3, status="done")],
    hosts={"head": HostResult(ok=40, changed=12, started=["munge"], restarted=["slurmctld"])},
    preflight=PreflightSummary(
        findings=[PreflightFinding(host="node01", rule="clock", level="warning", message="m", cause="c", fix="f")]
    ),
    verify=VerifySummary(passed=41, failed=1, failures=[VerifyFailure(host="node01", check="clock", reason="5 s")]),
    smoke=SmokeResult(
        passed=True, job_id=7, accuracy=0.97, loss=[1.2, 0.1], ranks=4, nodes=["node01", "node02"],
        samples_per_second=911.5, framework="torch 2.13.0+cpu",
    ),
    failures=[FailureResult(phase="base", host="node01", role="munge", task="t", reason="r", journal=["l"])],
    notices=["proctrack/linuxproc"],
    versions={"Slurm": "22.05.8"},
    partitions=["main: 2 nodes"],
    nfs_backend="kernel",
)  # fmt: skip


def test_schema_in_docs_is_the_models() -> None:
    assert json.loads((DOCS / "result.schema.json").read_text()) == schema(), (
        "run: python -c 'import json; from hpcprov.results import schema; print(json.dumps(schema(), indent=2))'"
        " > docs/result.schema.json"
    )


@pytest.mark.parametrize("result", [FULL, Result(site="/s", hpcprov="0", started="now")], ids=["full", "started"])
def test_document_fits_the_schema(result: Result) -> None:
    document = json.loads(result.document())
    jsonschema.validate(document, schema())
    assert Result.model_validate(document) == result


def test_a_run_that_is_not_over_says_failed() -> None:
    document = json.loads(Result(site="/s", hpcprov="0", started="now").document())
    assert (document["verdict"], document["exit_code"], document["proven"]) == ("failed", None, False)


def test_every_field_is_described() -> None:
    text = (DOCS / "results.md").read_text()
    models = [schema(), *schema()["$defs"].values()]
    missing = [name for model in models for name in model["properties"] if f"`{name}`" not in text]
    assert missing == []


def test_run_directory(tmp_path: Path) -> None:
    with RunDir(tmp_path) as first, RunDir(tmp_path) as second:
        assert first.path != second.path
        assert stat.S_IMODE(first.path.stat().st_mode) == 0o700
        assert (tmp_path / "runs" / "latest").resolve() == second.path
        second.log("plain \x1b[31mred\x1b[0m  ")
        second.log(["a", "b"])
        second.write_result("{}\n")
    assert second.log_path.read_text() == "plain red\na\nb\n"
    assert sorted(path.name for path in second.path.iterdir()) == ["result.json", "run.log"]


def _hold(state: Path, holds: multiprocessing.synchronize.Event, done: multiprocessing.synchronize.Event) -> None:
    with site_lock(state):
        holds.set()
        done.wait(20)


def test_second_run_is_refused_and_told_who_runs(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("fork")
    holds, done = spawn.Event(), spawn.Event()
    other = spawn.Process(target=_hold, args=(tmp_path, holds, done))
    other.start()
    assert holds.wait(20)
    refusal = f"another run works on this site: .*process {other.pid}, since 20"
    with pytest.raises(UsageError, match=refusal), site_lock(tmp_path):
        pass
    other.kill()  # a killed run leaves no lock
    other.join()
    with site_lock(tmp_path):
        pass
