"""Ask before work is lost. Without somebody to ask, and without `--yes`, the answer is no."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from hpcprov.console import say
from hpcprov.errors import UsageError


def require(losses: Sequence[str], *, yes: bool) -> None:
    """Return when the losses are wanted. Raises UsageError when nobody can be asked, KeyboardInterrupt for a no."""
    if not losses or yes:
        return
    if not _somebody_is_there():
        raise UsageError(
            "this deploy would lose work, and there is no terminal to ask on; nothing was changed",
            why="\n".join(losses),
            hint="wait until the jobs are done (squeue), or lose it: the same command with --yes",
        )
    say("This deploy would lose work:", style="bold yellow")
    for loss in losses:
        say(f"  {loss}")
    if not _answer("Go on and lose it? [y/N] "):
        say("Nothing was changed.")
        raise KeyboardInterrupt


def _somebody_is_there() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _answer(question: str) -> bool:
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
