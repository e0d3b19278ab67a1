"""The lab that the faults are injected into: short to deploy, a root disk that can be filled, a share that can too."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from e2e_lab import HOSTS, ROOT, Lab, run, said
from fault import Message
from hpcprov.lab import engine
from hpcprov.lab.podman import Podman

NAME = "faults"
SUBNET = "10.89.95"
SMALL_DISK = "node02"  # the node whose root disk has an end
SHARE_SIZE = "1G"
DISK_SIZE = "3G"
OVERRIDES = "      SlurmdParameters: config_overrides\n"
# Slurm gives a silent node up soon, so that one fault does not hold up the next.
IMPATIENT = "      MessageTimeout: 10\n      KillWait: 5\n      SlurmdTimeout: 60\n"
SHARED = "    nfs_mounts:\n      - { path: /shared }\n"
# Programs that the injections need.
TOOLS = "faketime nftables"


def make_site(folder: Path) -> Path:
    """The built-in lab without config_overrides, so that Slurm judges what nodes have, and with a small framework."""
    text = (ROOT / "inventory" / "lab.yaml").read_text()
    for old, new in (
        ("cluster_name: lab", f"cluster_name: {NAME}"),
        ("10.89.77.", f"{SUBNET}."),
        (OVERRIDES, IMPATIENT),
        (SHARED, f"{SHARED}    dl_frameworks: [scikit-learn]\n"),
    ):
        assert old in text, f"inventory/lab.yaml has no {old!r}"
        text = text.replace(old, new)
    site = folder / f"{NAME}.yaml"
    site.write_text(text)
    return site


@dataclass
class FaultsLab(Lab):
    """A deployed lab; `naming` is the message that named the fault of the moment."""

    naming: Message | None = None
    podman: Podman = field(default_factory=engine.connect)

    @property
    def name(self) -> str:
        """The cluster's name."""
        return self.site.stem

    def container(self, host: str) -> str:
        """The container of a node."""
        return f"hpcprov-{self.name}-{host}"

    def command(self, *arguments: str) -> tuple[subprocess.CompletedProcess[str], float]:
        """Run hpcprov; `{site}` in an argument is the site file. Also gives the seconds. All is kept in said.log."""
        words = [word.format(site=self.site) for word in arguments]
        start = time.monotonic()
        done = self.hpcprov(*words, timeout=600)
        seconds = time.monotonic() - start
        self.log(f"$ hpcprov {' '.join(words)}\n{done.stdout}{done.stderr}[{done.returncode}] {seconds:.1f} s\n")
        return done, seconds

    def log(self, text: str) -> None:
        """Keep what was said, for whoever has to find out why."""
        with (self.home / "said.log").open("a") as log:
            log.write(f"{text}\n")

    def succeed(self, *arguments: str) -> None:
        """A command that has to end with 0."""
        done, _ = self.command(*arguments)
        assert done.returncode == 0, f"hpcprov {' '.join(arguments)}: {said(done)}"

    # Making and removing it

    def build(self) -> None:
        """Containers with the two small file systems, then the deploy. What a killed run has left goes first."""
        self.remove()
        self._make_share()
        self.succeed("lab", "up", "{site}")
        self._limit_root(SMALL_DISK)
        self.succeed("deploy", "{site}", "--no-smoke")
        for host in HOSTS:
            self.node(host, f"apt-get install -y --no-install-recommends {TOOLS}")

    def remove(self) -> None:
        """Everything, whatever state it is in."""
        layer = self._layer(SMALL_DISK)
        self.podman.try_run("stop", "--time=0", self.container(SMALL_DISK))
        if layer:
            run(["umount", str(layer)], cwd="/", timeout=60)
        self.clear()
        self.podman.try_run("volume", "rm", f"hpcprov-{self.name}-shared")

    def _make_share(self) -> None:
        """The shared volume on a file system of its own. `lab up` takes a volume that is there."""
        image = self.home / "share.img"
        make_file_system(image, SHARE_SIZE)
        self.podman.run(
            "volume", "create", "--label", f"hpcprov.cluster={self.name}",
            "--label", f"hpcprov.owner={self.home}/.hpcprov/{self.name}", "--label", f"hpcprov.site={self.site}",
            "--opt", "type=ext4", "--opt", f"device={image}", "--opt", "o=loop", f"hpcprov-{self.name}-shared",
        )  # fmt: skip

    def _limit_root(self, host: str) -> None:
        """Put the writable layer of a node's root on a file system of its own: its disk is full when that is."""
        container, image, layer = self.container(host), self.home / "root.img", self._layer(host)
        assert layer
        self.podman.run("stop", "--time=5", container)
        make_file_system(image, DISK_SIZE)
        new = self.home / "root"
        new.mkdir()
        for words in (
            ["mount", "-o", "loop", str(image), str(new)],
            ["cp", "-a", f"{layer}/.", str(new)],
            ["umount", str(new)],
            ["mount", "-o", "loop", str(image), str(layer)],
        ):
            done = run(words, cwd="/", timeout=120)
            assert done.returncode == 0, f"{' '.join(words)}: {said(done)}"
        self.succeed("lab", "up", "{site}")

    def _layer(self, host: str) -> Path | None:
        """Where podman keeps the writable layer of a node's root."""
        done = self.podman.try_run("inspect", "--format", "{{.GraphDriver.Data.UpperDir}}", self.container(host))
        return Path(done.stdout.strip()).parent if done.returncode == 0 else None


def make_file_system(image: Path, size: str) -> None:
    """An empty ext4 in a sparse file, all of it for ordinary users."""
    for words in (["truncate", "-s", size, str(image)], ["mkfs.ext4", "-q", "-F", "-m", "0", str(image)]):
        done = run(words, cwd="/", timeout=60)
        assert done.returncode == 0, said(done)
