"""Look at the machine that is to carry the lab. Everything else in this package decides from what is found here."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

TOOLS = ("podman", "crun", "runc", "mmdebstrap", "ssh", "ssh-keygen", "iptables", "nft", "ip", "modprobe", "apt-config")
PODMAN_STORAGE = Path("/var/lib/containers/storage")
INOTIFY_INSTANCES = Path("/proc/sys/fs/inotify/max_user_instances")
INOTIFY_NEEDED = 1024
CAP_SYS_RESOURCE = 24
NO_LIMIT = resource.RLIM_INFINITY


class CgroupLayout(StrEnum):
    """How the host mounts its control groups."""

    V2 = "v2"
    HYBRID = "hybrid"
    V1 = "v1"
    NONE = "none"


@dataclass(frozen=True)
class HostFacts:
    """What the lab needs to know of its host. Sizes are bytes; limits are hard limits, -1 when unlimited."""

    root: bool
    tools: dict[str, str]
    cgroups: CgroupLayout
    systemd: bool
    cap_sys_resource: bool
    limit_nofile: int
    limit_nproc: int
    pid_max: int
    disk_free: int
    memory_available: int
    filesystems: frozenset[str]
    modules: frozenset[str]
    loopback_resolver: bool
    podman_version: tuple[int, ...] = ()
    keyrings: tuple[str, ...] = field(default=())

    def has(self, tool: str) -> bool:
        """Is this program installed?"""
        return tool in self.tools

    def kernel_offers(self, filesystem: str) -> bool:
        """Is a file system in the kernel, built in or as a module that can be loaded?"""
        return filesystem in self.filesystems or filesystem in self.modules


def look() -> HostFacts:
    """Read the facts of this machine; nothing is changed."""
    status = _fields(Path("/proc/self/status"))
    return HostFacts(
        root=os.geteuid() == 0,
        tools=find_tools(),
        cgroups=cgroup_layout(Path("/sys/fs/cgroup")),
        systemd=Path("/run/systemd/system").is_dir(),
        cap_sys_resource=bool(int(status.get("CapEff", "0"), 16) >> CAP_SYS_RESOURCE & 1),
        limit_nofile=resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        limit_nproc=resource.getrlimit(resource.RLIMIT_NPROC)[1],
        pid_max=int(Path("/proc/sys/kernel/pid_max").read_text()),
        disk_free=shutil.disk_usage(_nearest_existing(PODMAN_STORAGE)).free,
        memory_available=int(_fields(Path("/proc/meminfo")).get("MemAvailable", "0 kB").split()[0]) * 1024,
        filesystems=_filesystems(Path("/proc/filesystems")),
        modules=_loadable_modules(("nfs", "nfsd", "overlay")),
        loopback_resolver=only_loopback_resolvers(Path("/etc/resolv.conf")),
        podman_version=_podman_version(),
        keyrings=tuple(str(p) for p in sorted(Path("/usr/share/keyrings").glob("debian-archive-keyring.*"))),
    )


def find_tools() -> dict[str, str]:
    """Programs that are there, with their path; sbin is searched too, as a bare root shell may miss it."""
    search = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"
    return {tool: path for tool in TOOLS if (path := shutil.which(tool, path=search))}


def cgroup_layout(root: Path) -> CgroupLayout:
    """Unified (v2), v1, or v1 with an extra v2 tree under `unified` (hybrid)."""
    if (root / "cgroup.controllers").is_file():
        return CgroupLayout.V2
    if (root / "unified" / "cgroup.controllers").is_file():
        return CgroupLayout.HYBRID
    if any((root / name).is_dir() for name in ("memory", "systemd", "cpu")):
        return CgroupLayout.V1
    return CgroupLayout.NONE


def only_loopback_resolvers(resolv_conf: Path) -> bool:
    """Does the host ask a name server on itself? A container cannot reach that one.

    systemd-resolved is no problem: podman reads its upstream servers from /run/systemd/resolve.
    """
    if not resolv_conf.is_file() or Path("/run/systemd/resolve/resolv.conf").is_file():
        return False
    lines = (line.split() for line in resolv_conf.read_text().splitlines())
    servers = [words[1] for words in lines if len(words) > 1 and words[0] == "nameserver"]
    return bool(servers) and all(server.startswith("127.") or server == "::1" for server in servers)


def load_modules(facts: HostFacts, *names: str) -> None:
    """Load kernel modules that the lab's containers cannot load themselves. Built-in ones need nothing."""
    wanted = [name for name in names if name in facts.modules]
    if wanted and facts.has("modprobe"):
        subprocess.run([facts.tools["modprobe"], "-a", *wanted], check=False, capture_output=True)


def raise_inotify_limit(path: Path = INOTIFY_INSTANCES) -> str | None:
    """Let many systemds run on one host: each takes some ten inotify instances, the kernel's default is 128 in all.

    Without them units fail at random. Holds until the host reboots. Returns what is to be told, if anything.
    """
    present = int(path.read_text()) if path.is_file() else INOTIFY_NEEDED
    if present >= INOTIFY_NEEDED:
        return None
    try:
        path.write_text(f"{INOTIFY_NEEDED}\n")
    except OSError as error:
        return f"fs.inotify.max_user_instances is {present} and cannot be raised ({error}); many nodes may not boot"
    return f"Raised fs.inotify.max_user_instances from {present} to {INOTIFY_NEEDED} until the next reboot"


def _loadable_modules(names: tuple[str, ...]) -> frozenset[str]:
    index = Path("/lib/modules") / os.uname().release / "modules.dep"
    if not index.is_file():
        return frozenset()
    stems = {line.split(":", 1)[0].rsplit("/", 1)[-1].split(".ko", 1)[0] for line in index.read_text().splitlines()}
    return frozenset(stems.intersection(names))


def _filesystems(path: Path) -> frozenset[str]:
    return frozenset(line.split()[-1] for line in path.read_text().splitlines() if line.strip())


def _fields(path: Path) -> dict[str, str]:
    pairs = (line.partition(":") for line in path.read_text().splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def _podman_version() -> tuple[int, ...]:
    program = find_tools().get("podman")
    if program is None:
        return ()
    output = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"(\d+)\.(\d+)", output)
    return (int(match[1]), int(match[2])) if match else ()


def _nearest_existing(path: Path) -> Path:
    return path if path.exists() else _nearest_existing(path.parent)
