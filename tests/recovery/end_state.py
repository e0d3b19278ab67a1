"""The end of a deploy on a host, and what is not the same between two of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from e2e_lab import Lab

SCRIPT = Path(__file__).with_name("host_state.py").read_text()


def end_state(lab: Lab, host: str) -> dict[str, Any]:
    """Everything on one host that a deploy is about."""
    said = lab.node(host, f"python3 - <<'END_OF_SCRIPT'\n{SCRIPT}\nEND_OF_SCRIPT")
    line = next(line for line in said.splitlines() if line.startswith("STATE"))
    state: dict[str, Any] = json.loads(line.removeprefix("STATE"))
    return state


def differences(wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """What is not the same, one line each."""
    told = []
    for name in sorted(wanted.keys() | found.keys()):
        before, after = wanted.get(name), found.get(name)
        if isinstance(before, list) and isinstance(after, list):
            told += [f"{name}: missing: {line}" for line in before if line not in after]
            told += [f"{name}: only after the kill: {line}" for line in after if line not in before]
        elif before != after:
            told.append(f"{name}: {before} undisturbed, {after} after the kill")
    return told
