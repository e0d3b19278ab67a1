"""What tests take from the lab: its node image, its package cache and its podman, without a site."""

from __future__ import annotations

from collections.abc import Callable

from hpcprov.lab import cache, engine, host, image, nodes
from hpcprov.lab.podman import Podman
from hpcprov.lab.preflight import can_ask_podman, preflight, require

# Mount a file with the cache's URL here, and apt in a node uses it.
APT_PROXIES = "/etc/hpcprov-lab/site/apt-proxies"


def node_image(release: str, report: Callable[[str], None]) -> tuple[Podman, str]:
    """The node image of a release, built when it is missing, and a podman that can run it."""
    facts = host.look()
    wanted = image.recipe(release)
    built = can_ask_podman(facts) and engine.connect(facts).exists("image", wanted.tag)
    require(preflight(facts, build=not built, room=not built))
    image.ensure(engine.connect(facts), facts, wanted, report)
    return engine.choose_runtime(facts, wanted.tag), wanted.tag


def start_cache(podman: Podman, name: str, *, node_image: str, network: str, address: str) -> str:
    """Start the package cache on an existing podman network, at a fixed address. Returns its URL for apt.

    The container is `hpcprov-NAME-cache` and has the label hpcprov.cluster=NAME.
    """
    upstream = image.host_apt_proxy(image.host_apt_settings(host.look()))
    node = cache.container_of(name, node_image, network, address)
    return cache.start(podman, node, nodes.inspect(podman, name), upstream)
