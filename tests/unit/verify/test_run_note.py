"""Who tidies up after a verify that was killed."""

import signal
import subprocess
import sys

import pytest
from hpcprov.verify.run_note import RunNote

ALIVE, KILLED, OURS = "0a0a0a0a", "0b0b0b0b", "0c0c0c0c"
WAIT = """
import sys, time
from pathlib import Path
from hpcprov.verify.run_note import RunNote
note = RunNote(Path(sys.argv[1]), sys.argv[2])
print("there", flush=True)
time.sleep(60)
"""


@pytest.fixture
def other(tmp_path):
    """Starts another run of verify."""
    running = []

    def start(run_id):
        child = subprocess.Popen([sys.executable, "-c", WAIT, tmp_path, run_id], stdout=subprocess.PIPE, text=True)
        running.append(child)
        assert child.stdout.readline() == "there\n"
        return child

    yield start
    for child in running:
        child.kill()
        child.wait()
        child.stdout.close()


def notes(tmp_path):
    return sorted(note.name for note in (tmp_path / "verify").iterdir())


def test_only_a_run_that_died_is_tidied_up_after(tmp_path, other):
    other(ALIVE)
    killed = other(KILLED)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    (tmp_path / "verify" / "..-etc").touch()
    note = RunNote(tmp_path, OURS)
    assert note.abandoned == [KILLED]
    assert notes(tmp_path) == ["..-etc", ALIVE, KILLED, OURS]
    note.settle()
    assert notes(tmp_path) == ["..-etc", ALIVE]


def test_a_run_that_could_not_tidy_up_is_left_to_the_next(tmp_path):
    RunNote(tmp_path, KILLED)
    assert RunNote(tmp_path, OURS).abandoned == [KILLED]


def test_a_site_that_was_never_deployed_gets_no_state(tmp_path):
    note = RunNote(tmp_path / "none", OURS)
    note.settle()
    assert note.abandoned == []
    assert not (tmp_path / "none").exists()


def test_a_cluster_is_checked_also_where_nothing_can_be_noted(tmp_path):
    (tmp_path / "verify").write_text("a file where the notes would be")
    note = RunNote(tmp_path, OURS)
    note.settle()
    assert note.abandoned == []
