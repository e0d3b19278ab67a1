#!/usr/bin/python3
"""A small caching HTTP proxy for apt. It runs in a container of the lab, with the standard library only.

Each file is fetched once, however many nodes ask at the same time: the others read it while it arrives. Files appear
under their name only when they are complete. Indexes are revalidated with the archive at each use, packages once a
day; files named by their hash never change. Without the archive, what is cached is served.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from email.utils import formatdate, parsedate_to_datetime
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, unquote, urlsplit

CHUNK = 1 << 16
UPSTREAM_TIMEOUT = 60.0
# Four nodes that update at the same moment share one question to the archive.
INDEX_FRESH_SECONDS = 10.0
PACKAGE_FRESH_SECONDS = 86400.0
ATTEMPTS = 4
PAUSE_SECONDS = 0.5
UNUSED_DAYS = 60
PACKAGE = re.compile(r"\.(deb|udeb|ddeb)$")
UNCHANGING = re.compile(r"/by-hash/")
SAFE_PART = re.compile(r"[^A-Za-z0-9._+~:-]")


def freshness(url: str) -> float:
    """Seconds for which a cached answer needs no question to the archive."""
    path = urlsplit(url).path
    if UNCHANGING.search(path):
        return float("inf")
    return PACKAGE_FRESH_SECONDS if PACKAGE.search(path) else INDEX_FRESH_SECONDS


def age(path: Path) -> float:
    """Seconds since the file was last compared with the archive. Kept in its ctime; its mtime is the archive's."""
    return time.time() - path.stat().st_ctime


def cache_path(root: Path, url: str) -> Path:
    """Where a URL is kept. No part of a URL can leave the cache."""
    split = urlsplit(url)
    parts = [split.netloc.lower(), *unquote(split.path).split("/")]
    safe = [SAFE_PART.sub(lambda m: quote(m[0], safe=""), part)[:200] for part in parts if part not in {"", ".", ".."}]
    if split.query:
        safe[-1] += "?" + hashlib.sha256(split.query.encode()).hexdigest()[:16]
    return root.joinpath(*safe)


class Download:
    """One file on its way from the archive. Readers follow it while it grows."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.status: int | None = None
        self.length: int | None = None
        self.modified = ""
        self.file: Path | None = None
        self.written = 0
        self.done = False
        self.failed = False

    def update(self, **values: object) -> None:
        """Set attributes and wake the readers."""
        with self.changed:
            for name, value in values.items():
                setattr(self, name, value)
            self.changed.notify_all()

    def finish(self, temporary: Path, path: Path) -> None:
        """Give the complete file its name, in one step for a reader that is about to open it."""
        with self.changed:
            temporary.replace(path)
            self.file, self.done = path, True
            self.changed.notify_all()

    def open(self) -> BinaryIO | None:
        """The file, whole or still growing; None when the download has failed already."""
        with self.changed:
            try:
                return self.file.open("rb") if self.file else None
            except OSError:
                return None

    def wait_for_answer(self) -> int:
        """The status to give to the client, as soon as it is known."""
        with self.changed:
            self.changed.wait_for(lambda: self.status is not None)
            return self.status or HTTPStatus.BAD_GATEWAY

    def follow(self, stream: BinaryIO) -> Iterator[bytes]:
        """The bytes of the file from its start, as they arrive. Raises OSError when the download breaks off."""
        sent = 0
        while True:
            with self.changed:
                while self.written <= sent and not self.done:
                    self.changed.wait()
                written, done, failed = self.written, self.done, self.failed
            while sent < written:
                data = stream.read(min(CHUNK, written - sent))
                sent += len(data)
                yield data
            if done and sent >= written:
                if failed:
                    raise OSError("the archive broke off")
                return


class Cache:
    """Cached files, and the downloads that are under way."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lock = threading.Lock()
        self.running: dict[str, Download] = {}

    def fresh_file(self, url: str, *, must_revalidate: bool = False) -> Path | None:
        """The cached file, when it may be served without asking the archive."""
        path = cache_path(self.root, url)
        limit = min(freshness(url), INDEX_FRESH_SECONDS) if must_revalidate else freshness(url)
        return path if path.is_file() and age(path) <= limit else None

    def join_or_start(self, url: str) -> Download:
        """The download of this URL: the running one, or a new one."""
        with self.lock:
            download = self.running.get(url)
            if download is None:
                download = self.running[url] = Download()
                threading.Thread(target=self._fetch, args=(url, download), daemon=True).start()
            return download

    def _fetch(self, url: str, download: Download) -> None:
        try:
            self._ask_patiently(url, download)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._serve_stale(url, download, str(error))
        finally:
            with self.lock:
                self.running.pop(url, None)
            if not download.done:
                download.update(done=True, failed=True)

    def _ask_patiently(self, url: str, download: Download) -> None:
        """Archives refuse a request now and then; ask again, unless an answer has begun or a cached file will do."""
        attempts = 1 if cache_path(self.root, url).is_file() else ATTEMPTS
        for attempt in range(attempts):
            try:
                return self._ask(url, download)
            except (OSError, http.client.HTTPException) as error:
                if download.status is not None or attempt + 1 == attempts:
                    raise
                print(f"again {url}: {error}", flush=True)
                time.sleep(PAUSE_SECONDS * 2**attempt)
        return None

    def _ask(self, url: str, download: Download) -> None:
        path = cache_path(self.root, url)
        request = urllib.request.Request(
            url, headers={"User-Agent": "hpcprov-lab-cache", "Accept-Encoding": "identity"}
        )
        if path.is_file():
            request.add_header("If-Modified-Since", formatdate(path.stat().st_mtime, usegmt=True))
        try:
            with urllib.request.urlopen(request, timeout=UPSTREAM_TIMEOUT) as answer:
                self._store(url, path, answer, download)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == HTTPStatus.NOT_MODIFIED and path.is_file():
                os.utime(path, (time.time(), path.stat().st_mtime))
                self._offer_file(path, download)
            elif error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise OSError(str(error)) from error
            else:
                download.update(status=error.code, done=True)

    def _store(self, url: str, path: Path, answer: http.client.HTTPResponse, download: Download) -> None:
        length = int(answer.headers["Content-Length"]) if answer.headers.get("Content-Length") else None
        modified = answer.headers.get("Last-Modified", "")
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".part-")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as stream:
                download.update(file=temporary, length=length, modified=modified, status=HTTPStatus.OK.value)
                while data := answer.read(CHUNK):
                    stream.write(data)
                    stream.flush()
                    download.update(written=download.written + len(data))
            if length is not None and download.written != length:
                raise OSError(f"{download.written} of {length} bytes came")
            temporary.chmod(0o644)
            if modified:
                stamp = parsedate_to_datetime(modified).timestamp()
                os.utime(temporary, (time.time(), stamp))
            download.finish(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    def _serve_stale(self, url: str, download: Download, why: str) -> None:
        path = cache_path(self.root, url)
        if download.status is not None:
            return
        if path.is_file():
            print(f"stale {url}: {why}", flush=True)
            self._offer_file(path, download)
        else:
            print(f"failed {url}: {why}", flush=True)
            download.update(status=HTTPStatus.BAD_GATEWAY.value, done=True)

    def _offer_file(self, path: Path, download: Download) -> None:
        stat = path.stat()
        modified = formatdate(stat.st_mtime, usegmt=True)
        download.update(
            file=path,
            length=stat.st_size,
            modified=modified,
            written=stat.st_size,
            status=HTTPStatus.OK.value,
            done=True,
        )

    def prune(self, days: int = UNUSED_DAYS) -> None:
        """Remove what nobody read for a long time, and what an earlier run left unfinished."""
        limit = time.time() - days * 86400
        for path in self.root.rglob("*"):
            with contextlib.suppress(OSError):
                stat = path.stat()
                abandoned = path.name.startswith(".part-") and stat.st_mtime < time.time() - 3600
                if path.is_file() and (abandoned or max(stat.st_atime, stat.st_ctime) < limit):
                    path.unlink()


class Handler(BaseHTTPRequestHandler):
    """Answers one apt client. Only GET and HEAD of http URLs; everything else goes direct."""

    protocol_version = "HTTP/1.1"
    cache: Cache

    def do_GET(self) -> None:
        """Serve from the cache, or follow the download."""
        url = self.path
        if url == "/":
            self._empty(HTTPStatus.OK)
            return
        if not url.startswith("http://"):
            self._empty(HTTPStatus.BAD_REQUEST)
            return
        must_revalidate = "no-cache" in self.headers.get("Cache-Control", "")
        path = self.cache.fresh_file(url, must_revalidate=must_revalidate)
        if path is not None:
            with contextlib.suppress(OSError):
                self._serve(path)
                return
        download = self.cache.join_or_start(url)
        status = download.wait_for_answer()
        if status != HTTPStatus.OK or download.file is None:
            self._empty(status)
            return
        self._follow(download)

    do_HEAD = do_GET  # noqa: N815 (the name that the standard library calls)

    def _serve(self, path: Path) -> None:
        with path.open("rb") as stream:
            stat = os.fstat(stream.fileno())
            if self._unchanged(stat.st_mtime):
                self._empty(HTTPStatus.NOT_MODIFIED)
                return
            self._head(stat.st_size, formatdate(stat.st_mtime, usegmt=True))
            if self.command == "GET":
                shutil.copyfileobj(stream, self.wfile, CHUNK)

    def _follow(self, download: Download) -> None:
        stream = download.open()
        if stream is None:
            self._empty(HTTPStatus.BAD_GATEWAY)
            return
        with stream:
            if download.modified and self._unchanged(parsedate_to_datetime(download.modified).timestamp()):
                self._empty(HTTPStatus.NOT_MODIFIED)
                return
            self._head(download.length, download.modified)
            if self.command == "HEAD":
                return
            try:
                for data in download.follow(stream):
                    self.wfile.write(data)
            except OSError as error:
                # The client sees a short body and asks again.
                print(f"broken {self.path}: {error}", flush=True)
                self.close_connection = True

    def _unchanged(self, modified: float) -> bool:
        since = self.headers.get("If-Modified-Since")
        if not since:
            return False
        with contextlib.suppress(ValueError, TypeError):
            return int(modified) <= parsedate_to_datetime(since).timestamp()
        return False

    def _head(self, length: int | None, modified: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/octet-stream")
        if modified:
            self.send_header("Last-Modified", modified)
        if length is None:
            # Without a length only the end of the connection tells the end of the file.
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def _empty(self, status: int) -> None:
        self.send_response(status)
        if status != HTTPStatus.NOT_MODIFIED:
            self.send_header("Content-Length", "0")
        self.end_headers()

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """One line for each request: the container's log is the cache's log."""
        number = code.value if isinstance(code, HTTPStatus) else code
        print(f"{number} {self.command} {self.path}", flush=True)


class Server(ThreadingHTTPServer):
    """Accepts bursts: apt opens several connections for each node."""

    daemon_threads = True
    request_queue_size = 128


def make_server(root: Path, address: tuple[str, int]) -> Server:
    """A server that is bound but not yet serving."""
    root.mkdir(parents=True, exist_ok=True)
    handler = type("BoundHandler", (Handler,), {"cache": Cache(root)})
    return Server(address, handler)


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--port", type=int, default=3142)
    options = parser.parse_args()
    # As process 1 of its container it would not be ended by a signal that it does not handle.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    threading.Thread(target=Cache(options.dir).prune, daemon=True).start()
    with make_server(options.dir, ("0.0.0.0", options.port)) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
