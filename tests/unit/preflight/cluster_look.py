"""A small site whose hosts say what a case file lets them say."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hpcprov.preflight.facts import Facts, parse
from hpcprov.preflight.look import Look
from hpcprov.remote.connection import ConnectionFailedError, Trouble
from hpcprov.site import Host, Site
from hpcprov.site.model import build_host

PROBES = Path(__file__).parent / "probes"
GROUPS = {
    "head": ("controller", "database", "login"),
    "store": ("storage",),
    "node01": ("compute",),
    "node02": ("compute",),
}
ADDRESSES = {"head": "10.89.101.11", "store": "10.89.101.12", "node01": "10.89.101.21", "node02": "10.89.101.22"}
VARS: dict[str, Any] = {
    "cluster_name": "pf",
    "cluster_network": "10.89.101.0/24",
    "ansible_user": "root",
    "cluster_users": [{"name": "alice", "uid": 5001}],
    "nfs_exports": [{"path": "/shared"}],
    "nfs_mounts": [{"path": "/shared"}],
}
# Our clock's readings around a probe; the probe's own are between them.
SENT, RECEIVED = 1796128523.80, 1796128523.95
STARTED, FINISHED = "1796128523.814083277", "1796128523.939804450"


def site(variables: Mapping[str, Any] | None = None, hosts: Mapping[str, Mapping[str, Any]] | None = None) -> Site:
    """Four hosts as in the lab."""
    shared = {**VARS, **(variables or {})}
    made: dict[str, Host] = {}
    for name, groups in GROUPS.items():
        own = {"ansible_host": ADDRESSES[name], **(hosts or {}).get(name, {})}
        made[name] = build_host(name, {**shared, **own}, frozenset(groups))
    members = {
        group: [name for name, own in GROUPS.items() if group in own]
        for group in {g for gs in GROUPS.values() for g in gs}
    }
    return Site(
        path=Path("site.yaml"), cluster_name="pf", cluster_network=shared["cluster_network"],
        cluster_domain="lab.internal", hosts=made, groups=members, vars=shared,
    )  # fmt: skip


def healthy_probe(name: str, address: str) -> str:
    """What a healthy host prints at this moment."""
    text = (PROBES / "debian-12-lab.txt").read_text()
    text = text.replace("10.89.101.21", address).replace("node01", name)
    return re.sub(
        r"^(@@ (?:started|finished)\n)[\d.]+$", lambda found: f"{found.group(1)}{time.time():.6f}", text, flags=re.M
    )


def facts(name: str, case: Mapping[str, Any] | None = None) -> Facts:
    """A healthy host, with the sections that the case replaces."""
    case = dict(case or {})
    text = (PROBES / f"{case.pop('probe', 'debian-12-lab')}.txt").read_text()
    found = parse(text, sent=SENT - case.pop("late", 0.0), received=RECEIVED + case.pop("slow", 0.0))
    sections = dict(found.sections) | {"started": (STARTED,), "finished": (FINISHED,)}
    for section in ("identity", "own-name", "hosts-file", "addresses"):  # where the saved host speaks of itself
        sections[section] = tuple(_renamed(line, name) for line in sections[section])
    ahead = case.pop("ahead", None)
    if ahead is not None:
        for section in ("started", "finished"):
            sections[section] = (f"{float(sections[section][0]) + ahead:.6f}",)
    identity = dict(line.split("=", 1) for line in sections["identity"])
    for key, value in (case.pop("identity", None) or {}).items():
        identity.pop(key, None)
        if value is not None:
            identity[key] = str(value)
    sections["identity"] = tuple(f"{key}={value}" for key, value in identity.items())
    for section, lines in case.items():
        sections[section] = tuple(line for line in str(lines).splitlines() if line.strip())
    return replace(found, sections=sections)


def _renamed(line: str, name: str) -> str:
    line = re.sub(r"10\.89\.101\.21\b", ADDRESSES[name], line)
    return re.sub(r"^(instance=.*)$", rf"\g<1>{name}", re.sub(r"\bnode01\b", name, line))


def look(case: Mapping[str, Any]) -> Look:
    """What rules see in a case."""
    silent = {
        name: ConnectionFailedError(entry["message"], Trouble(entry["trouble"]), host=name, hint=entry.get("hint", ""))
        for name, entry in (case.get("failures") or {}).items()
    }
    said = case.get("hosts") or {}
    calls = {(caller, target, port): outcome for caller, target, port, outcome in case.get("calls") or []}
    return Look(
        site(case.get("vars"), case.get("host_vars")),
        {
            name: facts(name, {**(case.get("all") or {}), **(said.get(name) or {})})
            for name in GROUPS
            if name not in silent
        },
        silent,
        calls,
    )
