"""The training job is run as the smoke user, its lines are passed on, its result is read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hpcprov import smoke
from hpcprov.errors import SmokeError
from hpcprov.remote import options
from hpcprov.site import Site

from .ssh_server import SshServer

PASSED = {
    "verdict": "passed", "reason": None, "job_id": 7, "accuracy": 0.9722, "loss": [1.2, 0.1], "ranks": 2,
    "nodes": ["node01", "node02"], "samples_per_second": 911.5, "weights_equal": True, "state": "COMPLETED",
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Run smoke against a script in place of the real one, on a host whose `runuser` only shows how it is called."""
    monkeypatch.setattr(options, "CONFIG_FILES", ())
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    server = SshServer(tmp_path)
    (tmp_path / "bin").mkdir()
    runuser = tmp_path / "bin" / "runuser"
    runuser.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/called\nfor last; do :; done\nexec sh -c "$last"\n')
    runuser.chmod(0o755)
    server.path = f"{tmp_path}/bin:/usr/bin:/bin"
    host = server.host("head")

    def start(script: str, on_line: Callable[[str], None] = lambda _: None, **variables: Any) -> Any:
        (tmp_path / "run_smoke.py").write_text(script)
        values = {"smoke_root": str(tmp_path), **variables}
        site = Site(tmp_path / "s.yaml", "lab", "10.0.0.0/24", "x", {"head": host}, {"login": ["head"]}, values)
        return smoke.run(site, on_line)

    yield start
    server.close()


def test_passed(run: Callable[..., Any], tmp_path: Path) -> None:
    lines: list[str] = []
    script = f"import sys\nprint('epoch 1', sys.argv[1:])\nprint({json.dumps(json.dumps(PASSED))})\n"
    result = run(script, lines.append, smoke_limit=60)
    assert lines == ["epoch 1 ['--limit=60', '--pending-limit=180', '--silence-limit=150']"]
    assert (result.passed, result.job_id, result.accuracy, result.loss) == (True, 7, 0.9722, [1.2, 0.1])
    assert (result.ranks, result.nodes, result.samples_per_second) == (2, ["node01", "node02"], 911.5)
    assert (tmp_path / "called").read_text().startswith("-l -s /bin/sh hpcsmoke -c ")


def test_failed_job_has_its_reason(run: Callable[..., Any]) -> None:
    document = {"verdict": "failed", "reason": "the job is still pending", "job_id": 8, "state": "PENDING"}
    result = run(f"print({json.dumps(json.dumps(document))})\nraise SystemExit(1)\n")
    assert (result.passed, result.reason, result.job_id) == (False, "the job is still pending", 8)


def test_a_good_document_with_a_bad_exit_code_is_no_success(run: Callable[..., Any]) -> None:
    assert run(f"print({json.dumps(json.dumps(PASSED))})\nraise SystemExit(1)\n").passed is False


def test_no_result_is_told_with_the_last_line(run: Callable[..., Any]) -> None:
    with pytest.raises(
        SmokeError, match=r"run_smoke.py ended with 1 and gave no result: .*ZeroDivisionError"
    ) as caught:
        run("print('{ not json')\n1 / 0\n")
    assert caught.value.host == "head"
