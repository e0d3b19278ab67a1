"""Whose a lab is: its containers, network and volumes are marked with the state directory of the site that made them.

Two site files with one cluster_name would else take each other's nodes for outdated ones of their own.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcprov.errors import LabError
from hpcprov.lab.nodes import CLUSTER_LABEL, Owner
from hpcprov.lab.podman import Podman
from hpcprov.site import Site

Containers = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Claim:
    """What this site and the labels that are there say about a lab of its name."""

    cluster: str
    own: Owner
    others: tuple[Owner, ...] = ()

    @property
    def living(self) -> Owner | None:
        """Another owner whose state directory still exists."""
        return next((owner for owner in self.others if Path(owner.state_dir).is_dir()), None)

    @property
    def orphaned(self) -> bool:
        """Left by a checkout that has been removed, and free to be taken over."""
        return bool(self.others) and self.living is None

    @property
    def holder(self) -> Owner:
        """Whose the lab is at present."""
        return self.living or (self.others[0] if self.others else self.own)

    def require(self) -> None:
        """Raise LabError when the lab is somebody else's."""
        if owner := self.living:
            raise LabError(
                f"the lab {self.cluster} on this machine belongs to {owner.site or 'another site file'}",
                why=f"its state is in {owner.state_dir}, this site's in {self.own.state_dir}",
                hint="give this site another cluster_name, cluster_network and addresses, or remove that lab: "
                + _way_to_remove(owner),
            )

    def takeover(self) -> str:
        """What is told when an orphaned lab is taken over."""
        return f"The lab {self.cluster} belonged to {self.holder.state_dir}, which no longer exists: it is taken over"


def owner_of(site: Site) -> Owner:
    """How this site marks what it makes."""
    return Owner(str(site.state_dir.resolve()), str(site.path.resolve()))


def marks(site: Site) -> dict[str, str]:
    """Labels of everything that belongs to the site's lab."""
    return {CLUSTER_LABEL: site.cluster_name, **owner_of(site).labels}


def claim(podman: Podman, site: Site, network: str, present: Containers) -> Claim:
    """Compare this site with the labels of what is there. Things without an owner's label count as ours."""
    own = owner_of(site)
    found = {Owner.of(labels) for labels in _labels(podman, site.cluster_name, network, present)}
    others = {owner for owner in found if owner.state_dir not in ("", own.state_dir)}
    return Claim(site.cluster_name, own, tuple(sorted(others, key=lambda owner: owner.state_dir)))


def _labels(podman: Podman, cluster: str, network: str, present: Containers) -> Iterable[Mapping[str, str]]:
    """Labels of the containers, else of the network, else of the volumes.

    A volume outlives a takeover with the label of its first owner, so it counts only where nothing else is left.
    """
    if present:
        return [container.get("Labels") or {} for container in present.values()]
    if podman.exists("network", network):
        return [found.get("labels") or {} for found in podman.query("network", "inspect", network)]
    return _volume_labels(podman, cluster)


def _volume_labels(podman: Podman, cluster: str) -> Iterator[Mapping[str, str]]:
    for volume in podman.query("volume", "ls", "--format", "json", "--filter", f"label={CLUSTER_LABEL}={cluster}"):
        yield volume.get("Labels") or {}


def _way_to_remove(owner: Owner) -> str:
    if owner.site and Path(owner.site).is_file():
        return f"hpcprov lab down {shlex.quote(owner.site)}"
    return "its site file is gone, so hpcprov lab down --force with this one"
