"""Role storage: a client reads and writes over NFS what the site allows it, and nothing else."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import pytest
from hpcprov.site import Site

# nfs-cp replaces no file, and the server remembers what it saw: new names let `molecule verify` run again.
RUN = secrets.token_hex(4)


@pytest.fixture
def store(nodes: Callable[[str], Any]) -> Any:
    return nodes("store")


@pytest.fixture
def client(nodes: Callable[[str], Any]) -> Any:
    return nodes("client")


@pytest.fixture
def url(site: Site) -> Callable[..., str]:
    """An NFS URL on the server, as a given user."""
    address = site.hosts["store"].cluster_address
    return lambda path, uid=64100: f"'nfs://{address}{path}?version=4&uid={uid}&gid={uid}'"


def test_server_runs_and_starts_at_boot(store: Any) -> None:
    service = store.service("nfs-ganesha")
    assert service.is_running and service.is_enabled


def test_client_writes_and_reads_back(client: Any, store: Any, url: Callable[..., str]) -> None:
    # Debian 12's libnfs cannot send an NFSv4 request above 4 KiB.
    client.check_output(f"head -c 3000 /dev/urandom > /tmp/sent-{RUN}")
    client.check_output(f"nfs-cp /tmp/sent-{RUN} {url(f'/export/data/smoke/{RUN}')}")
    arrived = store.file(f"/export/data/smoke/{RUN}")
    assert (arrived.uid, arrived.size) == (64100, 3000)
    client.check_output(f"nfs-cp {url(f'/export/data/smoke/{RUN}')} /tmp/back-{RUN}")
    assert client.run(f"cmp /tmp/sent-{RUN} /tmp/back-{RUN}").rc == 0


def test_client_reads_a_big_file(client: Any, store: Any, url: Callable[..., str]) -> None:
    store.check_output(f"head -c 5000000 /dev/urandom > /export/data/big-{RUN} && chmod 644 /export/data/big-{RUN}")
    client.check_output(f"nfs-cp {url(f'/export/data/big-{RUN}')} /tmp/big-{RUN}")
    assert client.file(f"/tmp/big-{RUN}").sha256sum == store.file(f"/export/data/big-{RUN}").sha256sum


def test_root_of_a_client_is_nobody(client: Any, store: Any, url: Callable[..., str]) -> None:
    client.check_output("echo x > /tmp/small")
    client.check_output(f"nfs-cp /tmp/small {url(f'/export/data/open/{RUN}', uid=0)}")
    assert store.file(f"/export/data/open/{RUN}").user == "nobody"
    refused = client.run(f"nfs-cp /tmp/small {url(f'/export/data/smoke/root-{RUN}', uid=0)}")
    assert refused.rc != 0
    assert not store.file(f"/export/data/smoke/root-{RUN}").exists


def test_read_only_export_is_read_only(client: Any, store: Any, url: Callable[..., str]) -> None:
    store.check_output(f"echo hello > /export/readonly/{RUN} && chmod 777 /export/readonly")
    client.check_output(f"nfs-cp {url(f'/export/readonly/{RUN}')} /tmp/hello-{RUN}")
    assert client.file(f"/tmp/hello-{RUN}").content_string == "hello\n"
    assert client.run(f"nfs-cp /tmp/hello-{RUN} {url(f'/export/readonly/mine-{RUN}')}").rc != 0
    assert not store.file(f"/export/readonly/mine-{RUN}").exists


def test_export_for_others_is_closed(client: Any, store: Any, url: Callable[..., str]) -> None:
    store.check_output("echo secret > /export/other/file")
    assert client.run(f"nfs-cp {url('/export/other/file')} /tmp/secret-{RUN}").rc != 0


def test_directories_of_the_site_are_there(store: Any) -> None:
    smoke = store.file("/export/data/smoke")
    assert (smoke.uid, smoke.gid, smoke.mode) == (64100, 64100, 0o755)


def test_directory_from_outside_is_left_alone(client: Any) -> None:
    assert client.mount_point("/shared").exists
    units = client.check_output(
        "systemctl list-unit-files --no-legend --plain 'shared.*mount' | awk '$2 != \"generated\"'"
    )
    assert units == ""
    assert not client.package("nfs-ganesha").is_installed
