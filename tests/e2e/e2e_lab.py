"""The lab that the end-to-end tests deploy, and the commands that work on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
NAME = "e2e"
SUBNET = "10.89.92"
HOSTS = ("head", "store", "node01", "node02")


@dataclass
class Lab:
    """The site under test and the commands that work on it."""

    site: Path

    @property
    def home(self) -> Path:
        """Where runs/ is."""
        return self.site.parent

    @property
    def state(self) -> Path:
        """Secrets, keys and facts of the site."""
        return self.home / ".hpcprov" / self.site.stem

    def hpcprov(self, *arguments: str, timeout: int = 1500) -> subprocess.CompletedProcess[str]:
        """Run the command from a directory that has nothing to do with the site."""
        return run([str(BIN / "hpcprov"), *arguments], cwd="/", timeout=timeout)

    def clear(self) -> None:
        """Remove what a run that was cut off has left of a lab of this name."""
        done = self.hpcprov("lab", "down", "--force", str(self.site))
        assert done.returncode == 0, said(done)

    def playbook(self, playbook: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A plain ansible-playbook, started in the checkout as an admin would."""
        return run(
            [str(BIN / "ansible-playbook"), "-i", str(self.site), f"playbooks/{playbook}", *arguments],
            cwd=ROOT,
            timeout=900,
        )

    def node(self, name: str, command: str, *, check: bool = True) -> str:
        """Output of a shell command on a node."""
        done = run([str(BIN / "hpcprov"), "lab", "ssh", "--site", str(self.site), name, command], cwd="/", timeout=120)
        if check:
            assert done.returncode == 0, f"{name}: {command}\n{done.stdout}{done.stderr}"
        return done.stdout.strip()

    def result(self) -> dict[str, Any]:
        """result.json of the newest run."""
        loaded: dict[str, Any] = json.loads((self.home / "runs" / "latest" / "result.json").read_text())
        return loaded


def run(command: list[str], *, cwd: str | Path, timeout: int) -> subprocess.CompletedProcess[str]:
    """A command without a terminal, with both streams kept."""
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def said(done: subprocess.CompletedProcess[str]) -> str:
    """Everything that a command printed, for an assertion."""
    return f"exit code {done.returncode}\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}"


def make_site(folder: Path, name: str, subnet: str) -> Path:
    """The built-in lab under another name and network."""
    text = (ROOT / "inventory" / "lab.yaml").read_text()
    text = text.replace("cluster_name: lab", f"cluster_name: {name}").replace("10.89.77.", f"{subnet}.")
    site = folder / f"{name}.yaml"
    site.write_text(text)
    return site


class MemoryWatch(threading.Thread):
    """Peak of the memory that the processes of the lab's containers hold, MiB, without the page cache."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak = 0.0
        self.stopped = threading.Event()

    def run(self) -> None:
        """Sample until stopped."""
        while not self.stopped.wait(1.0):
            self.peak = max(self.peak, lab_memory_mib())


def lab_memory_mib() -> float:
    """Proportional set size of every process in the lab's containers, MiB."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if not in_lab(process):
                continue
            rollup = (process / "smaps_rollup").read_text()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
    return total / 1024


_LAB_IDS: set[str] = set()


def in_lab(process: Path) -> bool:
    """True when the process belongs to one of the lab's containers, by its cgroup."""
    cgroup = (process / "cgroup").read_text()
    return any(container in cgroup for container in _LAB_IDS)


def remember_containers() -> None:
    """Note the ids of the lab's containers."""
    done = run(["podman", "ps", "--no-trunc", "--format", "{{.ID}} {{.Names}}"], cwd="/", timeout=60)
    _LAB_IDS.update(line.split()[0] for line in done.stdout.splitlines() if f" hpcprov-{NAME}-" in line)


@dataclass
class Deployment:
    """A finished deploy: what it printed, and the memory that the lab needed meanwhile."""

    done: subprocess.CompletedProcess[str]
    result: dict[str, Any]
    seconds: float
    peak_mib: float
