"""Role smoke: the data is real and split, and a job that cannot pass ends with its reason and leaves nothing behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

PYTHON = "/shared/software/scikit-learn/current/bin/python"
SHAPES = (
    "import numpy, json; d = numpy.load('/shared/smoke/digits-1797.npz');"
    " print(json.dumps({k: d[k].shape for k in d.files} | {'labels': sorted(set(d['train_labels'].tolist()))}))"
)


@pytest.fixture(scope="module")
def head(nodes: Callable[[str], Any]) -> Any:
    return nodes("head")


@pytest.fixture
def drained(head: Any) -> Iterator[None]:
    head.check_output("scontrol update nodename=head state=drain reason=cooling")
    yield
    head.check_output("scontrol update nodename=head state=resume")


def smoke(head: Any, *options: str) -> tuple[int, dict[str, Any], str]:
    """Exit code, the result on the last line, and all that was said."""
    ran = head.run("runuser -u hpcsmoke -- python3 /shared/smoke/run_smoke.py " + " ".join(options))
    return ran.rc, json.loads(ran.stdout.splitlines()[-1]), ran.stdout


def left(head: Any) -> str:
    """Jobs that are still there when a cancelled one has had the time to end."""
    poll = 'for try in $(seq 40); do [ -z "$(squeue --noheader)" ] && exit 0; sleep 0.5; done; squeue --noheader'
    return str(head.check_output(poll))


# DL-06: there before any job
def test_data_is_all_digits_in_two_parts(head: Any) -> None:
    found = json.loads(head.check_output("%s -c %s", PYTHON, SHAPES))
    assert found["train_images"] == [1437, 1, 28, 28]
    assert found["test_images"] == [360, 1, 28, 28]
    assert found["labels"] == list(range(10))


def test_files_are_readable_and_only_roots_to_change(head: Any) -> None:
    for name in ("train.py", "run_smoke.py", "job.sbatch"):
        file = head.file(f"/shared/smoke/{name}")
        assert file.user == "root" and file.mode & 0o022 == 0
    assert head.file("/shared/smoke/runs").user == "hpcsmoke"


# MPI-06
def test_root_is_sent_away(head: Any) -> None:
    assert head.run("python3 /shared/smoke/run_smoke.py").rc == 2


# DL-09, CLI-04
def test_job_that_dies_is_told_with_its_last_lines(head: Any) -> None:
    """A real job through Slurm: the environment of this scenario has no PyTorch."""
    rc, result, said = smoke(head)
    assert rc == 1 and result["verdict"] == "failed"
    assert "failed" in result["reason"]
    assert any("No module named 'torch'" in line for line in result["tail"]), said
    assert left(head) == ""


def test_job_that_stays_pending_is_cancelled_with_the_reason(head: Any, drained: None) -> None:
    rc, result, said = smoke(head, "--pending-limit=4")
    assert rc == 1
    assert "still pending after 4 s" in result["reason"]
    assert any("cooling" in line for line in result["sinfo"]), said
    assert "is cancelled" in said
    assert left(head) == ""


def test_job_that_is_too_big_is_told(head: Any) -> None:
    head.check_output("sed 's/--mem=.*/--mem=9999999M/' /shared/smoke/job.sbatch > /tmp/big.sbatch")
    rc, result, _ = smoke(head, "--job=/tmp/big.sbatch")
    assert rc == 1
    assert "refused" in result["reason"]
    assert left(head) == ""


def test_job_that_hangs_is_cancelled(head: Any) -> None:
    head.check_output("printf '#!/bin/sh\\necho started\\nsleep 600\\n' > /tmp/hang.sbatch")
    rc, result, _ = smoke(head, "--job=/tmp/hang.sbatch", "--silence-limit=3")
    assert rc == 1
    assert "hangs" in result["reason"]
    assert result["tail"] == ["started"]
    assert left(head) == ""
