"""Run the checks of a site whose hosts answer from memory, each after a fixed time: `replay_verify.py SITE SECONDS`.

All of verify runs but SSH and the hosts: the answers are those of a healthy lab (verify-facts.json), given to every
host under its own name and address.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hpcprov.site import Host, Site, load_site
from hpcprov.verify import PLUGINS, cluster
from hpcprov.verify.cluster import expect

ROOT = Path(__file__).resolve().parents[2]
RECORDED = (Path(__file__).parent / "verify-facts.json").read_text(encoding="utf-8")
NODE, ADDRESS = "node01", "10.89.77.21"


class Replay:
    """Stands for the transport."""

    latency = 0.0

    def __init__(self, site: Site) -> None:
        self.site = site

    def run(self, name: str, script: str, p: Mapping[str, Any], *, user: str | None = None) -> dict[str, Any]:
        """What the host says, after its time."""
        started = time.time()
        time.sleep(self.latency)
        facts = self._jobs(p) if script == "jobs" else self._round(self.site.hosts[name], p)
        return {**facts, "started": started, "finished": time.time()}

    def close(self) -> None:
        """Nothing is open."""

    def _as(self, host: Host, text: str) -> dict[str, Any]:
        said = text.replace(NODE, host.node_name).replace(ADDRESS, str(host.cluster_address))
        facts: dict[str, Any] = json.loads(said)
        return facts

    def _round(self, host: Host, p: Mapping[str, Any]) -> dict[str, Any]:
        if p["round"] == "collect":
            everyone = [other.name for other in self.site.cluster_hosts]
            accepted = {"ok": True, "status": "Success", "made_on": "x"}
            return {
                "arrived": dict.fromkeys(p["seeded"], everyone),
                "decoded": dict.fromkeys(p["credentials"], accepted),
            }
        recorded = json.loads(RECORDED)[p["round"]]
        return self._as(host, json.dumps(recorded.get(host.name) or recorded[NODE]))

    def _jobs(self, p: Mapping[str, Any]) -> dict[str, Any]:
        recorded: dict[str, Any] = json.loads(RECORDED)["jobs"]
        hosts = {host.node_name: host for host in self.site.group("compute")}
        node = json.dumps(recorded["nodes"][NODE])
        return {**recorded, "nodes": {name: self._as(hosts[name], node) for name in p["nodes"]}}


def main() -> int:
    """Exit code of pytest: 0 when all checks passed."""
    site = Path(sys.argv[1])
    Replay.latency = float(sys.argv[2])
    cluster.Transport = Replay  # type: ignore[misc,assignment]
    assert expect.controller(load_site(site)) == "head"
    tests = ROOT / "tests" / "cluster"
    plugins = [word for plugin in PLUGINS for word in ("-p", plugin)]
    return int(pytest.main([str(tests), "-c", str(tests / "pytest.ini"), f"--site={site}", "-q", *plugins]))


if __name__ == "__main__":
    sys.exit(main())
