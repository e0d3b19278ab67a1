"""How a check says that something is wrong. Used by the tests in tests/cluster."""

from __future__ import annotations

from typing import NoReturn


class CheckError(AssertionError):
    """A check found something wrong: what was expected and found, the likely cause, the command that fixes it."""

    def __init__(
        self,
        *,
        expected: str,
        found: str,
        cause: str | None = None,
        fix: str | None = None,
        follows: str | None = None,
    ) -> None:
        self.reason = f"expected {expected}; found {found}"
        if follows:
            cause, fix = f"follows from: {follows}", None
            self.reason += f". It {cause}"
        elif cause:
            self.reason += f". Likely cause: {cause}"
        self.parts: dict[str, str | None] = {"expected": expected, "found": found, "cause": cause, "fix": fix}
        super().__init__(self.reason + (f". Fix: {fix}" if fix else ""))


def fail(
    *, expected: str, found: str, cause: str | None = None, fix: str | None = None, follows: str | None = None
) -> NoReturn:
    """End the check as failed. `follows` names a known cause that another check tells with its fix: no guess then."""
    raise CheckError(expected=expected, found=found, cause=cause, fix=fix, follows=follows)


def require(
    condition: object,
    *,
    expected: str,
    found: str,
    cause: str | None = None,
    fix: str | None = None,
    follows: str | None = None,
) -> None:
    """Fail unless `condition` holds."""
    if not condition:
        fail(expected=expected, found=found, cause=cause, fix=fix, follows=follows)
