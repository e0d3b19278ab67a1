"""Whether jobs can be held in cgroups, and cgroup.conf."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hpcprov.slurm.hostlist import fold
from hpcprov.slurm.settings import checked, key_lines

_NEEDED = {"v2": {"cpuset", "memory", "pids"}, "v1": {"cpuset", "memory", "devices", "freezer"}}
# slurmd of these releases and later can do without any cgroup plugin.
_CAN_DISABLE = "23.11"


@dataclass(frozen=True)
class CgroupFacts:
    """What a node says about its cgroups. `plugins` is None when it was not asked."""

    layout: str = "none"
    controllers: tuple[str, ...] = ()
    container: bool = False
    plugins: tuple[str, ...] | None = None

    def obstacle(self) -> str | None:
        """Why jobs cannot be constrained on this node, if so."""
        if self.container:
            return "a container"
        plugin = "v1" if self.layout == "hybrid" else self.layout
        if plugin not in _NEEDED:
            return "no cgroups"
        missing = sorted(_NEEDED[plugin] - set(self.controllers))
        if missing:
            return f"no cgroup controller {', '.join(missing)}"
        if self.plugins is not None and plugin not in self.plugins:
            return f"Slurm without its cgroup_{plugin} plugin"
        return None


def constrained(nodes: Mapping[str, CgroupFacts]) -> tuple[bool, str | None]:
    """Whether all nodes can constrain jobs, and else the notice for the admin.

    ProctrackType is one setting for the whole cluster, so one node decides for all.
    """
    obstacles: dict[str, list[str]] = {}
    for name, facts in nodes.items():
        obstacle = facts.obstacle()
        if obstacle:
            obstacles.setdefault(obstacle, []).append(name)
    if not nodes or not obstacles:
        return bool(nodes), None
    why = "; ".join(f"{fold(names)}: {obstacle}" for obstacle, names in obstacles.items())
    return False, f"Jobs are not confined to their cores and memory by cgroups ({why})"


def cgroup_conf(usable: bool, release: str, settings: Mapping[str, Any] | None = None) -> str:
    """cgroup.conf for one release of Slurm; `settings` of the site win."""
    keys: dict[str, Any] = {}
    if usable:
        keys = dict.fromkeys(("ConstrainCores", "ConstrainRAMSpace", "ConstrainDevices"), True)
        # Swap is not counted by every kernel, and a job that swaps slows its neighbours either way.
        keys["ConstrainSwapSpace"] = False
    elif release >= _CAN_DISABLE:
        keys["CgroupPlugin"] = "disabled"
    return key_lines({**keys, **checked(settings or {}, "cgroup.conf", release)})
