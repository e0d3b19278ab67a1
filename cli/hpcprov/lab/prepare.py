"""The image that nodes are made of, built when it is missing, after a look at everything the lab needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hpcprov.errors import LabError
from hpcprov.lab import engine, image
from hpcprov.lab.host import HostFacts
from hpcprov.lab.plan import DEFAULT_RELEASE
from hpcprov.lab.podman import Podman
from hpcprov.lab.preflight import Problem, can_ask_podman, preflight, require


def node_image(
    facts: HostFacts, settings: Mapping[str, Any], report: Callable[[str], None], *, running: Callable[[Podman], bool]
) -> tuple[Podman, str]:
    """A podman that can run the node image, and the image's name.

    `settings` is a site's `lab` variable; `running` tells whether its nodes run already, so that no room is needed.
    """
    wanted, problems = _recipe(settings)
    name = str(settings.get("image") or (wanted.tag if wanted else ""))
    build, room = True, True
    if can_ask_podman(facts):
        podman = engine.connect(facts)
        build = not (name and podman.exists("image", name))
        room = build or not running(podman)
    require([*preflight(facts, build=build and wanted is not None, room=room), *problems])
    podman = engine.connect(facts)
    if wanted is not None:
        image.ensure(podman, facts, wanted, report)
    elif build:
        raise LabError(f"there is no image {name}", hint="remove lab.image from the site file to have one built")
    return engine.choose_runtime(facts, name), name


def _recipe(settings: Mapping[str, Any]) -> tuple[image.Recipe | None, list[Problem]]:
    if settings.get("image"):
        return None, []
    try:
        return image.recipe(str(settings.get("release", DEFAULT_RELEASE)), settings), []
    except LabError as error:
        return None, [Problem(f"{error.message} ({error.why})" if error.why else error.message, hint=error.hint or "")]
