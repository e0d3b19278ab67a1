"""Say everything that keeps this machine from running a lab, before anything starts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hpcprov.errors import LabError
from hpcprov.lab.host import CgroupLayout, HostFacts, look
from hpcprov.lab.podman import runtimes

GIB = 1 << 30
# Four nodes with their packages, the node image, and a training environment on shared storage.
DISK_NEEDED = 8 * GIB
MEMORY_NEEDED = 4 * GIB
PODMAN_NEEDED = (4, 0)


@dataclass(frozen=True)
class Problem:
    """One thing that is missing. `package` is the Debian package that brings it."""

    what: str
    package: str = ""
    hint: str = ""


def preflight(facts: HostFacts | None = None, *, build: bool = True, room: bool = True) -> list[Problem]:
    """All problems at once. `build`: a node image has to be built; `room`: nodes have to be started."""
    facts = facts or look()
    return [*_programs(facts, build=build), *_rights(facts), *(_room(facts) if room else [])]


def require(problems: Iterable[Problem]) -> None:
    """Raise LabError that lists every problem and the command that installs what is missing."""
    found = list(problems)
    if found:
        why = "; ".join(problem.what for problem in found)
        raise LabError("this machine cannot run the lab", why=why, hint=advice(found))


def can_ask_podman(facts: HostFacts) -> bool:
    """Is there a podman that can tell which images and containers exist?"""
    return facts.root and facts.has("podman") and bool(runtimes(facts)) and facts.podman_version >= PODMAN_NEEDED


def advice(problems: Iterable[Problem]) -> str:
    """What to do about them: one apt command for all packages, then the rest."""
    listed = list(problems)
    packages = list(dict.fromkeys(problem.package for problem in listed if problem.package))
    steps = [f"apt-get install -y {' '.join(packages)}"] if packages else []
    return "; ".join([*steps, *dict.fromkeys(problem.hint for problem in listed if problem.hint)])


def _programs(facts: HostFacts, *, build: bool) -> list[Problem]:
    problems = []
    if not facts.has("podman"):
        problems.append(Problem("podman is not installed", "podman"))
    elif facts.podman_version < PODMAN_NEEDED:
        found = ".".join(str(number) for number in facts.podman_version) or "unknown"
        problems.append(Problem(f"podman {found} is too old, 4.0 or newer is needed", hint="use Debian 12 or newer"))
    if not runtimes(facts):
        reason = " (crun does not work with a hybrid cgroup layout)" if facts.has("crun") else ""
        problems.append(Problem(f"no OCI runtime that works here{reason}", "runc"))
    if not (facts.has("iptables") or facts.has("nft")):
        problems.append(Problem("iptables is not installed, podman's networks need it", "iptables"))
    if not facts.has("ip"):
        problems.append(Problem("ip is not installed", "iproute2"))
    if not (facts.has("ssh") and facts.has("ssh-keygen")):
        problems.append(Problem("the SSH client is not installed", "openssh-client"))
    if build and not facts.has("mmdebstrap"):
        problems.append(Problem("mmdebstrap is not installed, it builds the node image", "mmdebstrap"))
    if build and not facts.keyrings:
        problems.append(Problem("Debian's archive keys are not installed", "debian-archive-keyring"))
    return problems


def _rights(facts: HostFacts) -> list[Problem]:
    problems = []
    if not facts.root:
        problems.append(Problem("the lab's systemd containers need root", hint="run hpcprov as root, or with sudo"))
    if facts.cgroups is CgroupLayout.NONE:
        problems.append(Problem("no control groups under /sys/fs/cgroup", hint="mount the cgroup file systems"))
    if not facts.kernel_offers("overlay"):
        problems.append(Problem("the kernel has no overlay file system", hint="use a kernel with CONFIG_OVERLAY_FS"))
    return problems


def _room(facts: HostFacts) -> list[Problem]:
    problems = []
    if facts.disk_free < DISK_NEEDED:
        problems.append(
            Problem(
                f"{facts.disk_free / GIB:.1f} GiB are free under /var/lib/containers, {DISK_NEEDED // GIB} are needed",
                hint="free disk space, or `podman system prune`",
            )
        )
    if facts.memory_available < MEMORY_NEEDED:
        problems.append(
            Problem(
                f"{facts.memory_available / GIB:.1f} GiB of memory are free, {MEMORY_NEEDED // GIB} are needed",
                hint="stop what uses the memory",
            )
        )
    return problems
