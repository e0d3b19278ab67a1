"""What preflight's rules cost the control host for each host, in a site where every host has firewalld.

Callers that no packet filter tells apart are judged once, so ten times the hosts may cost about ten times as much, not
a hundred times. The probe and SSH are not in it: the hosts answer side by side.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from hpcprov.preflight.facts import parse
from hpcprov.preflight.look import Look
from hpcprov.preflight.rules import run_rules
from hpcprov.site import load_site

PROBE = Path(__file__).resolve().parents[1] / "unit" / "preflight" / "probes" / "rocky-9-firewalld.txt"
FEW, MANY = 200, 2000


def address(number: int) -> str:
    """The cluster address of host `number`."""
    return f"10.0.{1 + number // 250}.{1 + number % 250}"


def look(folder: Path, nodes: int) -> Look:
    """A head and as many nodes, each of which answers as a machine of its own."""
    names = ["head", *(f"node{number:04}" for number in range(nodes))]
    hosts = {name: {"ansible_host": address(number)} for number, name in enumerate(names)}
    head = {"hosts": {"head": hosts.pop("head")}}
    site = {
        "all": {
            "vars": {
                "cluster_name": "many",
                "cluster_network": "10.0.0.0/16",
                "nfs_exports": [{"path": "/shared"}],
                "nfs_mounts": [{"path": "/shared"}],
            }
        },
        **dict.fromkeys(("controller", "database", "storage"), head),
        "compute": {"hosts": hosts},
    }
    path = folder / f"site{nodes}.yaml"
    path.write_text(json.dumps(site))  # JSON is YAML
    text = PROBE.read_text()
    facts = {
        name: parse(
            text.replace("10.89.101.21", address(number))
            .replace("node01", name)
            .replace("instance=", f"instance={number}"),
            sent=1.0,
            received=2.0,
        )
        for number, name in enumerate(names)
    }
    return Look(load_site(path), facts)


def cpu_seconds(seen: Look) -> float:
    """Of all rules."""
    start = time.process_time()
    findings = run_rules(seen)
    spent = time.process_time() - start
    assert sum(finding.rule == "firewall" for finding in findings) >= len(seen.facts)
    return spent


def test_a_host_more_costs_the_same_in_a_large_site(tmp_path: Path) -> None:
    few, many = cpu_seconds(look(tmp_path, FEW)), cpu_seconds(look(tmp_path, MANY))
    growth = many / few / (MANY / FEW)
    print(
        f"\npreflight's rules: {FEW} hosts {few:.2f} s, {MANY} hosts {many:.2f} s of CPU, "
        f"{many / MANY * 1000:.2f} ms a host, which is {growth:.1f} times that of the small site"
    )
    assert growth < 4
