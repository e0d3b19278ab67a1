"""Run podman as this host needs it: with a generated containers.conf, named by CONTAINERS_CONF."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcprov.errors import LabError
from hpcprov.lab.host import NO_LIMIT, CgroupLayout, HostFacts

NOFILE_WANTED = 1048576
ERROR_LINES = 6
REMOVE_TRIES = 3
REMOVE_PAUSE = 1.0


def runtimes(facts: HostFacts) -> list[str]:
    """OCI runtimes that can work here, the better one first. crun refuses a hybrid cgroup layout."""
    wanted = ("runc",) if facts.cgroups is CgroupLayout.HYBRID else ("crun", "runc")
    return [runtime for runtime in wanted if facts.has(runtime)]


def containers_conf(facts: HostFacts, runtime: str) -> str:
    """containers.conf(5) for this host: who manages cgroups, where events go, which limits can be granted."""
    manager = "systemd" if facts.systemd else "cgroupfs"
    lines = ["# Made by hpcprov from what this host offers; written again at each use.", "[containers]"]
    ulimits = default_ulimits(facts)
    if ulimits:
        lines.append(f"default_ulimits = {json.dumps(ulimits)}")
    lines += ['log_driver = "k8s-file"', "", "[engine]", f'cgroup_manager = "{manager}"', 'events_logger = "file"']
    lines.append(f'runtime = "{runtime}"')
    return "\n".join(lines) + "\n"


def default_ulimits(facts: HostFacts) -> list[str]:
    """The limits to ask for. podman's own defaults are above the hard limits of a host without CAP_SYS_RESOURCE.

    podman starts its monitor with at most kernel.pid_max processes, and nothing below can have more.
    """
    if facts.cap_sys_resource:
        return []
    nofile = NOFILE_WANTED if facts.limit_nofile == NO_LIMIT else min(facts.limit_nofile, NOFILE_WANTED)
    nproc = facts.pid_max if facts.limit_nproc == NO_LIMIT else min(facts.limit_nproc, facts.pid_max)
    return [f"nofile={nofile}:{nofile}", f"nproc={nproc}:{nproc}"]


def write_atomically(path: Path, text: str, mode: int = 0o644) -> None:
    """Replace a file in one step; a reader sees the old or the new content, never a part."""
    if path.is_file() and path.read_text() == text and path.stat().st_mode & 0o777 == mode:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w") as stream:
        stream.write(text)
    Path(temporary).chmod(mode)
    Path(temporary).replace(path)


@dataclass(frozen=True)
class Podman:
    """The podman command of this host."""

    program: str
    conf: Path

    @property
    def environment(self) -> dict[str, str]:
        """What a podman command needs beside its arguments."""
        return {**os.environ, "CONTAINERS_CONF": str(self.conf)}

    def try_run(self, *args: str, timeout: float | None = 120) -> subprocess.CompletedProcess[str]:
        """Run and return whatever came out. Return code 124: podman did not answer within `timeout` seconds."""
        command = [self.program, *args]
        try:
            return subprocess.run(
                command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=timeout, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "", f"no answer within {timeout:.0f} s")

    def run(self, *args: str, timeout: float | None = 120) -> str:
        """Run and return stdout. Raises LabError with podman's own words."""
        result = self.try_run(*args, timeout=timeout)
        if result.returncode:
            raise LabError(f"podman {args[0]} failed", why=_last_words(result))
        return result.stdout

    def query(self, *args: str) -> list[dict[str, Any]]:
        """Run a command that prints a JSON list."""
        parsed = json.loads(self.run(*args) or "null")
        return parsed or []

    def remove_containers(self, *names: str) -> None:
        """Remove containers and their anonymous volumes, running or not. Raises LabError with what stays, and why.

        Asked again when something stays: of a container whose processes were killed behind podman's back (a crash,
        the OOM killer, the end of a session), podman 4.3 first finds out that it has stopped, and fails.
        """
        for patience in range(REMOVE_TRIES - 1, -1, -1):
            result = self.try_run("rm", "--force", "--time=0", "--volumes", *names, timeout=300)
            names = tuple(name for name in names if self.exists("container", name))
            if not names:
                return
            if patience:
                time.sleep(REMOVE_PAUSE)
        raise LabError(f"podman rm failed: {', '.join(names)} stays", why=_last_words(result))

    def exists(self, kind: str, name: str) -> bool:
        """Is there an image, container, network or volume of this name?"""
        return self.try_run(kind, "exists", name).returncode == 0


def labels(values: Mapping[str, str]) -> list[str]:
    """`--label` arguments."""
    return [word for key, value in values.items() for word in ("--label", f"{key}={value}")]


def _last_words(result: subprocess.CompletedProcess[str]) -> str:
    lines = result.stderr.strip().splitlines()[-ERROR_LINES:]
    return " | ".join(lines) or f"exit status {result.returncode}"
