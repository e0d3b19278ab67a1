"""A cluster that is changed while it works: its jobs, its daemons, its containers and its site file."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from e2e_lab import BIN, Lab, said
from hpcprov.lab import engine
from hpcprov.lab.podman import Podman
from running_deploy import RunningDeploy

UNITS = ("munge", "slurmctld", "slurmd", "slurmdbd", "mariadb")
SCHEDULER = ("--from", "scheduler", "--to", "scheduler")
# Without what proves it: the tests look for themselves.
QUICK = ("--no-verify", "--no-smoke")
NODE03 = "    node03:\n      ansible_host: {subnet}.23\n      slurm_node: {{ CPUs: 2, RealMemory: 1500 }}\n"


@dataclass(frozen=True)
class Joined:
    """The deploy that brought node03, and when each daemon was started before and after it."""

    result: dict[str, Any]
    before: dict[str, int]
    after: dict[str, int]


@dataclass
class Living:
    """The deployed lab, with what a change must not touch."""

    lab: Lab
    podman: Podman = field(default_factory=engine.connect)

    @property
    def site(self) -> Path:
        """The site file of the lab."""
        return self.lab.site

    @property
    def plain(self) -> Path:
        """The same site without being a lab: a node that is down stays down, as real ones do."""
        path = self.site.with_name("plain.yaml")
        text = self.site.read_text()
        assert text.count("\n    lab:\n      release: bookworm\n") == 1
        path.write_text(text.replace("\n    lab:\n      release: bookworm\n", "\n"))
        return path

    @property
    def with_node03(self) -> str:
        """The text of the site file with a third node."""
        text = self.site.read_text()
        found = re.search(r"ansible_host: (\d+\.\d+\.\d+)\.", text)
        assert found
        return text + NODE03.format(subnet=found.group(1))

    # Containers and daemons

    def container(self, host: str) -> str:
        """The container of a host."""
        return f"hpcprov-{self.site.stem}-{host}"

    def inside(self, host: str, command: str) -> str:
        """Output of a shell command on a host, as root, without its network."""
        return self.podman.run("exec", self.container(host), "sh", "-c", command).strip()

    def kill(self, host: str) -> None:
        """The power is gone."""
        self.podman.run("stop", "--time=0", self.container(host))

    def shut_down(self, host: str) -> None:
        """As an admin does it: slurmctld saves what it knows."""
        self.podman.run("stop", "--time=30", self.container(host))

    def power_on(self, *hosts: str) -> None:
        """Start, and wait until SSH answers again."""
        for host in hosts:
            self.podman.run("start", self.container(host))
        for host in hosts:
            self.wait(f"{host} is up", lambda host=host: self.try_inside(host, "systemctl is-active ssh") == "active")

    def try_inside(self, host: str, command: str) -> str:
        """The same where it may fail; the output all the same."""
        return self.podman.try_run("exec", self.container(host), "sh", "-c", command).stdout.strip()

    def started(self, *hosts: str) -> dict[str, int]:
        """When each daemon became active, microseconds of the clock that all containers share."""
        stamps = {}
        for host in hosts:
            shown = self.inside(host, f"systemctl show -p Id,ActiveEnterTimestampMonotonic {' '.join(UNITS)}")
            for block in shown.split("\n\n"):
                unit = dict(line.split("=", 1) for line in block.splitlines())
                # 0: it is not on this host.
                if stamp := int(unit["ActiveEnterTimestampMonotonic"] or 0):
                    stamps[f"{host} {unit['Id'].removesuffix('.service')}"] = stamp
        return stamps

    def sha(self, host: str, path: str = "/etc/munge/munge.key") -> str:
        """Hash of a file."""
        return self.inside(host, f"sha256sum < {path}")

    # Jobs

    def submit(self, *options: str, program: str = "sleep 900") -> str:
        """Id of a batch job of the smoke user."""
        words = " ".join(options)
        out = self.inside("head", f"cd /tmp && sudo -u hpcsmoke sbatch --parsable {words} --mem=100 --wrap '{program}'")
        return out.splitlines()[-1]

    def job(self, job: str) -> str:
        """State, start time and restarts of a job."""
        return " ".join(
            re.findall(r"(?:JobState|StartTime|Restarts)=\S+", self.inside("head", f"scontrol show job {job}"))
        )

    @contextmanager
    def job_lives(self, *options: str, program: str = "sleep 900") -> Iterator[str]:
        """A job that runs from before to after, never restarted."""
        job = self.submit(*options, program=program)
        try:
            self.wait(f"job {job} runs", lambda: "JobState=RUNNING" in self.job(job))
            before = self.job(job)
            yield job
            assert self.job(job) == before, f"job {job} did not live through the change"
        finally:
            self.try_inside("head", f"scancel {job}")

    def node_state(self, node: str) -> str:
        """State and reason as sinfo has them."""
        return self.inside("head", f"sinfo -h -n {node} -o '%T %E' | head -n 1")

    def wait(self, what: str, holds: Callable[[], bool], seconds: float = 90) -> None:
        """Poll until it holds."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what}"
            time.sleep(0.5)

    def healthy(self, *nodes: str) -> None:
        """Wait until the nodes are usable."""
        usable = ("idle ", "mixed ", "allocated ")
        for node in nodes:
            self.wait(f"{node} is usable", lambda node=node: self.node_state(node).startswith(usable))

    # hpcprov

    def deploy(self, *options: str, site: Path | None = None, expect: int = 0) -> dict[str, Any]:
        """Deploy; result.json, and what was said under "said"."""
        done = self.lab.hpcprov("deploy", str(site or self.site), *options)
        assert done.returncode == expect, said(done)
        return {**self.lab.result(), "said": done.stderr}

    def start_deploy(self, *options: str, site: Path | None = None) -> RunningDeploy:
        """A deploy in the background, in a process group of its own as in a terminal."""
        return RunningDeploy([str(BIN / "hpcprov"), "deploy", str(site or self.site), *options], self.lab.home)

    def start_verify(self) -> RunningDeploy:
        """A verify in the background."""
        return RunningDeploy([str(BIN / "hpcprov"), "verify", str(self.site)], self.lab.home)

    def verify(self, expect: int = 0) -> str:
        """Verify; what was said."""
        done = self.lab.hpcprov("verify", str(self.site))
        assert done.returncode == expect, said(done)
        return done.stdout + done.stderr

    @contextmanager
    def site_says(self, text: str) -> Iterator[None]:
        """Another text of the site file for a while."""
        original = self.site.read_text()
        self.site.write_text(text)
        try:
            yield
        finally:
            self.site.write_text(original)

    def with_config(self, *lines: str) -> str:
        """The text of the site file with more keys in slurm_config."""
        return self.edited("config_overrides", "\n      ".join(["config_overrides", *lines]))

    def edited(self, old: str, new: str) -> str:
        """The text of the site file with one change."""
        text = self.site.read_text()
        assert old in text
        return text.replace(old, new)


def restarted(result: dict[str, Any]) -> dict[str, list[str]]:
    """Services that the deploy restarted, by host, without the hosts that had none."""
    return {host: counts["restarted"] for host, counts in result["hosts"].items() if counts["restarted"]}


def changed(before: dict[str, int], after: dict[str, int]) -> list[str]:
    """Daemons that were started anew in between."""
    return sorted(name for name, stamp in after.items() if before.get(name, 0) != stamp)
