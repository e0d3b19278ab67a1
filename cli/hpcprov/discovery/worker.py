"""Run one shell line on many hosts side by side, with pyinfra: `python -m hpcprov.discovery.worker`.

A process of its own, because pyinfra's gevent patches the standard library, which neither Ansible nor our threads may
meet. It imports nothing of hpcprov. Standard input has one JSON document (secrets come this way, never as arguments):

    {"line": "sh", "limit": 60, "timeout": 10, "hosts":
     [{"name": "n1", "address": "10.0.0.1", "port": 22, "user": "root", "key": null, "password": null,
       "known_hosts": "/file", "proxy_command": null, "stdin": "…"}]}

Standard output gets a JSON line for each host as soon as it is done: {"name", "output", "sent", "received"}, or
{"name", "error": {"kind", "message", "key", "expected"}}. Kinds are names of exceptions; keys are "type base64".
"""

from __future__ import annotations

from gevent import monkey

monkey.patch_all()

import json  # noqa: E402
import logging  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Iterator  # noqa: E402
from contextlib import suppress  # noqa: E402
from typing import Any  # noqa: E402

import paramiko  # noqa: E402
from pyinfra.api import Config, FactBase, Inventory, State, StringCommand  # noqa: E402
from pyinfra.api.exceptions import ConnectError  # noqa: E402
from pyinfra.api.host import Host  # noqa: E402
from pyinfra.context import ctx_host, ctx_state  # noqa: E402

MOST_PARALLEL = 256


class Said(FactBase[str]):
    """What a shell line printed."""

    def command(self, line: str) -> str:
        return line

    def process(self, output: list[str]) -> str:
        return "\n".join(output)


def main() -> None:
    """Read the request, answer line by line."""
    request = json.load(sys.stdin)
    # What pyinfra or a library prints must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    for name in ("pyinfra", "paramiko"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    entries = {str(number): entry for number, entry in enumerate(request["hosts"])}
    state = _state(entries, request)

    def one(host: Host) -> None:
        entry = entries[host.name]
        with ctx_host.use(host):
            answer = _ask(host, entry, request["line"], int(request["limit"]))
        answers.write(json.dumps({"name": entry["name"], **answer}) + "\n")

    with ctx_state.use(state):
        for host in state.inventory:
            state.pool.spawn(one, host)
        state.pool.join()


def _state(entries: dict[str, dict[str, Any]], request: dict[str, Any]) -> State:
    data = [(number, _ssh_data(entry)) for number, entry in entries.items()]
    parallel = min(MOST_PARALLEL, max(1, len(data)))
    config = Config(PARALLEL=parallel, CONNECT_TIMEOUT=request["timeout"])
    state = State(Inventory((data, {})), config)
    for host in state.inventory:
        state.activate_host(host)
    return state


def _ssh_data(entry: dict[str, Any]) -> dict[str, Any]:
    """The way was worked out already, so pyinfra's own reading of ~/.ssh/config is switched off."""
    extra: dict[str, Any] = {"banner_timeout": 30, "auth_timeout": 30}
    if entry.get("key"):
        extra |= {"key_filename": entry["key"], "look_for_keys": False}
    data = {
        "ssh_hostname": entry["address"],
        "ssh_port": entry["port"],
        "ssh_user": entry["user"],
        "ssh_known_hosts_file": entry["known_hosts"],
        "ssh_strict_host_key_checking": "yes",
        "ssh_config_file": os.devnull,
        "ssh_paramiko_connect_kwargs": extra,
    }
    return data | ({"ssh_password": entry["password"]} if entry.get("password") else {})


def _ask(host: Host, entry: dict[str, Any], line: str, limit: int) -> dict[str, Any]:
    try:
        if entry.get("proxy_command"):
            # Not in the inventory's data, which hosts only get copies of, and not before the connection's turn.
            extra = host.connector.data["ssh_paramiko_connect_kwargs"]
            extra["sock"] = paramiko.ProxyCommand(entry["proxy_command"])
        host.connect(show_errors=False, raise_exceptions=True)
        sent = time.time()
        said = host.get_fact(
            Said, line=line, _stdin=entry.get("stdin", "").splitlines(), _timeout=limit, _ignore_errors=True
        )
        received = time.time()
        if said is None:
            said = _why_nothing(host, received - sent, limit)
        return {"output": said, "sent": sent, "received": received}
    except Exception as error:  # every host gets an answer, whatever a library raises
        described = _described(error, host)
        # Whatever a library makes of a proxy that ends, before a login there is one reason for it.
        vague = ("EOFError", "OSError", "TimeoutError", "SSHException")
        if entry.get("proxy_command") and not host.connected and described["kind"] in vague:
            described["kind"] = "ProxyCommandFailure"
        return {"error": described}
    finally:
        client = getattr(host.connector, "client", None)
        if client is not None:
            with suppress(OSError):  # a proxy that ended by itself cannot be ended
                client.close()


def _why_nothing(host: Host, seconds: float, limit: int) -> str:
    """pyinfra keeps to itself what a failing command printed; a harmless one gets the same words from a bad shell."""
    if seconds >= limit:
        raise CommandTimeout(f"{limit}")
    good, output = host.run_shell_command(StringCommand("true"), _timeout=limit)
    if good:
        return ""
    raise NoShell(output.combined_lines[-1].line if output.combined_lines else "no output")


class CommandTimeout(Exception):  # noqa: N818  # the name is the kind of the answer
    """The login works, and then nothing comes."""


class NoShell(Exception):  # noqa: N818
    """The login works, and no command does."""


def _described(error: BaseException, host: Host) -> dict[str, str]:
    """What went wrong: the exception under pyinfra's own."""
    root = next((cause for cause in _chain(error) if not isinstance(cause, ConnectError)), error)
    described = {"kind": _kind(root), "message": _message(root)}
    if isinstance(root, paramiko.BadHostKeyException):
        described |= {"key": _text(root.key), "expected": _text(root.expected_key)}
    elif "StrictPolicy" in str(root):
        described["kind"] = "UnknownHostKey"
        described["key"] = _text(host.connector.client.get_transport().get_remote_server_key())  # type: ignore[attr-defined]
    return described


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _kind(error: BaseException) -> str:
    """The nearest of the exceptions that the other side knows."""
    known = ("ProxyCommandFailure", "BadHostKeyException",
             "PasswordRequiredException", "AuthenticationException", "gaierror", "TimeoutError",
             "EOFError", "CommandTimeout", "NoShell", "OSError", "SSHException")  # fmt: skip
    if isinstance(error, paramiko.SSHException) and isinstance(
        error.__cause__ or error.__context__, EOFError | OSError
    ):
        return "OSError" if isinstance(error.__cause__ or error.__context__, OSError) else "EOFError"
    return next((each.__name__ for each in type(error).__mro__ if each.__name__ in known), "SSHException")


def _message(error: BaseException) -> str:
    if isinstance(error, paramiko.ssh_exception.NoValidConnectionsError):
        return ", ".join(dict.fromkeys(getattr(one, "strerror", None) or str(one) for one in error.errors.values()))
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _text(key: paramiko.PKey) -> str:
    return f"{key.get_name()} {key.get_base64()}"


if __name__ == "__main__":
    main()
