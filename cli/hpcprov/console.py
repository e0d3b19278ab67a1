"""The two streams of the command line: data for programs on stdout, everything said to a person on stderr."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

LOG_WIDTH = 110  # without a terminal nobody tells the width; logs and CI pages hold this much


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    # Without emoji: a MAC address such as 52:54:00:ab:cd:ef holds the code of one.
    console = Console(stderr=stderr, highlight=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = LOG_WIDTH
    return console


@lru_cache(maxsize=1)
def out() -> Console:
    """Where data goes."""
    return _console(stderr=False)


@lru_cache(maxsize=1)
def err() -> Console:
    """Where progress, notices and errors go."""
    return _console(stderr=True)


def say(message: RenderableType, *, style: str | None = None) -> None:
    """Tell the person something. Brackets in `message` are text, not markup; long lines are not cut."""
    console = err()
    if not isinstance(message, str) and not console.is_terminal:
        message = _without_padding(console, message)
    console.print(message, style=style, markup=False, soft_wrap=isinstance(message, str))


def _without_padding(console: Console, message: RenderableType) -> str:
    """A table as text. On a terminal the blanks behind its lines are not seen, in a log they are."""
    with console.capture() as captured:
        console.print(message)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def write_json(text: str) -> None:
    """Print a finished JSON document as it is, without colours and wrapping."""
    import sys

    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()
