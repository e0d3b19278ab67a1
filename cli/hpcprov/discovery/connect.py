"""Run a script on many hosts at once through the pyinfra workers, and make words of what they answer."""

from __future__ import annotations

import json
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paramiko

from hpcprov.preflight.ask import BECOME, REPORT_SECONDS
from hpcprov.remote.connection import ConnectionFailedError, Trouble, UnknownHostKeyError, explained, fingerprint
from hpcprov.remote.host_keys import good_lines, key_of
from hpcprov.remote.options import Route
from hpcprov.slurm.hostlist import fold

CONNECT_SECONDS = 10
LIMIT = 120  # seconds for the script
HOSTS_OF_A_WORKER = 40  # below this a second process costs more than it gains


@dataclass(frozen=True)
class Target:
    """A host to ask. `is_named`: the admin named it, so it must answer; an address of a network need not be there."""

    name: str
    route: Route
    password: str | None = field(default=None, repr=False)
    become_password: str | None = field(default=None, repr=False)
    is_named: bool = True


@dataclass(frozen=True)
class Output:
    """What the script printed, and our clock before and after it."""

    text: str
    sent: float
    received: float


@dataclass
class Said:
    """`unknown` has the keys of hosts that no known_hosts file knows; these hosts are in `failures`, too."""

    outputs: dict[str, Output] = field(default_factory=dict)
    failures: dict[str, ConnectionFailedError] = field(default_factory=dict)
    unknown: dict[str, paramiko.PKey] = field(default_factory=dict)

    def update(self, later: Said) -> None:
        """Take over a second try."""
        for name in (*later.outputs, *later.failures):
            self.failures.pop(name, None)
            self.unknown.pop(name, None)
        self.outputs.update(later.outputs)
        self.failures.update(later.failures)
        self.unknown.update(later.unknown)


def run_everywhere(
    targets: Sequence[Target],
    script: Callable[[Target], str],
    report: Callable[[str], None] = lambda _: None,
    *,
    limit: int = LIMIT,
    proxy: Callable[[Route], str] | None = None,
) -> Said:
    """Run a POSIX shell script on every target, as root where that is allowed. Never raises because of a host."""
    said = Said()
    if not targets:
        return said
    by_name = {target.name: target for target in targets}
    with _known_hosts(targets) as known_hosts:
        entries = [_entry(target, script(target), known_hosts[target.name], proxy) for target in targets]
        for answer in _answers(entries, limit, report):
            _take(said, by_name[answer["name"]], answer)
    return said


@contextmanager
def _known_hosts(targets: Sequence[Target]) -> Iterator[Mapping[str, str]]:
    """One file for each target: pyinfra reads one, ssh has several."""
    with tempfile.TemporaryDirectory(prefix="hpcprov-") as folder:
        merged: dict[tuple[Path, ...], str] = {}
        for target in targets:
            files = tuple(target.route.known_hosts)
            if files not in merged:
                path = Path(folder) / f"known_hosts_{len(merged)}"
                path.write_text("".join(f"{line}\n" for line in good_lines(files)), encoding="utf-8")
                merged[files] = str(path)
        yield {target.name: merged[tuple(target.route.known_hosts)] for target in targets}


def _entry(target: Target, script: str, known_hosts: str, proxy: Callable[[Route], str] | None) -> dict[str, Any]:
    way = target.route
    return {
        "name": target.name,
        "address": way.address,
        "port": way.port,
        "user": way.user,
        "key": way.key,
        "password": target.password,
        "known_hosts": known_hosts,
        "proxy_command": proxy(way) if proxy else way.proxy_command,
        "stdin": f"{target.become_password or ''}\n{script}",
    }


def _answers(entries: list[dict[str, Any]], limit: int, report: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """The answers of all workers as they come; at the end an error for each host without one."""
    count = max(1, min(os.cpu_count() or 1, -(-len(entries) // HOSTS_OF_A_WORKER)))
    answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
    workers = [_Worker(entries[number::count], limit, answers) for number in range(count)]
    waiting = {entry["name"] for entry in entries}
    running = count
    try:
        while running:
            try:
                answer = answers.get(timeout=REPORT_SECONDS)
            except queue.Empty:
                missing = fold(waiting) if len(waiting) <= 20 else f"{len(waiting)} more"
                report(f"{len(entries) - len(waiting)} of {len(entries)} hosts have answered; waiting for {missing}")
                continue
            if answer is None:
                running -= 1
                continue
            waiting.discard(answer["name"])
            yield answer
        last_words = next((words for worker in workers if (words := worker.last_words())), "it said nothing")
        for name in waiting:
            yield {"name": name, "error": {"kind": "Worker", "message": last_words}}
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """One process with pyinfra in it, and a thread that reads what it says."""

    def __init__(self, entries: list[dict[str, Any]], limit: int, answers: queue.Queue[dict[str, Any] | None]) -> None:
        self.answers = answers
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  # closed by stop
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hpcprov.discovery.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True,
        )  # fmt: skip
        request = {"line": BECOME, "limit": limit, "timeout": CONNECT_SECONDS, "hosts": entries}
        threading.Thread(target=self._talk, args=(json.dumps(request),), daemon=True).start()

    def _talk(self, request: str) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            with self.process.stdin as pipe:
                pipe.write(request)
            for line in self.process.stdout:
                self.answers.put(json.loads(line))
        except (OSError, ValueError):
            pass  # it died; every host without an answer is told
        finally:
            self.process.wait()
            self.answers.put(None)

    def last_words(self) -> str:
        """The last line of its errors."""
        self.errors.seek(0)
        return next((line.strip() for line in reversed(self.errors.read().splitlines()) if line.strip()), "")

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        self.errors.close()


def _take(said: Said, target: Target, answer: Mapping[str, Any]) -> None:
    error = answer.get("error")
    if error is None:
        said.outputs[target.name] = Output(answer["output"], answer["sent"], answer["received"])
        return
    if error["kind"] == "UnknownHostKey":
        said.unknown[target.name] = key_of(error["key"])
    said.failures[target.name] = failure(target, error)


def failure(target: Target, error: Mapping[str, str]) -> ConnectionFailedError:
    """The error of a worker in the words of every other connection."""
    message, kind = error["message"], error["kind"]
    match kind:
        case "CommandTimeout":
            return ConnectionFailedError(
                f"accepts the login, then says nothing for {message} s", Trouble.SSH, host=target.name,
                hint="look for a hung mount or a dying disk: dmesg, and processes in state D",
            )  # fmt: skip
        case "NoShell":
            return ConnectionFailedError(
                f"cannot run a shell command: {message[:200]}", Trouble.SSH, host=target.name,
                hint="give the login user a shell; a forced command cannot be asked",
            )  # fmt: skip
        case "ProxyCommandFailure":
            way = target.route
            return ConnectionFailedError(
                f"the jump host does not get through to it ({way.user}@{way.address} port {way.port})",
                Trouble.UNREACHABLE, host=target.name, hint="is it on, and does the jump host reach its network?",
            )  # fmt: skip
        case "Worker":
            return ConnectionFailedError(
                f"was not asked to the end: {message[:200]}", Trouble.SSH, host=target.name, hint="try again"
            )
    found = explained(_rebuilt(kind, message, error, target.route), target.route)
    found.host = target.name
    if kind == "UnknownHostKey":
        found.hint = "compare it with the host's own (ssh-keygen -lf there), then use --accept-new-host-keys"
    if found.trouble is Trouble.AUTHENTICATION and target.password:
        found.hint = "is the password right, and does sshd allow it (PasswordAuthentication, PermitRootLogin)?"
    elif found.trouble is Trouble.AUTHENTICATION:
        found.hint = f"{found.hint}; or give a password: --ask-password"
    return found


_PLAIN: Mapping[str, Callable[[str], Exception]] = {
    "PasswordRequiredException": paramiko.PasswordRequiredException,
    "AuthenticationException": paramiko.AuthenticationException,
    "gaierror": socket.gaierror,
    "TimeoutError": TimeoutError,
    "EOFError": EOFError,
    "OSError": OSError,
}


def _rebuilt(kind: str, message: str, error: Mapping[str, str], way: Route) -> Exception:
    if kind == "BadHostKeyException":
        return paramiko.BadHostKeyException(way.known_name, key_of(error["key"]), key_of(error["expected"]))
    if kind == "UnknownHostKey":
        key = key_of(error["key"])
        return UnknownHostKeyError(f"{key.get_name()} {fingerprint(key)}")
    return _PLAIN.get(kind, paramiko.SSHException)(message)
