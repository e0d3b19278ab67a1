"""Are all hosts there and fit to be converged? Asked in parallel, every problem told at once."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import paramiko

from hpcprov.errors import HostsError
from hpcprov.remote.connection import Connection
from hpcprov.site import Host

PARALLEL = 32
MINIMUM_PYTHON = (3, 8)  # what modules of ansible-core 2.19 run on
FAMILIES = ("debian", "rhel")

# Runs in any POSIX shell, also without Python; prints KEY=VALUE lines.
PROBE = r"""
echo "uid=$(id -u)"
if [ "$(id -u)" != 0 ]; then sudo -n true 2>/dev/null && echo sudo=yes || echo sudo=no; fi
python=$(command -v /usr/bin/python3 || command -v python3 || true)
if [ -n "$python" ]; then
  echo "python=$("$python" -c 'import platform; print(platform.python_version())')"
fi
echo "machine=$(uname -m)"
echo "libc=$(getconf GNU_LIBC_VERSION 2>/dev/null)"
if [ -e /dev/nvidiactl ]; then echo gpu=nvidia; fi
[ -r /etc/os-release ] && . /etc/os-release
echo "os=$PRETTY_NAME"
echo "family=$ID $ID_LIKE"
"""


@dataclass(frozen=True)
class Reached:
    """What a host that can be converged said about itself."""

    host: str
    os: str
    python: str
    machine: str = ""
    glibc: str = ""
    has_gpu: bool = False


def reach(hosts: Iterable[Host]) -> dict[str, Reached]:
    """Ask all hosts. Raises HostsError with every problem of every host."""
    wanted = list(hosts)
    with ThreadPoolExecutor(max_workers=min(PARALLEL, max(1, len(wanted)))) as pool:
        answers = list(pool.map(_ask, wanted))
    problems = [answer for answer in answers if isinstance(answer, HostsError)]
    if problems:
        raise _together(problems, len(wanted))
    return {answer.host: answer for answer in answers if isinstance(answer, Reached)}


def _ask(host: Host) -> Reached | HostsError:
    try:
        with Connection(host) as connection:
            status, said, errors = connection.run(f"sh -c {shlex.quote(PROBE)}", timeout=30)
    except HostsError as problem:
        return problem
    except (paramiko.SSHException, OSError, EOFError) as error:
        return HostsError(f"SSH broke while the host was asked: {error}", host=host.name)
    if status != 0 and not said:
        why = errors.strip().splitlines()[-1:] or ["no output"]
        return HostsError(f"cannot run a shell command: {why[0]}", host=host.name)
    return judge(host, dict(line.split("=", 1) for line in said.splitlines() if "=" in line))


def judge(host: Host, facts: dict[str, str]) -> Reached | HostsError:
    """Whether Ansible and our roles can work on a host that printed these facts."""
    problems: list[tuple[str, str]] = []
    python = facts.get("python", "")
    if not python:
        problems.append(("has no python3", "install python3 there"))
    elif tuple(int(part) for part in python.split(".")[:2]) < MINIMUM_PYTHON:
        problems.append((f"has Python {python}, needs {MINIMUM_PYTHON[0]}.{MINIMUM_PYTHON[1]}", "install a newer one"))
    if facts.get("sudo") == "no" and not _has_become_password(host):
        problems.append(("its login user cannot use sudo without a password", "set ansible_become_password"))
    if not any(_is_family(name, facts.get("family", "")) for name in FAMILIES):
        problems.append((f"runs {facts.get('os') or 'an unknown system'}", "Debian, Ubuntu and the RHEL family work"))
    if problems:
        return HostsError(
            "; ".join(problem for problem, _ in problems),
            host=host.name,
            hint="; ".join(hint for _, hint in problems),
        )
    return Reached(
        host=host.name,
        os=facts.get("os", ""),
        python=python,
        machine=facts.get("machine", ""),
        glibc=facts.get("libc", "").removeprefix("glibc").strip(),
        has_gpu=facts.get("gpu") == "nvidia",
    )


def _is_family(name: str, identity: str) -> bool:
    """os-release says `debian`, or `ubuntu debian`, or `rocky rhel centos fedora`."""
    return name in identity.replace('"', "").split()


def _has_become_password(host: Host) -> bool:
    return bool(host.vars.get("ansible_become_password") or host.vars.get("ansible_become_pass"))


def _together(problems: list[HostsError], asked: int) -> HostsError:
    lines = [f"{problem.host}: {problem.message}\n    next: {problem.hint or 'see above'}" for problem in problems]
    return HostsError(f"{len(problems)} of {asked} hosts cannot be converged", why="\n".join(lines), problems=problems)
