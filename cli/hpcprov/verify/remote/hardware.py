"""What a node has, by its own word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hpcprov.verify.remote.host import command, last_line


def measured(devices: list[str]) -> dict[str, Any]:
    """`slurmd -C` as it prints it, and which of these device files are missing."""
    code, out, err = command("slurmd", "-C")
    missing = [path for path in devices if not Path(path).exists()]
    return {"error": last_line(err) or f"slurmd -C ended with {code}", "missing": missing} if code else {
        "text": out, "missing": missing,
    }  # fmt: skip
