"""What preflight has to say."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hpcprov.remote.connection import Trouble


class Level(StrEnum):
    """An error keeps a deploy from starting; a warning is mended by it, or worth knowing."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong on one host. `message` and `fix` do not name it, so that hosts can be told together."""

    host: str
    rule: str
    level: Level
    message: str
    cause: str = ""
    fix: str = ""

    @property
    def is_error(self) -> bool:
        """Whether a deploy must not start with it."""
        return self.level is Level.ERROR

    @property
    def is_dead(self) -> bool:
        """The host does not answer at all; there is nothing to say about its fitness."""
        return self.rule == Trouble.UNREACHABLE

    def as_dict(self) -> dict[str, str]:
        """As `--json` and result.json have it."""
        return {
            "host": self.host,
            "rule": self.rule,
            "level": self.level.value,
            "message": self.message,
            "cause": self.cause,
            "fix": self.fix,
        }
