"""The node image: a bare Debian with systemd and sshd, built by mmdebstrap and imported into podman.

The tag carries a hash of the recipe, so an image is built once and again only when the recipe changes.
What a cluster needs is not in it: that is the roles' job.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import shlex
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcprov.errors import LabError
from hpcprov.lab import sources
from hpcprov.lab.host import HostFacts
from hpcprov.lab.podman import Podman
from hpcprov.paths import cache_dir

REPOSITORY = "localhost/hpcprov-node"
RELEASES = ("bookworm", "trixie")
NODE_FILES = Path(__file__).parent / "node"
# What a Debian server has before anyone configures it, as far as SSH and Ansible need it.
PACKAGES = (
    "systemd", "systemd-sysv", "dbus", "libpam-systemd", "openssh-server", "python3", "python3-apt", "sudo",
    "iproute2", "ca-certificates", "procps", "netbase", "kmod",
)  # fmt: skip
# Privileged containers see the host's devices and kernel settings: nothing in a node may start a getty on the
# host's consoles, settle its devices or write its sysctls. The apt timers would hold the lock at random.
MASKED = (
    "getty.target", "getty@.service", "serial-getty@.service", "console-getty.service", "systemd-sysctl.service",
    "systemd-udevd.service", "systemd-udev-trigger.service", "systemd-udevd-kernel.socket",
    "systemd-udevd-control.socket", "systemd-modules-load.service", "systemd-journald-audit.socket",
    "apt-daily.timer", "apt-daily-upgrade.timer", "fstrim.timer", "e2scrub_all.timer",
)  # fmt: skip
# Run by mmdebstrap with the root file system as $1. Identity and keys belong to a node, not to the image.
CLEANUP = """
rm -f "$1"/etc/ssh/ssh_host_* "$1"/var/lib/dbus/machine-id "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/*
: > "$1"/etc/machine-id
printf '127.0.0.1 localhost\\n::1 localhost ip6-localhost ip6-loopback\\n' > "$1"/etc/hosts
mkdir -p "$1"/etc/hpcprov-lab/host "$1"/etc/hpcprov-lab/site
"""
# apt settings of the host that reach its mirror: proxies and certificates.
APT_SETTINGS = ("acquire::http::", "acquire::https::")

Report = Callable[[str], None]


@dataclass(frozen=True)
class Recipe:
    """All that decides what is in a node image."""

    release: str
    sources: str
    keyrings: tuple[Path, ...] = ()
    packages: tuple[str, ...] = PACKAGES

    @property
    def tag(self) -> str:
        """Image name with a hash of the recipe."""
        return f"{REPOSITORY}:{self.release}-{self.digest}"

    @property
    def digest(self) -> str:
        """Twelve hex digits over everything that goes into the image."""
        digest = hashlib.sha256()
        for part in (self.release, self.sources, *self.packages, *MASKED, CLEANUP):
            digest.update(part.encode() + b"\0")
        for path, content, mode in node_files(self.keyrings):
            digest.update(f"{path}\0{mode:o}\0".encode() + content)
        return digest.hexdigest()[:12]


def node_files(keyrings: Iterable[Path] = ()) -> Iterator[tuple[str, bytes, int]]:
    """Files that we add: path in the node, content, mode. A checkout's or a wheel's modes are not trusted."""
    for path in sorted(NODE_FILES.rglob("*")):
        if path.is_file():
            inside = path.relative_to(NODE_FILES).as_posix()
            yield inside, path.read_bytes(), 0o755 if inside.startswith("usr/") else 0o644
    for keyring in keyrings:
        yield str(keyring).lstrip("/"), keyring.read_bytes(), 0o644


def recipe(
    release: str, settings: Mapping[str, Any] | None = None, entries: list[sources.Entry] | None = None
) -> Recipe:
    """The recipe for a release, from the host's apt sources. Raises LabError when they name no Debian archive."""
    settings = settings or {}
    if release not in RELEASES:
        raise LabError(f"no lab for release {release!r}", hint=f"lab.release is one of {', '.join(RELEASES)}")
    components = [str(c) for c in settings.get("components", ["main"])]
    if mirror := settings.get("mirror"):
        chosen = [
            sources.Entry(str(mirror).rstrip("/"), release + part, tuple(components)) for part in ("", "-updates")
        ]
    else:
        found = sources.read_host() if entries is None else entries
        chosen = sources.for_release(found, release, components, sources.origin_from_lists())
    if not any(entry.suite == release for entry in chosen):
        raise LabError(
            "this machine's apt sources name no Debian archive that a node could use",
            why="/etc/apt/sources.list and sources.list.d were read; entries of other vendors do not count",
            hint="set lab.mirror in the site file to the address of a Debian archive",
        )
    keys = {Path(entry.signed_by) for entry in chosen if entry.signed_by.startswith("/")}
    own = tuple(sorted(key for key in keys if not key.name.startswith("debian-archive-") and key.is_file()))
    return Recipe(release, sources.render(chosen), own)


def ensure(podman: Podman, facts: HostFacts, wanted: Recipe, report: Report) -> str:
    """The name of the image, built when it is not there. Two builds at the same time wait for each other."""
    if podman.exists("image", wanted.tag):
        return wanted.tag
    with _build_lock():
        if podman.exists("image", wanted.tag):
            return wanted.tag
        started = time.monotonic()
        report(f"Building the node image (Debian {wanted.release})")
        _build(podman, facts, wanted)
        report(f"Built {wanted.tag} in {time.monotonic() - started:.0f} s")
    return wanted.tag


def _build(podman: Podman, facts: HostFacts, wanted: Recipe) -> None:
    with tempfile.TemporaryDirectory(prefix="hpcprov-image-", dir=cache_dir("images")) as folder:
        work = Path(folder)
        (work / "node.sources").write_text(wanted.sources)
        (work / "node.tar").write_bytes(_node_tar(wanted))
        command = [facts.tools["mmdebstrap"], *mmdebstrap_arguments(wanted, work, host_apt_settings(facts))]
        with (work / "build.log").open("wb") as log:
            builder = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
            importer = subprocess.run(
                # Under its own name only once it is complete: an interrupted build leaves nothing that looks finished.
                [podman.program, "import", "--quiet", "--change", "CMD [\"/sbin/init\"]", "-"],
                stdin=builder.stdout, env=podman.environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
        log_lines = (work / "build.log").read_text(errors="replace").splitlines()
        imported = importer.stdout.strip().splitlines()
        if builder.wait() != 0 or importer.returncode != 0 or not imported:
            if importer.returncode == 0 and imported:
                podman.try_run("image", "rm", imported[-1])
            words = log_lines if builder.returncode else importer.stderr.splitlines()
            raise LabError("the node image could not be built", why="mmdebstrap or podman import failed", journal=words)
        podman.run("tag", imported[-1], wanted.tag)


def mmdebstrap_arguments(wanted: Recipe, work: Path, apt_settings: Iterable[str] = ()) -> list[str]:
    """The command line that writes the root file system to stdout. `work` holds node.sources and node.tar."""
    hooks = [CLEANUP, f"tar-in {shlex.quote(str(work / 'node.tar'))} /"]
    hooks += [f'ln -sf /dev/null "$1/etc/systemd/system/{unit}"' for unit in MASKED]
    return [
        "--mode=root", "--variant=minbase", "--format=tar", f"--include={','.join(wanted.packages)}",
        *(f"--aptopt={setting}" for setting in apt_settings),
        *(f"--customize-hook={hook}" for hook in hooks),
        wanted.release, "-", str(work / "node.sources"),
    ]  # fmt: skip


def host_apt_settings(facts: HostFacts) -> list[str]:
    """The host's own apt settings for reaching its mirror, as `Key "value"`."""
    if not facts.has("apt-config"):
        return []
    dump = subprocess.run([facts.tools["apt-config"], "dump"], capture_output=True, text=True, check=False).stdout
    return [
        line.rstrip(";") for line in dump.splitlines() if line.lower().startswith(APT_SETTINGS) and '""' not in line
    ]


def host_apt_proxy(settings: Iterable[str]) -> str:
    """The proxy that the host's apt uses for http; empty for none."""
    for setting in settings:
        key, _, value = setting.partition(" ")
        if key.lower() == "acquire::http::proxy" and value.strip('"') not in {"", "DIRECT"}:
            return value.strip('"')
    return ""


def _node_tar(wanted: Recipe) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        own_sources = ("etc/apt/sources.list.d/debian.sources", wanted.sources.encode(), 0o644)
        for path, content, mode in (*node_files(wanted.keyrings), own_sources):
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), mode
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@contextmanager
def _build_lock() -> Iterator[None]:
    with (cache_dir("images") / "build.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
