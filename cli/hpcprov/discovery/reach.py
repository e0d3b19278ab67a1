"""From hosts of the command line to answers: the way to each, new host keys, and a second try with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import paramiko

from hpcprov.discovery.connect import LIMIT, Said, Target, run_everywhere
from hpcprov.discovery.jump import Jump
from hpcprov.discovery.wanted import Wanted
from hpcprov.errors import HostsError, UsageError
from hpcprov.preflight.ask import become_password
from hpcprov.remote.connection import ConnectionFailedError, Trouble, fingerprint
from hpcprov.remote.host_keys import record
from hpcprov.remote.options import route
from hpcprov.site.model import Host, Site, build_host
from hpcprov.site.scalars import Vaulted
from hpcprov.site.templating import holds_template

# Shows keys to the admin and says whether they may be recorded.
Confirm = Callable[[Mapping[str, paramiko.PKey]], bool]
Report = Callable[[str], None]


@dataclass(frozen=True)
class Access:
    """How the admin wants hosts to be reached; None: as the site or ~/.ssh/config says."""

    user: str | None = None
    key: Path | None = None
    port: int | None = None
    password: str | None = field(default=None, repr=False)
    jump: str | None = None
    known_hosts: Path | None = None


def targets_for(wanted: Sequence[Wanted], site: Site | None, access: Access) -> list[Target]:
    """The hosts to ask. Those of the site are found by their name, short name or address. Raises UsageError."""
    if access.key is not None and not access.key.expanduser().is_file():
        raise UsageError(f"{access.key}: there is no such key", hint="name the private key with --key")
    known = _by_any_name(site)
    found: dict[str, Target] = {}
    for one in wanted:
        host = known.get(one.name.lower()) or build_host(one.name, _site_wide(site), frozenset())
        target = _target(one, host, access)
        if target.name not in found or target.is_named:
            found[target.name] = target
    return list(found.values())


def all_of(site: Site) -> list[Wanted]:
    """The hosts of a site that our plays converge."""
    return [Wanted(host.name) for host in site.cluster_hosts]


def _by_any_name(site: Site | None) -> dict[str, Host]:
    names: dict[str, Host] = {}
    for host in site.hosts.values() if site else ():
        for name in (host.name, host.node_name, host.address, host.cluster_address):
            if name:
                names.setdefault(name.lower(), host)
    return names


def _site_wide(site: Site | None) -> dict[str, Any]:
    """How the site reaches all of its hosts: new ones will be like them."""
    shared = site.vars if site else {}
    return {name: value for name, value in shared.items() if name.startswith("ansible_") and name != "ansible_host"}


def _target(wanted: Wanted, host: Host, access: Access) -> Target:
    user, port = wanted.user or access.user, wanted.port or access.port
    host = replace(host, user=user or host.user, port=port or host.port)
    if access.key is not None:
        host = replace(host, ssh_key=str(access.key.expanduser()))
    way = route(host)
    if access.known_hosts is not None:
        way = replace(way, known_hosts=[access.known_hosts.expanduser()])
    password = access.password or _password_of(host.vars)
    become = become_password(host) or (access.password if way.user != "root" else None)
    return Target(host.name, way, password, become, wanted.is_named)


def _password_of(variables: Mapping[str, Any]) -> str | None:
    """None also for one that only Ansible can read."""
    given = variables.get("ansible_password") or variables.get("ansible_ssh_pass")
    return None if not given or isinstance(given, Vaulted) or holds_template(given) else str(given)


def ask(
    targets: Sequence[Target], script: Callable[[Target], str], access: Access, confirm: Confirm, report: Report,
    *, limit: int = LIMIT,
) -> Said:  # fmt: skip
    """Run a script everywhere. Hosts with a new key are asked again once it was confirmed and recorded.

    Raises HostsError when the jump host cannot be used, UsageError when known_hosts cannot be written.
    """
    with Jump(access.jump) if access.jump else nullcontext() as jump:
        proxy = jump.command if jump else None
        said = run_everywhere(targets, script, report, limit=limit, proxy=proxy)
        again = [target for target in targets if target.name in said.unknown]
        if again and confirm({target.name: said.unknown[target.name] for target in again}):
            good = _recorded(again, said)
            said.update(run_everywhere(good, script, report, limit=limit, proxy=proxy))
    return said


def _recorded(targets: Iterable[Target], said: Said) -> list[Target]:
    """The targets whose key is known now."""
    good = []
    for target in targets:
        way = target.route
        if not way.known_hosts:
            raise UsageError("there is no known_hosts file to record host keys in", hint="name one with --known-hosts")
        try:
            record(way.known_hosts[0], way.known_name, said.unknown[target.name], way.known_hosts)
        except HostsError as error:
            said.failures[target.name] = ConnectionFailedError(
                error.message, Trouble.HOST_KEY, host=target.name, hint="find out why"
            )
        else:
            good.append(target)
    return good


def key_lines(keys: Mapping[str, paramiko.PKey]) -> list[str]:
    """As `ssh-keygen -l` shows keys, for a person who compares them."""
    return [f"{name}  {key.get_name()}  {fingerprint(key)}" for name, key in keys.items()]


def silent_addresses(targets: Iterable[Target], said: Said) -> list[str]:
    """Addresses of networks where nobody answered: no fault of anybody."""
    quiet = (Trouble.UNREACHABLE, Trouble.ADDRESS)
    return [
        target.name
        for target in targets
        if not target.is_named and target.name in said.failures and said.failures[target.name].trouble in quiet
    ]
