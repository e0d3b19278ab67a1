"""What becomes of a script that cannot be started."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from hpcprov.paths import project_root
from hpcprov.site import load_site
from hpcprov.verify import transport
from hpcprov.verify.transport import RemoteError, Transport, UnreachableError


class Machine:
    """A control host that cannot start so many processes."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    def run(self, command: str) -> SimpleNamespace:
        self.failures -= 1
        if self.failures >= 0:
            raise OSError(14, "Bad address", "/bin/sh")
        return SimpleNamespace(stdout='HPCPROV {"fine": true}\n', stderr="", rc=0)


@pytest.fixture
def ask(monkeypatch):
    monkeypatch.setattr(transport, "RETRY", 0)
    site = load_site(Path(project_root()) / "inventory" / "lab.yaml")

    def run(failures):
        machine = Machine(failures)
        with Transport(site) as under_test:
            monkeypatch.setattr(under_test, "connection", lambda name: machine)
            return under_test.run("head", "probe", {})

    return run


def test_a_process_that_could_not_be_started_is_tried_again(ask):
    assert ask(1) == {"fine": True}


def test_a_control_host_that_starts_nothing_is_told_and_no_host_is_accused_of_silence(ask):
    with pytest.raises(RemoteError, match=r"this control host cannot start ssh.*Bad address") as error:
        ask(2)
    assert not isinstance(error.value, UnreachableError)
