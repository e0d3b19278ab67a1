"""Can hosts be asked at all?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from hpcprov.lab.plan import is_lab
from hpcprov.preflight.findings import Finding, Level
from hpcprov.preflight.look import Look
from hpcprov.preflight.rules.registry import rule
from hpcprov.remote.connection import ConnectionFailedError, Trouble

_TARGET = re.compile(r" \(\S+@\S+ port \d+\)")


@rule("unreachable", "host-key", "authentication", "address", "ssh")
def connection(look: Look) -> Iterator[Finding]:
    """Every host answers over SSH, shows the key that is known, and lets the login user in."""
    alike = Counter((error.trouble, _TARGET.sub("", error.message)) for error in look.failures.values())
    for name, error in look.failures.items():
        message, fix = error.message, error.hint or ""
        if alike[error.trouble, _TARGET.sub("", message)] > 1:  # told together, so without the address of one
            message, fix = _TARGET.sub("", message), fix.replace(look.site.hosts[name].address, "HOST")
        yield Finding(name, error.trouble.value, Level.ERROR, message, fix=_fix(look, error, fix))


def _fix(look: Look, error: ConnectionFailedError, hint: str) -> str:
    """The hosts of a lab are containers that somebody has to start."""
    if error.trouble is Trouble.UNREACHABLE and is_lab(look.site):
        return f"hpcprov lab up {look.site.path}"
    return hint
