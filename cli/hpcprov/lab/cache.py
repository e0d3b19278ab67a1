"""The package cache that nodes share: proxy.py in a container of its own, on the lab's network."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from pathlib import Path

from hpcprov.errors import LabError
from hpcprov.lab.nodes import Node, Owner, State, state_of
from hpcprov.lab.podman import Podman, labels
from hpcprov.paths import cache_dir

PORT = 3142
PROXY = Path(__file__).with_name("proxy.py")
NAME = "cache"
ANSWER_TIMEOUT = 20.0


def url(address: str) -> str:
    """The proxy as apt wants it."""
    return f"http://{address}:{PORT}"


def container_of(cluster: str, image: str, network: str, address: str, owner: Owner) -> Node:
    """The cache's container. The package folder is shared by all labs of this machine."""
    mounts = (
        (str(PROXY), "/usr/local/lib/hpcprov/proxy.py", "ro"),
        (str(cache_dir("packages")), "/var/cache/hpcprov", "rw"),
    )
    # A mounted file stays the old one when the file is replaced, so its content makes the kind.
    kind = hashlib.sha256(PROXY.read_bytes()).hexdigest()
    return Node(NAME, NAME, cluster, kind, image, network, address, mounts, owner)


def run_arguments(node: Node, upstream_proxy: str = "") -> list[str]:
    """Arguments of `podman run`: no systemd and no privileges, only the proxy."""
    volumes = [f"--volume={source}:{path}:{options}" for source, path, options in node.mounts]
    environment = [f"--env=http_proxy={upstream_proxy}"] if upstream_proxy else []
    return [
        "--detach", f"--name={node.container}", f"--hostname={NAME}",
        f"--network={node.network}", f"--ip={node.address}",
        "--init=false", "--systemd=false", *labels(node.labels),
        *volumes, *environment, node.image,
        "/usr/bin/python3", "-u", "/usr/local/lib/hpcprov/proxy.py", "--dir=/var/cache/hpcprov", f"--port={PORT}",
    ]  # fmt: skip


def start(podman: Podman, node: Node, present: Mapping[str, dict[str, object]], upstream_proxy: str = "") -> str:
    """Make the cache run and wait until it answers. Returns its URL. Raises LabError when it does not come up."""
    state = state_of(node, present)
    if state is State.STOPPED:
        podman.run("start", node.container)
    elif state is not State.RUNNING:
        podman.remove_containers(node.container)
        podman.run("run", *run_arguments(node, upstream_proxy))
    _wait(podman, node)
    return url(node.address)


def _wait(podman: Podman, node: Node) -> None:
    import urllib.request

    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + ANSWER_TIMEOUT
    while True:
        try:
            opener.open(url(node.address) + "/", timeout=2).close()
            return
        except OSError as error:
            if time.monotonic() > deadline:
                log = podman.try_run("logs", "--tail", "10", node.container)
                raise LabError(
                    "the package cache does not answer", why=str(error), journal=(log.stdout + log.stderr).splitlines()
                ) from error
            time.sleep(0.1)
