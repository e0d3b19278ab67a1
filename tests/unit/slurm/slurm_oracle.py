"""Real Slurm binaries as judge of what we render: installed ones, or Debian packages unpacked into a cache."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from hpcprov.paths import cache_dir
from hpcprov.slurm.cluster import Cluster, Daemons
from hpcprov.slurm.conf import slurm_files

PACKAGES = ("slurmctld", "slurm-client", "slurm-wlm-basic-plugins", "libmunge2", "libhwloc15", "liblua5.1-0")


class NoOracleError(RuntimeError):
    """No Slurm here, and no way to get it."""


@dataclass(frozen=True)
class Oracle:
    """Slurm's programs under `root`."""

    root: Path
    plugins: Path

    @property
    def environment(self) -> dict[str, str]:
        libraries = f"{self.plugins}:{self.plugins.parent}"
        return {**os.environ, "LD_LIBRARY_PATH": libraries, "SLURM_CONF": str(self.root / "oracle.conf")}

    def scontrol_show(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """`scontrol show …`, which needs a slurm.conf but no controller."""
        conf = self.root / "oracle.conf"
        if not conf.exists():
            conf.write_text(f"ClusterName=x\nSlurmctldHost=localhost\nPluginDir={self.plugins}\n")
        command = [self.root / "usr/bin/scontrol", "show", *arguments]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False, timeout=60)

    def judge(self, cluster: Cluster, folder: Path, *, seconds: float = 20) -> str:
        """The log of a slurmctld that was started on the files of `cluster` and stopped once it was up.

        Only what ties it to other machines is replaced: its own address, munge, the database, paths.
        """
        files = slurm_files(_made_local(cluster, folder, self.plugins))
        for name, content in (
            ("slurm.conf", files.slurm_conf),
            ("cgroup.conf", files.cgroup_conf),
            ("gres.conf", files.gres_conf),
        ):
            (folder / name).write_text(content)
        return self._run(folder / "slurm.conf", seconds)

    def judge_text(self, folder: Path, text: str, files: Mapping[str, str], *, seconds: float = 20) -> str:
        """As `judge`, for lines of slurm.conf as they are; `local_lines` must stand among them."""
        (folder / "slurm.conf").write_text(text)
        for name, content in files.items():
            (folder / name).write_text(content)
        return self._run(folder / "slurm.conf", seconds)

    def local_lines(self, folder: Path) -> dict[str, str]:
        """What lets slurmctld run here, alone and without munge."""
        return {
            "ClusterName": "oracle",
            "SlurmctldHost": f"{socket.gethostname().split('.')[0]}(127.0.0.1)",
            "SlurmctldPort": str(_free_port()),
            "AuthType": "auth/none",
            "CredType": "cred/none",
            "SlurmUser": "root",
            "SlurmdUser": "root",
            "PluginDir": str(self.plugins),
            "StateSaveLocation": str(folder),
            "SlurmdSpoolDir": str(folder),
            "SlurmctldPidFile": str(folder / "slurmctld.pid"),
            "ProctrackType": "proctrack/linuxproc",
            "MpiDefault": "none",
            "MailProg": "/bin/true",
        }

    def _run(self, conf: Path, seconds: float) -> str:
        log = conf.parent / "log"
        with log.open("w") as output:
            process = subprocess.Popen(
                [self.root / "usr/sbin/slurmctld-wlm", "-D", "-c", "-f", conf],
                env={**self.environment, "SLURM_CONF": str(conf)},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                _wait_until_up(process, log, seconds)
            finally:
                process.send_signal(signal.SIGKILL)
                process.wait()
        return log.read_text()


def complaints(log: str) -> list[str]:
    """Error lines that are not about the test's own made-up host names, its missing state and database."""
    beside_the_point = ("Could not open", "state", "may be lost", "accounting information gathered", "PMIx", "mpi/pmix")
    beside_the_point += ("gettimeofday", "configured group", "We have no QOS on the system")
    beside_the_point += ("can only be used with SlurmDBD",)
    return [
        line
        for line in log.splitlines()
        if ("error:" in line or "fatal:" in line) and not any(word in line for word in beside_the_point)
    ]


def _wait_until_up(process: subprocess.Popen[bytes], log: Path, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        if "Running as primary controller" in log.read_text():
            return
        time.sleep(0.05)


def _made_local(cluster: Cluster, folder: Path, plugins: Path) -> Cluster:
    local = {
        "AuthType": "auth/none",
        "CredType": "cred/none",
        "MpiDefault": "none",
        # Without a database nothing more than CPUs and memory is counted, and nothing enforced.
        "AccountingStorageTRES": None,
        "AccountingStorageEnforce": None,
        "SlurmdUser": "root",
        "PluginDir": str(plugins),
        "SlurmctldPidFile": str(folder / "slurmctld.pid"),
        "SlurmctldLogFile": None,
        "ProctrackType": "proctrack/linuxproc",
        "PrologFlags": None,
        "MailProg": "/bin/true",
    }
    return replace(
        cluster,
        controllers=[(socket.gethostname().split(".")[0], "127.0.0.1")],
        databases=[],
        enforce_accounts=False,
        nodes=[replace(node, settings={**node.settings, "NodeAddr": "127.0.0.1"}) for node in cluster.nodes],
        daemons=Daemons("root", str(folder), str(folder), str(folder), _free_port()),
        config={**cluster.config, **local},
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def find_oracle() -> Oracle:
    """Slurm 22.05 or later of this machine's own distribution. Raises NoOracleError with the reason."""
    root = cache_dir("oracle")
    if not (root / "usr/bin/scontrol").exists():
        _unpack(root)
    plugins = next(iter(root.glob("usr/lib/*/slurm-wlm")), None)
    if plugins is None:
        raise NoOracleError(f"{root} holds no Slurm plugins")
    return Oracle(root, plugins)


def _unpack(root: Path) -> None:
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        raise NoOracleError("this machine has no apt-get, so Slurm cannot be unpacked as oracle")
    work = root / "download"
    work.mkdir(exist_ok=True)
    done = subprocess.run(
        ["apt-get", "download", *PACKAGES], cwd=work, capture_output=True, text=True, check=False, timeout=300
    )
    if done.returncode:
        raise NoOracleError(f"apt-get download failed: {done.stderr.strip().splitlines()[-1:]}")
    for package in work.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, root], check=True, timeout=60)
    shutil.rmtree(work)
