"""A deploy in the background, watched and interrupted as an admin at a terminal would."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from e2e_lab import BIN


class RunningDeploy:
    """A deploy that can be watched, interrupted and waited for."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self.runs = folder / "runs"
        self.log = folder / f"deploy-{time.monotonic_ns()}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                # A shell that runs the tests in the background ignores Ctrl-C, and its children would too.
                ["env", "--default-signal=INT", *command],
                cwd="/",
                env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def said(self) -> str:
        """What it has printed so far."""
        return self.log.read_text()

    def reaches(self, pattern: str, seconds: float = 180) -> None:
        """Wait until it prints this."""
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.said, re.MULTILINE):
            assert self.process.poll() is None, f"ended before it came to {pattern!r}\n{self.said}"
            assert time.monotonic() < deadline, f"did not come to {pattern!r}\n{self.said}"
            time.sleep(0.1)

    def reaches_in_log(self, text: str, seconds: float = 180) -> None:
        """Wait until Ansible's own output, which is only logged, has this."""
        deadline = time.monotonic() + seconds
        while text not in (self.runs / "latest" / "run.log").read_text():
            assert self.process.poll() is None, f"ended before it came to {text!r}\n{self.said}"
            assert time.monotonic() < deadline, f"did not come to {text!r}\n{self.said}"
            time.sleep(0.1)

    def signal(self, number: int) -> None:
        """To the whole process group, as a terminal does."""
        os.killpg(self.process.pid, number)

    def ends(self, *codes: int, seconds: float = 600) -> str:
        """Wait for its end with one of these exit codes; what it said."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, 9)
            raise AssertionError(f"did not end within {seconds:.0f} s\n{self.said}") from None
        assert self.process.returncode in codes, f"exit code {self.process.returncode}\n{self.said}"
        return self.said
