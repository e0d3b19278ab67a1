"""A short site: every phase has work, and a deploy from bare containers takes about a minute."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from e2e_lab import BIN, Lab

NAME = "recovery"
SUBNET = "10.89.97"
HOSTS = ("head", "node01", "node02")
KILLS: list[str] = []  # one line per kill, printed at the end

SITE = f"""\
all:
  vars:
    cluster_name: {NAME}
    cluster_domain: lab.internal
    cluster_network: {SUBNET}.0/24
    lab: {{release: bookworm}}
    ansible_user: root
    ansible_ssh_private_key_file: "{{{{ inventory_dir }}}}/.hpcprov/{{{{ cluster_name }}}}/ssh/id_ed25519"
    ansible_ssh_common_args: >-
      -o UserKnownHostsFile={{{{ inventory_dir }}}}/.hpcprov/{{{{ cluster_name }}}}/ssh/known_hosts
      -o StrictHostKeyChecking=yes
    cluster_users:
      - {{name: alice, uid: 5001, home: /shared/home/alice}}
    slurm_partitions:
      - {{name: main, nodes: compute, default: true, max_time: "1-00:00:00"}}
    slurm_config: {{SlurmdParameters: config_overrides}}
    slurm_accounts:
      - {{name: physics, users: [alice]}}
    nfs_exports: [{{path: /shared}}]
    nfs_mounts: [{{path: /shared}}]
    # Small, so that the environment is built in seconds, yet really built.
    dl_frameworks: [scikit-learn]
controller: {{hosts: {{head: {{ansible_host: {SUBNET}.11}}}}}}
database: {{hosts: {{head: }}}}
login: {{hosts: {{head: }}}}
storage: {{hosts: {{head: }}}}
compute:
  hosts:
    node01: {{ansible_host: {SUBNET}.21, slurm_node: {{CPUs: 2, RealMemory: 2000}}}}
    node02: {{ansible_host: {SUBNET}.22, slurm_node: {{CPUs: 1, RealMemory: 1500}}}}
"""


def make_site(folder: Path) -> Path:
    """The site file in a directory of its own."""
    site = folder / f"{NAME}.yaml"
    site.write_text(SITE)
    return site


@dataclass
class Kill:
    """Kill a deploy this far into a phase, as a fraction of what the phase takes undisturbed."""

    phase: str
    fraction: float

    def __str__(self) -> str:
        return f"{self.fraction:.0%} into {self.phase}"


@dataclass
class Undisturbed:
    """Seconds of each phase of a deploy that nobody touched."""

    seconds: dict[str, float] = field(default_factory=dict)


def draw_kills(seed: int, phases: dict[str, float], count: int) -> list[Kill]:
    """`count` kills in the order of the phases: each phase once, the rest where the time goes."""
    dice = random.Random(seed)
    names = list(phases)
    chosen = (
        names[:count]
        if count <= len(names)
        else names + dice.choices(names, [phases[name] for name in names], k=count - len(names))
    )
    return [Kill(name, round(dice.uniform(0.05, 0.95), 2)) for name in sorted(chosen, key=names.index)]


def deploy_and_kill(lab: Lab, kill: Kill, seconds: float) -> str:
    """Start a deploy, and end its whole process group without a word, as a power cut does. Gives what happened."""
    log = lab.home / "killed.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [str(BIN / "hpcprov"), "deploy", str(lab.site), "--no-smoke"],
            cwd="/",
            env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        reached = wait_for_phase(process, log, kill.phase)
        if reached:
            time.sleep(kill.fraction * seconds)
        alive = process.poll() is None
        os.killpg(process.pid, signal.SIGKILL) if alive else None
        process.wait()
    last = [line for line in log.read_text().splitlines() if re.match(r"[a-z]+ ", line)][-1:]
    where = " ".join(last[0].split()) if last else "before the first phase"
    return f"{'killed' if alive else f'over with {process.returncode} before the kill'} at: {where}"


def wait_for_phase(process: subprocess.Popen[bytes], log: Path, phase: str, limit: float = 600) -> bool:
    """Poll the output until the phase has begun; False when the deploy ended before."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline and process.poll() is None:
        if re.search(rf"^{phase}\b", log.read_text(), re.M):
            return True
        time.sleep(0.05)
    return False
