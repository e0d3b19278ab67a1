"""From a site to testinfra hosts: an ssh_config with checked host keys, one shared connection per host."""

from __future__ import annotations

import base64
import json
import shlex
import shutil
import subprocess
import tempfile
import time
import zlib
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

import testinfra

from hpcprov.site import Host, Site

CONNECT_LIMIT = 10  # seconds
SCRIPT_LIMIT = 600  # seconds; the scripts have shorter limits for each step of theirs
REMOTE = Path(__file__).parent / "remote"
RETRY = 1.0  # seconds until a process that could not be started is tried again
MARK = "HPCPROV "
PACKAGE = "hpcprov.verify.remote"
PARTS = {"probe": ("host", "configuration", "disks", "hardware")}  # modules that travel with a script


class RemoteError(Exception):
    """A script did not run on a host; the text says why."""


class UnreachableError(RemoteError):
    """SSH itself did not work; the text is what it said."""


@lru_cache
def _modules(script: str) -> dict[str, str]:
    """The script's modules with their text: what a module imports stands before it."""
    names = [*PARTS.get(script, ()), script]
    return {f"{PACKAGE}.{name}": (REMOTE / f"{name}.py").read_text(encoding="utf-8") for name in names}


def python_command(script: str, parameters: Mapping[str, Any], python: str) -> str:
    """A shell command that runs one of the remote scripts, which travels with its modules inside it, compressed."""
    packages = [PACKAGE.rsplit(".", level)[0] for level in (2, 1)] + [PACKAGE]
    source = f"""import sys, types
for name in {packages!r}:
    sys.modules[name] = types.ModuleType(name)
for name, text in {_modules(script)!r}.items():
    module = sys.modules[name] = types.ModuleType(name)
    setattr(sys.modules[{PACKAGE!r}], name.rpartition(".")[2], module)
    exec(compile(text, name, "exec"), module.__dict__)
module.main({dict(parameters)!r})
"""
    packed = base64.b64encode(zlib.compress(source.encode(), 9)).decode()
    loader = f"import base64,zlib;exec(zlib.decompress(base64.b64decode('{packed}')).decode())"
    return f"timeout -k 5 {SCRIPT_LIMIT} {python} -c {shlex.quote(loader)}"


def ssh_config(site: Site) -> str:
    """One Host block per host. Options that a site gives as ssh arguments are passed as such, see `Transport`."""
    blocks = []
    for host in site.cluster_hosts:
        options = {"HostName": host.address, "Port": host.port, "User": host.user, "IdentityFile": host.ssh_key}
        lines = [f'  {name} "{value}"' for name, value in options.items() if value]
        if host.ssh_key:
            lines.append("  IdentitiesOnly yes")
        blocks.append("\n".join([f"Host {host.name}", *lines]))
    common = [
        "Host *",
        "  BatchMode yes",
        # First match wins: arguments of the site on the command line stand above this.
        "  StrictHostKeyChecking yes",
        "  ServerAliveInterval 10",
        "  ServerAliveCountMax 3",
        "  LogLevel ERROR",
    ]
    return "\n".join([*blocks, "\n".join(common)]) + "\n"


def needs_sudo(host: Host) -> bool:
    """Ansible's own rule: `ansible_become` where it is said, else whenever the user is not root."""
    become = host.vars.get("ansible_become")
    return bool(become) if become is not None else host.user not in (None, "root")


class Transport:
    """Runs our scripts on hosts. Close it: it keeps one connection per host open."""

    def __init__(self, site: Site) -> None:
        self._directory = Path(tempfile.mkdtemp(prefix="hpcprov-"))  # short: a socket's path has a limit
        self._config = self._directory / "ssh_config"
        self._config.write_text(ssh_config(site))
        self._hosts = {host.name: host for host in site.cluster_hosts}
        self._open: dict[str, Any] = {}

    def connection(self, name: str) -> Any:
        """The testinfra host."""
        host = self._hosts[name]
        if name not in self._open:
            if host.vars.get("ansible_connection") == "local":
                self._open[name] = testinfra.get_host("local://", sudo=needs_sudo(host))
            else:
                self._open[name] = testinfra.get_host(
                    f"ssh://{name}",
                    ssh_config=str(self._config),
                    ssh_extra_args=host.ssh_args or None,
                    timeout=CONNECT_LIMIT,
                    controlpath=str(self._directory / "%%C"),  # testinfra formats it once
                    sudo=needs_sudo(host),
                )
        return self._open[name]

    def run(self, name: str, script: str, parameters: Mapping[str, Any], *, user: str | None = None) -> Any:
        """Run a remote script as root, or as an ordinary user with all that a login gives; its JSON answer.

        Raises UnreachableError when SSH does not work, RemoteError when the script did not answer.
        """
        python = str(self._hosts[name].vars.get("ansible_python_interpreter") or "python3")
        command = python_command(script, parameters, python if python.startswith("/") else "python3")
        if user:
            command = f"runuser -l {shlex.quote(user)} -s /bin/bash -c {shlex.quote(command)}"
        try:
            result = self._run(name, command)
        except RuntimeError as error:  # how testinfra says that ssh itself failed
            raise UnreachableError(ssh_reason(error)) from error
        except OSError as error:
            raise RemoteError(f"this control host cannot start ssh: {error}") from error
        for line in result.stdout.splitlines():
            if line.startswith(MARK):
                return json.loads(line[len(MARK) :])
        said = (result.stderr.strip() or result.stdout.strip()).splitlines()
        raise RemoteError(said[-1] if said else f"the script on it ended with {result.rc}")

    def _run(self, name: str, command: str) -> Any:
        """Nothing has begun when a process cannot be started; on a busy control host the next moment may do."""
        try:
            return self.connection(name).run(command)
        except OSError:
            time.sleep(RETRY)
            return self.connection(name).run(command)

    def close(self) -> None:
        """End the shared connections."""
        ends = [
            subprocess.Popen(
                ["ssh", "-F", str(self._config), "-o", f"ControlPath={socket}", "-O", "exit", "any"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for socket in self._directory.iterdir()
            if socket.is_socket()
        ]
        for end in ends:
            end.wait()
        shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> Transport:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def ssh_reason(error: RuntimeError) -> str:
    """ssh's own words out of testinfra's error."""
    result = error.args[0] if error.args else None
    text = getattr(result, "stderr", "") or str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "ssh failed without a word"
