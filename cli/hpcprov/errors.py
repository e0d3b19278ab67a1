"""Every error that hpcprov shows to a person. Each one carries its exit code and is printed in one place only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class HpcprovError(Exception):
    """Something went wrong that the admin should read: what, on which host, why, and what to do next."""

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        host: str | None = None,
        why: str | None = None,
        hint: str | None = None,
        journal: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.host = host
        self.why = why
        self.hint = hint
        self.journal = list(journal)


class UsageError(HpcprovError):
    """The command line asks for something that does not exist or does not fit together."""

    exit_code = 2


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong in a site file. `line` and `column` count from 1; 0 means the whole file."""

    file: Path
    line: int
    column: int
    rule: str
    message: str
    level: str = "error"
    hint: str | None = None

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}" if self.line else str(self.file)
        return f"{where}: {self.rule}: {self.message}"

    def as_dict(self) -> dict[str, Any]:
        """The finding as `--json` prints it."""
        return {
            "file": str(self.file),
            "line": self.line,
            "column": self.column,
            "rule": self.rule,
            "level": self.level,
            "message": self.message,
            "hint": self.hint,
        }


class SiteError(HpcprovError):
    """The site file is not valid. `findings` holds every error that was found, in file order."""

    exit_code = 3

    def __init__(self, message: str, findings: Sequence[Finding] = (), **details: Any) -> None:
        super().__init__(message, **details)
        self.findings = list(findings)


class HostsError(HpcprovError):
    """Hosts cannot be reached, or are not fit to be part of a cluster."""

    exit_code = 4

    def __init__(self, message: str, *, problems: Sequence[HostsError] = (), **details: Any) -> None:
        super().__init__(message, **details)
        self.problems = list(problems)  # one for each host, when the error is about several


class LabError(HostsError):
    """The local lab cannot run on this machine, or one of its containers does not come up."""


class ConvergeError(HpcprovError):
    """A role failed on a host."""

    exit_code = 5


class VerifyError(HpcprovError):
    """The cluster was converged, but a check of it failed."""

    exit_code = 6


class SmokeError(HpcprovError):
    """The training job did not prove the cluster."""

    exit_code = 6
