"""Run the script on all hosts, then log in as the admin: that is what a deploy will do."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from hpcprov.bootstrap.public_key import KeyPair
from hpcprov.bootstrap.steps import HostResult, read_steps
from hpcprov.discovery.connect import Said, Target
from hpcprov.discovery.reach import Access, Confirm, Report, ask
from hpcprov.errors import UsageError
from hpcprov.preflight.facts import parse
from hpcprov.remote.connection import ConnectionFailedError, Trouble

LIMIT = 900  # seconds without an end; a slow mirror needs some of them
_USER = re.compile(r"^[a-z_][a-z0-9_-]{0,31}$")
PROOF = """
echo; echo '@@ proof'
id -u
for python in /usr/bin/python3 /usr/bin/python3.1[0-9] /usr/bin/python3.[89] "$(command -v python3)"; do
  [ -x "$python" ] && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null && echo python && break
done
echo '@@ end'
"""


@dataclass(frozen=True)
class Wish:
    """Who shall be able to log in afterwards, and with which key."""

    admin: str
    key: KeyPair
    dry: bool = False


def check_admin(name: str) -> str:
    """The name, if it can be a user's. Raises UsageError."""
    if not _USER.match(name):
        raise UsageError(f'"{name}" is no user name', hint="lower-case letters, digits, - and _; 32 characters at most")
    return name


def bootstrap(
    targets: Sequence[Target], wish: Wish, access: Access, confirm: Confirm, report: Report
) -> list[HostResult]:
    """A result for each target. Raises as `reach.ask` does, never because of a host."""
    parameters = {"admin": wish.admin, "public_key": wish.key.text, "dry": "yes" if wish.dry else ""}
    head = "".join(f"{name}={shlex.quote(value)}\n" for name, value in parameters.items())
    script = head + files("hpcprov.bootstrap").joinpath("script.sh").read_text(encoding="utf-8")
    said = ask(targets, lambda _: script, access, confirm, report, limit=LIMIT)
    if refused := _refused(said, targets, wish):
        later = ask(refused, lambda _: script, access, lambda _: False, report, limit=LIMIT)
        for name, output in later.outputs.items():
            del said.failures[name]
            said.outputs[name] = output
    results = [_result(target, said) for target in targets]
    if not wish.dry:
        _prove([result for result in results if not result.failed], targets, wish, access, report)
    return results


def _refused(said: Said, targets: Sequence[Target], wish: Wish) -> list[Target]:
    """Hosts that refuse the first login, by the admin's own: one that is ready may refuse root by now."""
    if wish.key.private is None:
        return []
    return [
        _as_admin(target, wish)
        for target in targets
        if (error := said.failures.get(target.name))
        and error.trouble is Trouble.AUTHENTICATION
        and target.route.user != wish.admin
    ]


def _as_admin(target: Target, wish: Wish) -> Target:
    """The login that a deploy will use."""
    key = str(wish.key.private) if wish.key.private else None
    way = replace(target.route, user=wish.admin, key=key or target.route.key)
    return replace(target, route=way, password=None, become_password=None)


def _result(target: Target, said: Said) -> HostResult:
    error: ConnectionFailedError | None = said.failures.get(target.name)
    if error is not None:
        return HostResult(target.name, error=error.message, hint=error.hint or "")
    return read_steps(target.name, said.outputs[target.name].text)


def _prove(
    results: Sequence[HostResult], targets: Sequence[Target], wish: Wish, access: Access, report: Report
) -> None:
    """Log in as the admin with the key, become root, start Python."""
    if wish.key.private is None:
        return
    by_name = {target.name: target for target in targets}
    mine = [_as_admin(by_name[result.host], wish) for result in results]
    said = ask(mine, lambda _: PROOF, access, lambda _: False, report)
    for result in results:
        result.proved = True
        output, error = said.outputs.get(result.host), said.failures.get(result.host)
        if error is not None:
            result.proved = False
            result.error = f"everything is in place, and still the login of {wish.admin} fails: {error.message}"
            result.hint = "look at the log of sshd there: journalctl -u ssh -u sshd -n 20"
        elif output is not None and (why := _unproved(output.text)):
            result.proved, result.error = False, why


def _unproved(text: str) -> str:
    facts = parse(text)
    lines: Any = facts.lines("proof")
    if "0" not in lines:
        return f"the login works, but sudo says: {facts.sudo}"
    return "" if "python" in lines else "the login and sudo work, but there is no Python of version 3.8 or newer"
