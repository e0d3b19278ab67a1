"""NFS: what is shared, by whom, and who mounts it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hpcprov.errors import Finding
from hpcprov.site.model import Host
from hpcprov.site.rules.registry import Draft, rule
from hpcprov.site.templating import holds_template


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
                problem = _path_problem(path, seen)
                seen.add(path.rstrip("/"))
                if problem:
                    yield draft.place_of(host, variable, index, "path").finding("nfs-path", f'"{path}" {problem}')


def _path_problem(path: str, seen: set[str]) -> str | None:
    if not path.startswith("/"):
        return "is no absolute path"
    if path.rstrip("/") in ("", "/etc", "/usr", "/var", "/dev", "/proc", "/sys", "/run", "/boot", "/bin", "/sbin"):
        return "must not be shared: the system itself lives there"
    if path.split() != [path]:
        return "holds whitespace"
    return "stands twice" if path.rstrip("/") in seen else None


@rule("nfs-server")
def servers(draft: Draft) -> Iterator[Finding]:
    """A mount needs a server: a storage host that exports the path, or one that is named."""
    exported = {
        str(entry.get("path")).rstrip("/")
        for host in draft.site.group("storage")
        for _, entry in _entries(host, "nfs_exports")
    }
    for host in _written(draft, "nfs_mounts"):
        if host.vars.get("nfs_backend") == "external":
            continue
        for index, entry in _entries(host, "nfs_mounts"):
            wanted = str(entry.get("export") or entry.get("path") or "").rstrip("/")
            if entry.get("server") or not wanted or holds_template(wanted) or wanted in exported:
                continue
            storage = [h.name for h in draft.site.group("storage")]
            why = f"no export of {', '.join(storage)}" if storage else "no host is in group storage"
            yield draft.place_of(host, "nfs_mounts", index).finding(
                "nfs-server",
                f"{wanted} has no server: {why}",
                hint="add it to nfs_exports, name a server, or set nfs_backend: external",
            )


@rule("nfs-open")
def open_exports(draft: Draft) -> Iterator[Finding]:
    """An export to everyone, or one that trusts every client's root."""
    for host in _written(draft, "nfs_exports"):
        for index, entry in _entries(host, "nfs_exports"):
            clients, options = str(entry.get("clients") or ""), str(entry.get("options") or "")
            open_to_all = any(client.strip(" '\"[]") in ("*", "0.0.0.0/0", "::/0") for client in clients.split(","))
            if open_to_all or "no_root_squash" in options:
                what = "is open to every host" if open_to_all else "lets root of every client act as root"
                yield draft.place_of(host, "nfs_exports", index).finding(
                    "nfs-open", f"export {entry.get('path')} {what}", level="warning"
                )
