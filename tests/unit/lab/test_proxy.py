"""The package cache against an archive on loopback that counts its requests."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hpcprov.lab import proxy

CLIENTS = 4
BODY = os.urandom(300_000)


class Archive(BaseHTTPRequestHandler):
    """Serves what `files` says: body and modification time. `broken` paths stop in the middle."""

    files: ClassVar[dict[str, tuple[bytes, float]]] = {}
    broken: ClassVar[set[str]] = set()
    refusals: ClassVar[list[int]] = []
    requests: ClassVar[Counter[tuple[str, int]]] = Counter()

    def do_GET(self) -> None:
        body, modified = self.files.get(self.path, (None, 0.0))
        if self.refusals:
            self._answer(self.refusals.pop(), b"")
        elif body is None:
            self._answer(404, b"")
        elif self.headers.get("If-Modified-Since") == formatdate(modified, usegmt=True):
            self._answer(304, b"")
        else:
            self._answer(200, body, formatdate(modified, usegmt=True))

    def _answer(self, status: int, body: bytes, modified: str = "") -> None:
        self.requests[self.path, status] += 1
        self.send_response(status)
        if modified:
            self.send_header("Last-Modified", modified)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        half = len(body) // 2
        self.wfile.write(body[:half])
        self.wfile.flush()
        time.sleep(0.2 if len(body) > 100 else 0)  # all clients are there before the file is
        if self.path not in self.broken:
            self.wfile.write(body[half:])

    def log_message(self, *_: Any) -> None:
        """Quiet."""


class Setup:
    """An archive and a cache before it."""

    def __init__(self, root: Path) -> None:
        for memory in (Archive.files, Archive.broken, Archive.requests, Archive.refusals):
            memory.clear()
        self.root = root
        self.archive = ThreadingHTTPServer(("127.0.0.1", 0), Archive)
        self.cache = proxy.make_server(root, ("127.0.0.1", 0))
        for server in (self.archive, self.cache):
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.archive.server_address[1]}{path}"

    def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.cache.server_address[1], timeout=20)
        connection.request("GET", self.url(path), headers={k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        try:
            return answer.status, answer.read()
        finally:
            connection.close()

    def get_often(self, path: str) -> list[tuple[int, bytes]]:
        with ThreadPoolExecutor(CLIENTS) as pool:
            return list(pool.map(lambda _: self.get(path), range(CLIENTS)))

    def downloads(self) -> dict[str, proxy.Download]:
        return self.cache.RequestHandlerClass.cache.running  # type: ignore[attr-defined]

    def stop(self) -> None:
        for server in (self.archive, self.cache):
            server.shutdown()
            server.server_close()


def make_everything_old(net: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if days had passed. A client may have all bytes just before the download is over; that one must be gone."""
    while net.downloads():
        time.sleep(0.01)
    monkeypatch.setattr(proxy, "age", lambda _: 10 * proxy.PACKAGE_FRESH_SECONDS)


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Setup]:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(proxy, "PAUSE_SECONDS", 0.01)
    setup = Setup(tmp_path / "cache")
    yield setup
    setup.stop()


def test_four_clients_one_download(net: Setup) -> None:
    Archive.files["/pool/a_1%2b2_amd64.deb"] = (BODY, 1_700_000_000)
    assert net.get_often("/pool/a_1%2b2_amd64.deb") == [(200, BODY)] * CLIENTS
    assert net.get("/pool/a_1%2b2_amd64.deb") == (200, BODY)
    assert Archive.requests == {("/pool/a_1%2b2_amd64.deb", 200): 1}
    assert [path.name for path in net.root.rglob("*") if path.is_file()] == ["a_1+2_amd64.deb"]


def test_an_index_is_revalidated_and_a_new_one_fetched(net: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    Archive.files["/dists/x/InRelease"] = (b"old", 1_700_000_000)
    assert net.get("/dists/x/InRelease") == (200, b"old")
    make_everything_old(net, monkeypatch)
    assert net.get("/dists/x/InRelease") == (200, b"old")
    Archive.files["/dists/x/InRelease"] = (b"new", 1_700_000_100)
    make_everything_old(net, monkeypatch)
    assert net.get("/dists/x/InRelease") == (200, b"new")
    assert Archive.requests == {("/dists/x/InRelease", 200): 2, ("/dists/x/InRelease", 304): 1}


def test_a_package_is_revalidated_after_a_day_and_a_hash_never(net: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    assert proxy.freshness("http://m/pool/a.deb") == proxy.PACKAGE_FRESH_SECONDS
    assert proxy.freshness("http://m/dists/x/by-hash/SHA256/ab") == float("inf")
    Archive.files["/pool/a.deb"] = (b"deb", 1_700_000_000)
    net.get("/pool/a.deb")
    make_everything_old(net, monkeypatch)
    assert net.get("/pool/a.deb") == (200, b"deb")
    assert Archive.requests["/pool/a.deb", 304] == 1


def test_a_client_that_has_the_file_gets_304(net: Setup) -> None:
    Archive.files["/dists/x/InRelease"] = (b"same", 1_700_000_000)
    since = formatdate(1_700_000_000, usegmt=True)
    assert net.get("/dists/x/InRelease", If_Modified_Since=since) == (304, b"")
    assert net.get("/dists/x/InRelease", If_Modified_Since=since) == (304, b"")


def test_errors_pass_through_and_are_not_kept(net: Setup) -> None:
    assert net.get("/missing")[0] == 404
    Archive.files["/missing"] = (b"here now", 1_700_000_000)
    assert net.get("/missing") == (200, b"here now")


def test_an_archive_that_refuses_for_a_moment_is_asked_again(net: Setup) -> None:
    Archive.files["/pool/c.deb"] = (b"deb", 1_700_000_000)
    Archive.refusals.extend([503, 503])
    assert net.get("/pool/c.deb") == (200, b"deb")


def test_many_small_files_under_load(net: Setup) -> None:
    """A file that gets its final name just when a client opens it is still found."""
    Archive.files |= {f"/pool/{i}.deb": (b"x", 1_700_000_000) for i in range(100)}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: net.get(f"/pool/{i % 100}.deb"), range(400)))
    assert set(answers) == {(200, b"x")}


def test_a_broken_download_leaves_no_file(net: Setup) -> None:
    Archive.files["/pool/b.deb"] = (BODY, 1_700_000_000)
    Archive.broken.add("/pool/b.deb")
    with pytest.raises(http.client.IncompleteRead):
        net.get("/pool/b.deb")
    assert not [path for path in net.root.rglob("*") if path.is_file()]
    Archive.broken.clear()
    assert net.get("/pool/b.deb") == (200, BODY)


def test_without_the_archive_the_cached_file_is_served(net: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    Archive.files["/dists/x/InRelease"] = (b"kept", 1_700_000_000)
    net.get("/dists/x/InRelease")
    net.archive.shutdown()
    net.archive.server_close()
    make_everything_old(net, monkeypatch)
    assert net.get("/dists/x/InRelease") == (200, b"kept")
    assert net.get("/dists/x/other")[0] == 502


def test_one_connection_serves_many_files(net: Setup) -> None:
    Archive.files |= {f"/pool/{i}.deb": (str(i).encode(), 1_700_000_000) for i in range(3)}
    connection = http.client.HTTPConnection("127.0.0.1", net.cache.server_address[1], timeout=20)
    for i in range(3):
        connection.request("GET", net.url(f"/pool/{i}.deb"))
        assert connection.getresponse().read() == str(i).encode()
    connection.close()


@pytest.mark.parametrize("url", ["http://m/../../etc/passwd", "http://m/%2e%2e/%2e%2e/etc/passwd", "http://../../x"])
def test_no_url_leaves_the_cache(tmp_path: Path, url: str) -> None:
    assert proxy.cache_path(tmp_path, url).resolve().is_relative_to(tmp_path.resolve())


def test_unused_files_are_pruned(tmp_path: Path) -> None:
    for name in ("fresh.deb", "old.deb", ".part-x"):
        (tmp_path / name).write_text("x")
    os.utime(tmp_path / ".part-x", (time.time(), time.time() - 7200))
    proxy.Cache(tmp_path).prune()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fresh.deb", "old.deb"]
    proxy.Cache(tmp_path).prune(days=-1)
    assert list(tmp_path.iterdir()) == []


def test_apt_goes_direct_without_a_proxy_and_for_https() -> None:
    script = Path(proxy.__file__).parent / "node/usr/local/lib/hpcprov/apt-proxy"
    for uri in ("http://mirror.example/debian", "https://mirror.example/debian"):
        answer = subprocess.run([sys.executable, str(script), uri], capture_output=True, text=True, check=True)
        assert answer.stdout == "DIRECT\n"
