"""Shared directories of a site: who serves what to whom, and the files and units that make it so.

Pure functions. The whole site decides, never the hosts of one run, so that `--limit` changes no file.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

DEFAULT_EXPORT_OPTIONS = "rw,sync,no_subtree_check,root_squash"
DEFAULT_MOUNT_OPTIONS = "hard,noatime,nosuid,nodev"
UNIT_DIR = "/etc/systemd/system"
EXPORTS_FILE = "/etc/exports.d/hpcprov.exports"
GANESHA_FILE = "/etc/ganesha/ganesha.conf"
GANESHA_EXPORTS_FILE = "/etc/ganesha/hpcprov-exports.conf"
HEADER = "#\n# Ansible managed\n#\n"


class NfsError(ValueError):
    """What the site says about shared directories cannot work; the text says why."""


@dataclass(frozen=True)
class Export:
    """A directory that a storage host serves."""

    path: str
    clients: tuple[str, ...]
    options: str

    @property
    def squash(self) -> str:
        """The squash of nfs-ganesha that means the same as the kernel's option."""
        words = self.options.split(",")
        if "all_squash" in words:
            return "All_Squash"
        return "No_Root_Squash" if "no_root_squash" in words else "Root_Squash"

    @property
    def access(self) -> str:
        """RO or RW, for nfs-ganesha."""
        return "RO" if "ro" in self.options.split(",") else "RW"


@dataclass(frozen=True)
class Mount:
    """A shared directory as one host sees it.

    `action` is nfs (mount it), bind (the host itself serves it from another path), none (it serves it under this very
    path), or external (it comes from outside; nothing in the site serves it).
    """

    path: str
    action: str
    what: str = ""
    server: str = ""
    options: str = ""
    check: str = "mount"

    @property
    def unit(self) -> str:
        """Name of the mount unit."""
        return unit_name(self.path, "mount")


@dataclass(frozen=True)
class Shares:
    """What one host serves and what it uses."""

    exports: list[Export] = field(default_factory=list)
    mounts: list[Mount] = field(default_factory=list)
    directories: list[dict[str, Any]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


def unit_name(path: str, suffix: str) -> str:
    """`systemd-escape --path --suffix`: the name that systemd insists on for a mount of `path`."""
    parts = PurePosixPath(path).parts[1:]
    text = "-".join(_escape(part) for part in parts) or "-"
    if text.startswith("."):
        text = r"\x2e" + text[1:]
    return f"{text}.{suffix}"


def _escape(part: str) -> str:
    keep = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.")
    return "".join(char if char in keep else "".join(f"\\x{byte:02x}" for byte in char.encode()) for char in part)


def shares(
    host: str,
    groups: Mapping[str, Sequence[str]],
    hostvars: Mapping[str, Mapping[str, Any]],
    backend: str,
    directories: Sequence[Mapping[str, Any]] = (),
) -> Shares:
    """Everything about shared directories for one host. Raises NfsError."""
    mine = hostvars[host]
    served = {server: _exports(hostvars[server]) for server in groups.get("storage", [])}
    mounts = [
        _mount(host, wanted, served, hostvars, backend) for wanted in mine.get("nfs_mounts") or _everything(served)
    ]
    exports = served.get(host, [])
    made_here, notices = _directories(host, groups, served, mounts, directories)
    return Shares(exports, mounts, made_here, notices)


def _exports(variables: Mapping[str, Any]) -> list[Export]:
    default_clients = variables.get("nfs_clients") or [variables["cluster_network"]]
    default_options = variables.get("nfs_export_options") or DEFAULT_EXPORT_OPTIONS
    return [
        Export(
            path=_clean(item["path"], "nfs_exports"),
            clients=tuple(_client(client, item["path"]) for client in item.get("clients") or default_clients),
            options=item.get("options") or default_options,
        )
        for item in variables.get("nfs_exports") or []
    ]


def _client(client: str, path: str) -> str:
    """A client that is not the whole world."""
    try:
        world = ipaddress.ip_network(client, strict=False).prefixlen == 0
    except ValueError:
        world = client.startswith("*") and "." not in client
    if world:
        raise NfsError(f"nfs_exports: {path} would be open to everybody ({client}); name networks or hosts")
    return client


def _clean(path: str, where: str) -> str:
    if not path.startswith("/") or any(char.isspace() or char in '"\\,' for char in path):
        raise NfsError(f"{where}: {path!r} is not an absolute path without spaces, quotes and commas")
    if path.rstrip("/") == "":
        raise NfsError(f"{where}: / cannot be shared")
    return str(PurePosixPath(path))


def _everything(served: Mapping[str, list[Export]]) -> list[dict[str, Any]]:
    """Mounts of a site that names none: what is exported, under the same path."""
    paths = dict.fromkeys(export.path for exports in served.values() for export in exports)
    return [{"path": path} for path in paths]


def _mount(
    host: str,
    wanted: Mapping[str, Any],
    served: Mapping[str, list[Export]],
    hostvars: Mapping[str, Mapping[str, Any]],
    backend: str,
) -> Mount:
    path = _clean(wanted["path"], "nfs_mounts")
    source = _clean(wanted.get("export") or path, "nfs_mounts")
    check = wanted.get("check") or "mount"
    options = wanted.get("options") or hostvars[host].get("nfs_mount_options") or DEFAULT_MOUNT_OPTIONS
    if backend == "external":
        return Mount(path, "external", check=check)
    server = wanted.get("server") or _server_of(source, host, served)
    if not server:
        if backend == "auto":
            return Mount(path, "external", check=check)
        raise NfsError(
            f"nfs_mounts: nobody exports {source}. Add it to nfs_exports of a host in group storage, name a server, "
            "or say nfs_backend: external when it is provided from outside"
        )
    if server == host:
        return Mount(path, "none" if source == path else "bind", what=source, server=server, check="directory")
    address = server
    if server in hostvars:
        variables = hostvars[server]
        address = variables.get("cluster_address") or variables.get("ansible_host") or server
    return Mount(path, "nfs", what=f"{_bracket(address)}:{source}", server=server, options=options)


def _server_of(source: str, host: str, served: Mapping[str, list[Export]]) -> str:
    servers = [name for name, exports in served.items() if any(export.path == source for export in exports)]
    if len(servers) > 1 and host not in servers:
        raise NfsError(f"nfs_mounts: {source} is exported by {' and '.join(servers)}; name the server of the mount")
    return host if host in servers else (servers or [""])[0]


def _bracket(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _directories(
    host: str,
    groups: Mapping[str, Sequence[str]],
    served: Mapping[str, list[Export]],
    mounts: list[Mount],
    wanted: Sequence[Mapping[str, Any]],
) -> tuple[list[dict[str, Any]], list[str]]:
    """Directories that this host makes: the one that serves them, where root is not squashed.

    On a share from outside, the first storage host (else the first controller) makes them.
    """
    maker = [*groups.get("storage", []), *groups.get("controller", [])][:1]
    mine, notices = [], []
    for item in wanted:
        servers = [name for name, exports in served.items() if _below(item["path"], [e.path for e in exports])]
        if servers[:1] == [host]:
            mine.append(dict(item))
        elif not servers and [host] == maker:
            if _below(item["path"], [mount.path for mount in mounts]):
                mine.append(dict(item))
            else:
                notices.append(f"{item['path']} lies on no shared directory of the site and was not made")
    return mine, notices


def _below(path: str, parents: Sequence[str]) -> bool:
    return any(PurePosixPath(path).is_relative_to(parent) for parent in parents)


# ------------------------------------------------------------------ files and services for the modules


def files(shared: Shares, backend: str, threads: int, core: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Files for the module hpc_files; `backend` is what this host really serves with ("" when it serves nothing)."""
    result: list[dict[str, Any]] = []
    if shared.exports:
        result += [{"dest": export.path, "state": "directory"} for export in shared.exports]
        result += _server_files(shared.exports, backend, threads, core)
    result += [{"state": "directory"} | {_FILE_KEYS[key]: str(value) for key, value in directory.items()}
               for directory in shared.directories]  # fmt: skip
    for mount in shared.mounts:
        result += _unit_files(mount)
    return result


_FILE_KEYS = {"path": "dest", "owner": "owner", "group": "group", "mode": "mode"}


def _text(dest: str, content: str) -> dict[str, Any]:
    return {"dest": dest, "content": content, "owner": "root", "group": "root", "mode": "0644"}


def _server_files(exports: list[Export], backend: str, threads: int, core: Sequence[str]) -> list[dict[str, Any]]:
    needs = "\n".join(f"RequiresMountsFor={export.path}" for export in exports)
    # An export on a disk that is not mounted yet would serve the empty directory below it (NFS-09).
    drop_in = f"{HEADER}[Unit]\n{needs}\n"
    kernel_drop_in, ganesha_drop_in = (
        f"{UNIT_DIR}/{name}.service.d/hpcprov.conf" for name in ("nfs-server", "nfs-ganesha")
    )
    if backend == "kernel":
        lines = "".join(
            f"{export.path} {' '.join(f'{client}({export.options})' for client in export.clients)}\n"
            for export in exports
        )
        return [
            _text(EXPORTS_FILE, HEADER + lines),
            _text("/etc/nfs.conf.d/hpcprov.conf", f"{HEADER}[nfsd]\nthreads={threads}\n"),
            _text(kernel_drop_in, drop_in),
        ]
    gone = {"dest": EXPORTS_FILE, "state": "absent"}
    if backend == "ganesha":
        return [
            gone,
            _text(GANESHA_FILE, HEADER + ganesha_conf(core)),
            _text(GANESHA_EXPORTS_FILE, HEADER + ganesha_exports(exports)),
            _text(ganesha_drop_in, drop_in),
        ]
    return [gone]


def ganesha_conf(core: Sequence[str] = ()) -> str:
    """nfs-ganesha without its exports, which it can read again while it runs.

    `core` are further lines of NFS_CORE_PARAM, which differ by version.
    """
    further = "".join(f"    {line}\n" for line in core)
    return f"""\
NFS_CORE_PARAM {{
    # Version 4 needs one port and no rpcbind.
    Protocols = 4;
    NFS_Port = 2049;
    Enable_NLM = false;
    Enable_RQUOTA = false;
{further}}}
NFSv4 {{
    RecoveryBackend = fs;
}}
LOG {{
    Default_Log_Level = EVENT;
}}
%include "{GANESHA_EXPORTS_FILE}"
"""


def ganesha_exports(exports: Sequence[Export]) -> str:
    """Export blocks of nfs-ganesha: nobody but the named clients."""
    blocks = []
    for number, export in enumerate(exports, start=1):
        blocks.append(
            f"""\
EXPORT {{
    Export_Id = {number};
    Path = {export.path};
    Pseudo = {export.path};
    Protocols = 4;
    SecType = sys;
    Access_Type = NONE;
    Squash = {export.squash};
    Anonymous_Uid = 65534;
    Anonymous_Gid = 65534;
    FSAL {{
        Name = VFS;
    }}
    CLIENT {{
        Clients = {", ".join(export.clients)};
        Protocols = 4;
        Access_Type = {export.access};
        Squash = {export.squash};
        Anonymous_Uid = 65534;
        Anonymous_Gid = 65534;
    }}
}}
"""
        )
    return "".join(blocks)


def _unit_files(mount: Mount) -> list[dict[str, Any]]:
    """A mount unit, and for NFS an automount unit: the first use mounts, however late the server came (NFS-02)."""
    unit, automount = (f"{UNIT_DIR}/{unit_name(mount.path, suffix)}" for suffix in ("mount", "automount"))
    if mount.action == "nfs":
        return [
            _text(
                unit,
                f"{HEADER}[Unit]\nDescription=Shared directory {mount.path}\n"
                "After=network-online.target\nWants=network-online.target\n\n"
                f"[Mount]\nWhat={mount.what}\nWhere={mount.path}\nType=nfs\nOptions={mount.options}\nTimeoutSec=90\n",
            ),
            _text(
                automount,
                f"{HEADER}# {mount.what} {mount.options}\n"
                f"[Unit]\nDescription=Mount {mount.path} on first use\n\n"
                f"[Automount]\nWhere={mount.path}\n\n[Install]\nWantedBy=remote-fs.target\n",
            ),
        ]
    if mount.action == "bind":
        return [
            {"dest": mount.path, "state": "directory"},
            _text(
                unit,
                f"{HEADER}[Unit]\nDescription={mount.what} under the path that the other hosts use\n"
                f"RequiresMountsFor={mount.what}\n\n"
                f"[Mount]\nWhat={mount.what}\nWhere={mount.path}\nType=none\nOptions=bind\n\n"
                "[Install]\nWantedBy=remote-fs.target\n",
            ),
        ]
    return []


def services(shared: Shares, backend: str) -> list[dict[str, Any]]:
    """Services for the module hpc_services: the server, then the mounts."""
    result: list[dict[str, Any]] = []
    if shared.exports and backend == "kernel":
        result.append(
            {
                "name": "nfs-server",
                "watch": ["/etc/nfs.conf.d/hpcprov.conf"],
                "reload_watch": [EXPORTS_FILE],
                "reload_command": ["exportfs", "-ra"],
                "prove": {
                    "command": [
                        "/bin/sh",
                        "-c",
                        "".join(f"exportfs -s | grep -q '^{e.path} ' && " for e in shared.exports) + "true",
                    ],
                    "timeout": 60,
                },
            }
        )
    if shared.exports and backend == "ganesha":
        result.append(
            {
                "name": "nfs-ganesha",
                "watch": [GANESHA_FILE],
                "reload_watch": [GANESHA_EXPORTS_FILE],
                "prove": {"command": ["/bin/bash", "-c", _ganesha_proof(shared.exports)], "timeout": 60},
            }
        )
    for mount in shared.mounts:
        if mount.action == "nfs":
            result.append({"name": unit_name(mount.path, "automount")})
        elif mount.action == "bind":
            result.append({"name": mount.unit})
    return result


def _ganesha_proof(exports: Sequence[Export]) -> str:
    """A shell command: the port answers and every export is served.

    nfs-ganesha starts without an export that it cannot have, such as one on a file system without file handles.
    """
    ask = (
        "dbus-send --system --print-reply --dest=org.ganesha.nfsd /org/ganesha/nfsd/ExportMgr"
        " org.ganesha.nfsd.exportmgr.ShowExports"
    )
    served = "".join(
        f""" && {{ grep -qF 'string "{export.path}"' <<<"$served" ||"""
        f""" {{ echo "nfs-ganesha does not serve {export.path}, see /var/log/ganesha/ganesha.log" >&2; exit 1; }}; }}"""
        for export in exports
    )
    return f"exec 3<>/dev/tcp/localhost/2049 && served=$({ask}){served}"


def plan(
    groups: Mapping[str, Sequence[str]],
    hostvars: Mapping[str, Mapping[str, Any]],
    host: str,
    *,
    backend: str,
    directories: Sequence[Mapping[str, Any]] = (),
    threads: int = 64,
    ganesha_core: Sequence[str] = (),
    probed: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What role storage hands to its modules, as plain data.

    `probed` is what hpc_storage found on the host: `nfs_backend` and the `actions` per path. Without it only what has
    to be probed is known.
    """
    shared = shares(host, groups, hostvars, backend, directories)
    if probed:
        actions = probed.get("actions") or {}
        mounts = [replace(mount, action=actions.get(mount.path, mount.action)) for mount in shared.mounts]
        for mount in mounts:
            _agree(host, mount, hostvars)
        shared = replace(shared, mounts=mounts)
    used = str(probed.get("nfs_backend") or "") if probed else ""
    return {
        "exports": [export.path for export in shared.exports],
        "mounts": [
            {key: getattr(mount, key) for key in ("path", "action", "what", "server", "unit", "check", "options")}
            for mount in shared.mounts
        ],
        "files": files(shared, used, threads, ganesha_core),
        "services": services(shared, used),
        "notices": shared.notices,
    }


def _agree(host: str, mount: Mount, hostvars: Mapping[str, Mapping[str, Any]]) -> None:
    """A share that one host serves and the other gets from outside is not shared. Raises NfsError.

    Only known when the server is part of the same run.
    """
    if mount.server == host or mount.server not in hostvars:
        return
    used = hostvars[mount.server].get("nfs_backend_used")
    if used == "external" and mount.action == "nfs":
        raise NfsError(f"{mount.path} comes from outside on {mount.server}, but nothing is mounted there on {host}")
    if used in ("kernel", "ganesha") and mount.action == "external":
        raise NfsError(
            f"{mount.server} serves {mount.path} over NFS, but {host} has something else mounted there; unmount it"
        )
