"""Slurm's files on a host: which ones its programs read, and who may change them."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from hpcprov.verify.remote.host import command, owner_and_mode, read

# What a controller sends to its nodes, as far as hpcprov writes it.
FILES = ("slurm.conf", "cgroup.conf", "gres.conf")
OPTIONS_FILES = ("/etc/default/slurmd", "/etc/sysconfig/slurmd", "/etc/environment")


def digest(text: str) -> str:
    """The same for two files that say the same to Slurm: comments, empty lines and spaces do not count."""
    lines = (" ".join(line.split("#", 1)[0].split()) for line in text.splitlines())
    return hashlib.sha256("\n".join(line for line in lines if line).encode()).hexdigest()[:12]


def digests(directory: str) -> dict[str, str | None]:
    """Digest of each file in a directory, None for a file that is not there."""
    paths = {name: Path(directory) / name for name in FILES}
    return {name: digest(read(str(path))) if path.is_file() else None for name, path in paths.items()}


def with_parents(path: str) -> dict[str, Any] | None:
    """Owner and mode of a path, and `open`: the parts of it that anybody may write to."""
    found = owner_and_mode(path)
    if found:
        parts = (owner_and_mode(str(part)) for part in [Path(path), *Path(path).parents])
        found["open"] = [part["path"] for part in parts if part and int(part["mode"], 8) & 0o002]
    return found


def slurm_conf_variable(user: str) -> dict[str, str]:
    """Where SLURM_CONF is set, and to what: in the daemon, in its options, in a user's login."""
    found = {}
    pid = command("systemctl", "show", "-p", "MainPID", "--value", "slurmd")[1]
    if pid not in ("", "0"):
        for entry in read(f"/proc/{pid}/environ").split("\0"):
            if entry.startswith("SLURM_CONF="):
                found["slurmd's environment"] = entry.split("=", 1)[1]
    for path in OPTIONS_FILES:
        told = re.search(r"^\s*(?:export\s+)?SLURM_CONF=[\"']?([^\"'\n]+)", read(path), re.M)
        if told:
            found[path] = told.group(1)
    out = command("runuser", "-l", user, "-s", "/bin/bash", "-c", 'echo "CONF=$SLURM_CONF"')[1]
    told = re.search(r"^CONF=(.+)$", out, re.M)
    if told:
        found[f"the login of {user}"] = told.group(1)
    return found


def has_password(text: str) -> bool:
    """A password in a file that everybody reads, such as StoragePass or AccountingStoragePass (not a munge socket)."""
    found = re.findall(r"^[ \t]*\w*Pass(?:word)?[ \t]*=[ \t]*(\S+)", text, re.M | re.I)
    return any(not value.startswith("/") for value in found)


def of_host(directory: str, spool: str | None, user: str) -> dict[str, Any]:
    """Digests of what lies in Slurm's directory, and of what slurmd got from the controller."""
    text = read(f"{directory}/slurm.conf")
    host = re.search(r"^\s*SlurmctldHost\s*=\s*(\S+)", text, re.M | re.I)
    return {
        "local": digests(directory),
        "cached": digests(f"{spool}/conf-cache") if spool and Path(spool, "conf-cache").is_dir() else None,
        "local_controller": host.group(1) if host else None,
        "variable": slurm_conf_variable(user),
        "password": [name for name in FILES if has_password(read(f"{directory}/{name}"))],
        "directory": with_parents(directory),
        "slurm.conf": with_parents(f"{directory}/slurm.conf"),
    }  # fmt: skip


def state_cluster(state: str | None) -> str | None:
    """The cluster whose jobs the state directory holds, None where slurmctld wrote none."""
    return read(f"{state}/clustername").strip().split(":")[0].split("\n")[0].strip() or None if state else None
