"""Set up the Podman of this host: choose the runtime, write its containers.conf."""

from __future__ import annotations

from hpcprov.errors import LabError
from hpcprov.lab.host import HostFacts, look
from hpcprov.lab.podman import Podman, containers_conf, runtimes, write_atomically
from hpcprov.paths import cache_dir


def connect(facts: HostFacts | None = None) -> Podman:
    """Podman with the first runtime that can work here. `choose_runtime` decides by trying, once there is an image."""
    facts = facts or look()
    candidates = runtimes(facts)
    if not candidates or not facts.has("podman"):
        raise LabError("podman or an OCI runtime is missing", hint="apt-get install -y podman runc")
    chosen = _remembered()
    return _with_runtime(facts, chosen if chosen in candidates else candidates[0])


def choose_runtime(facts: HostFacts, image: str) -> Podman:
    """Podman with a runtime that has started a container on this host."""
    candidates = runtimes(facts)
    if len(candidates) > 1 and _remembered() not in candidates:
        for runtime in candidates:
            podman = _with_runtime(facts, runtime)
            if podman.try_run("run", "--rm", "--privileged", "--network=none", image, "/bin/true").returncode == 0:
                (cache_dir("lab") / "runtime").write_text(runtime + "\n")
                return podman
        raise LabError(
            "no OCI runtime can start a container here", why=f"tried {', '.join(candidates)}",
            hint=f"CONTAINERS_CONF={podman.conf} podman run --rm --privileged {image} /bin/true",
        )  # fmt: skip
    return connect(facts)


def _remembered() -> str:
    path = cache_dir("lab") / "runtime"
    return path.read_text().strip() if path.is_file() else ""


def _with_runtime(facts: HostFacts, runtime: str) -> Podman:
    conf = cache_dir("lab") / "containers.conf"
    write_atomically(conf, containers_conf(facts, runtime))
    return Podman(facts.tools["podman"], conf)
