"""Can hosts be asked at all?"""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.preflight.findings import Finding, Level
from hpcprov.preflight.look import Look
from hpcprov.preflight.rules.registry import rule


@rule("unreachable", "host-key", "authentication", "address", "ssh")
def connection(look: Look) -> Iterator[Finding]:
    """Every host answers over SSH, shows the key that is known, and lets the login user in."""
    for name, error in look.failures.items():
        yield Finding(name, error.trouble.value, Level.ERROR, error.message, fix=error.hint or "")
