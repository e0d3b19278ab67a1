"""Read what the module hpc_saved_facts keeps on the control host."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def saved_facts(state_dir: str) -> dict[str, dict[str, Any]]:
    """Facts by host name. `state_dir` is the site's cluster_state_dir; hosts never measured are absent."""
    facts = {}
    for path in sorted((Path(state_dir) / "facts").glob("*.json")):
        facts[path.stem] = json.loads(path.read_text())["facts"]
    return facts


class FilterModule:
    """Filters that Ansible finds in this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter functions by name."""
        return {"hpcprov_saved_facts": saved_facts}
