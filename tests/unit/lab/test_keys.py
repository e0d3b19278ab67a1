"""SSH keys of the lab: made once, private, and known before the first connection."""

from __future__ import annotations

from collections.abc import Callable

import paramiko
from hpcprov.lab import keys
from hpcprov.site import Site


def test_keys_are_made_once_and_hosts_are_known(site: Callable[..., Site]) -> None:
    made = site()
    store = keys.ensure(made)
    first = store.client_key.read_bytes()
    known = paramiko.HostKeys(str(store.known_hosts))
    for host in made.cluster_hosts:
        private = paramiko.Ed25519Key.from_private_key_file(str(store.host_folder(host) / keys.HOST_KEY))
        assert known.check(host.address, private)
        assert known.check(host.name, private)
    keys.ensure(made)
    assert store.client_key.read_bytes() == first


def test_modes(site: Callable[..., Site]) -> None:
    made = site()
    store = keys.ensure(made)
    modes = {path: path.stat().st_mode & 0o777 for path in (made.state_dir, store.folder, store.client_key)}
    assert list(modes.values()) == [0o700, 0o700, 0o600]


def test_a_half_made_key_is_made_again(site: Callable[..., Site]) -> None:
    made = site()
    store = keys.ensure(made)
    store.client_key.with_suffix(".pub").unlink()
    keys.ensure(made)
    paramiko.Ed25519Key.from_private_key_file(str(store.client_key))
    assert store.public(store.client_key).startswith("ssh-ed25519 ")
