"""Try connections between hosts, where only a try can tell."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence

from hpcprov.preflight.ask import run_script, side_by_side
from hpcprov.preflight.look import OPEN, REFUSED, SILENT, Call
from hpcprov.remote.connection import ConnectionFailedError
from hpcprov.site import Host, Site

WAIT = 6  # seconds for a connection; a busy machine answers within one
AT_ONCE = 32  # calls of one host

# A target is "ADDRESS PORT"; bash opens the connection, for it is on every system that the roles know.
SCRIPT = f"""
call='if timeout {WAIT} bash -c "exec 3<>/dev/tcp/$1/$2" 2>/dev/null; then echo "@@ call $1 $2 {OPEN}"
elif [ $? = 124 ]; then echo "@@ call $1 $2 {SILENT}"; else echo "@@ call $1 $2 {REFUSED}"; fi'
command -v bash >/dev/null && command -v timeout >/dev/null || exit 0
printf '%s\\n' $targets | xargs -n 2 -P {AT_ONCE} sh -c "$call" call
"""


def try_calls(site: Site, calls: Sequence[Call], report: Callable[[str], None]) -> dict[Call, str]:
    """What came of each call. A host that cannot call any more is left out; the next run will say why."""
    by_caller: dict[str, list[Call]] = {}
    for call in calls:
        by_caller.setdefault(call[0], []).append(call)
    found: dict[Call, str] = {}

    def one(host: Host) -> None:
        mine = {
            (site.hosts[target].cluster_address, port): (name, target, port)
            for name, target, port in by_caller[host.name]
        }
        found.update(_ask(host, mine))

    side_by_side([site.hosts[name] for name in by_caller], one, report)
    return found


def _ask(host: Host, calls: Mapping[tuple[str, int], Call]) -> dict[Call, str]:
    targets = " ".join(f"{address} {port}" for address, port in calls)
    try:
        said, _, _ = run_script(host, f"targets={shlex.quote(targets)}\n{SCRIPT}")
    except ConnectionFailedError:
        return {}
    return parse_calls(said, calls)


def parse_calls(text: str, calls: Mapping[tuple[str, int], Call]) -> dict[Call, str]:
    """The lines of the script."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if words[:2] == ["@@", "call"] and len(words) == 5 and words[3].isdecimal():
            call = calls.get((words[2], int(words[3])))
            if call:
                found[call] = words[4]
    return found
