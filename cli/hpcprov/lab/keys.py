"""SSH keys of the lab, made on the control host: it knows each node's host key before the first connection."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from hpcprov.errors import LabError
from hpcprov.lab.podman import write_atomically
from hpcprov.site import Host, Site

HOST_KEY = "ssh_host_ed25519_key"


@dataclass(frozen=True)
class KeyStore:
    """The keys of one lab under its state directory."""

    folder: Path

    @property
    def client_key(self) -> Path:
        """The key that logs in as root on every node."""
        return self.folder / "id_ed25519"

    @property
    def known_hosts(self) -> Path:
        """Host keys of all nodes."""
        return self.folder / "known_hosts"

    def host_folder(self, host: Host) -> Path:
        """What one node gets as /etc/hpcprov-lab/host."""
        return self.folder / "hostkeys" / host.node_name

    def public(self, private: Path) -> str:
        """Type and key without the comment."""
        return " ".join(private.with_name(private.name + ".pub").read_text().split()[:2])


def ensure(site: Site) -> KeyStore:
    """Make what is missing, and write known_hosts for exactly the hosts of the site."""
    store = KeyStore(site.state_dir / "ssh")
    store.folder.mkdir(parents=True, exist_ok=True)
    for folder in (site.state_dir, store.folder):
        folder.chmod(0o700)
    _ensure_key(store.client_key, f"hpcprov-{site.cluster_name}")
    lines = []
    for host in site.cluster_hosts:
        key = store.host_folder(host) / HOST_KEY
        _ensure_key(key, f"{host.node_name}.{site.cluster_domain}")
        lines.append(known_hosts_line(host, store.public(key)))
    write_atomically(store.known_hosts, "".join(lines), 0o600)
    return store


def known_hosts_line(host: Host, public_key: str) -> str:
    """Every name under which the host may be reached, with its key."""
    names = dict.fromkeys([host.address, host.cluster_address, host.name, host.node_name])
    return f"{','.join(name for name in names if name)} {public_key}\n"


def _ensure_key(path: Path, comment: str) -> None:
    public = path.with_name(path.name + ".pub")
    if path.is_file() and public.is_file():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    path.unlink(missing_ok=True)
    result = subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if result.returncode:
        raise LabError("ssh-keygen failed", why=result.stderr.strip())
