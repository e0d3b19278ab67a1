"""NFS: what is shared, by whom, and who mounts it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath
from typing import Any

from hpcprov.errors import Finding
from hpcprov.site.findings import Place
from hpcprov.site.model import Host
from hpcprov.site.rules.registry import Draft, rule
from hpcprov.site.templating import holds_template

# Each host has its own of these; what is below the second kind too.
_SYSTEM = frozenset(
    {
        *(
            "",
            "/bin",
            "/boot",
            "/dev",
            "/etc",
            "/lib",
            "/lib32",
            "/lib64",
            "/proc",
            "/root",
            "/run",
            "/sbin",
            "/sys",
            "/usr",
        ),
        *("/var", "/var/cache", "/var/lib", "/var/lib/mysql", "/var/lib/slurm", "/var/log", "/var/run", "/var/spool"),
    }
)
_SYSTEM_TREES = ("/bin/", "/boot/", "/dev/", "/etc/", "/lib/", "/lib64/", "/proc/", "/run/", "/sbin/", "/sys/", "/usr/")


def _entries(host: Host, variable: str) -> list[tuple[int, Mapping[str, Any]]]:
    listed = host.vars.get(variable)
    items = listed if isinstance(listed, list) else []
    return [(index, entry) for index, entry in enumerate(items) if isinstance(entry, Mapping)]


def _written(draft: Draft, variable: str) -> Iterator[Host]:
    """One host for each place where the list is written."""
    seen: set[int] = set()
    for host in draft.site.cluster_hosts:
        listed = host.vars.get(variable)
        if isinstance(listed, list) and id(listed) not in seen:
            seen.add(id(listed))
            yield host


@rule("nfs-path")
def paths(draft: Draft) -> Iterator[Finding]:
    """Paths are absolute, not the root, and each stands once."""
    for variable in ("nfs_exports", "nfs_mounts"):
        for host in _written(draft, variable):
            seen: set[str] = set()
            for index, entry in _entries(host, variable):
                path = entry.get("path")
                if not isinstance(path, str) or holds_template(path):
                    continue
                problem = path_problem(path, seen)
                seen.add(path.rstrip("/"))
                if problem:
                    yield draft.place_of(host, variable, index, "path").finding("nfs-path", f'"{path}" {problem}')


def path_problem(path: str, seen: set[str]) -> str | None:
    """Why a path cannot be shared; `seen` are the paths before it, without a slash at their end."""
    if not path.startswith("/"):
        return "is no absolute path"
    if path.split() != [path]:
        return "holds whitespace"
    plain = path.rstrip("/")
    if plain != "" and normpath(path) != plain:
        return "is not the plain path: without //, . and .."
    if plain in _SYSTEM or (plain.startswith(_SYSTEM_TREES) and not f"{plain}/".startswith("/usr/local/")):
        return "must not be shared: the system itself lives there"
    return "stands twice" if plain in seen else None


@rule("nfs-server")
def servers(draft: Draft) -> Iterator[Finding]:
    """A mount needs a server: one storage host that exports the path, or one that is named."""
    exported: dict[str, list[str]] = {}
    for host in draft.site.group("storage"):
        for _, entry in _entries(host, "nfs_exports"):
            exported.setdefault(str(entry.get("path")).rstrip("/"), []).append(host.name)
    for host in _written(draft, "nfs_mounts"):
        if host.vars.get("nfs_backend") == "external":
            continue
        for index, entry in _entries(host, "nfs_mounts"):
            wanted = str(entry.get("export") or entry.get("path") or "").rstrip("/")
            if entry.get("server") or entry.get("check") or not wanted or holds_template(wanted):
                continue
            problem = _server_problem(wanted, exported.get(wanted, []), draft)
            if problem:
                message, hint = problem
                yield draft.place_of(host, "nfs_mounts", index).finding("nfs-server", message, hint=hint)


def _server_problem(path: str, servers: list[str], draft: Draft) -> tuple[str, str] | None:
    if len(servers) == 1:
        return None
    if servers:
        return f"{path} is exported by {' and '.join(servers)}", "name the server of the mount"
    storage = [host.name for host in draft.site.group("storage")]
    why = f"no export of {', '.join(storage)}" if storage else "no host is in group storage"
    return f"{path} has no server: {why}", "add it to nfs_exports, name a server, or set nfs_backend: external"


@rule("nfs-nothing")
def nothing_shared(draft: Draft) -> Iterator[Finding]:
    """Jobs on several nodes, environments and the training job need a directory that all hosts see."""
    exports = any(host.vars.get("nfs_exports") for host in draft.site.group("storage"))
    mounts = any(host.vars.get("nfs_mounts") for host in draft.site.cluster_hosts)
    if not exports and not mounts:
        yield Place(draft.site.path).finding(
            "nfs-nothing",
            "no directory is shared: neither nfs_exports on a host of group storage, nor nfs_mounts",
            hint="add both, or nfs_mounts with a server, or with nfs_backend: external",
        )


@rule("nfs-open")
def open_exports(draft: Draft) -> Iterator[Finding]:
    """An export that trusts every client's root, or one to the whole world."""
    for host in _written(draft, "nfs_exports"):
        for index, entry in _entries(host, "nfs_exports"):
            place = draft.place_of(host, "nfs_exports", index)
            clients = entry.get("clients")
            for client in clients if isinstance(clients, list) else []:
                if str(client) in ("*", "0.0.0.0/0", "::/0"):
                    hint = "name networks or hosts; without clients it is cluster_network"
                    yield place.finding("nfs-open", f"export {entry.get('path')} is open to everybody", hint=hint)
            if "no_root_squash" in str(entry.get("options") or ""):
                message = f"export {entry.get('path')} lets root of every client act as root"
                yield place.finding("nfs-open", message, level="warning")
