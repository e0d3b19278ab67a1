"""The node image's apt sources: the Debian entries of the host, for the release that the nodes run.

Other vendors' entries of the host do not belong in a node. Both formats of sources.list(5) are read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

COMPONENTS = frozenset({"main", "contrib", "non-free", "non-free-firmware"})
ALIASES = frozenset({"stable", "oldstable", "testing", "unstable"})
CODENAMES = frozenset({"bullseye", "bookworm", "trixie", "forky", "duke", "sid"})
DEFAULT_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# What a release is made of; backports and proposed updates do not belong in a default node.
PARTS = {"": "", "-updates": "-updates", "-security": "-security", "/updates": "-security"}

_OPTIONS = re.compile(r"^\[(?P<options>[^\]]*)\]\s*(?P<rest>.*)$")


@dataclass(frozen=True)
class Entry:
    """One archive: where, which suite, which components, and the key (a path, or a whole key block)."""

    uri: str
    suite: str
    components: tuple[str, ...]
    signed_by: str = ""

    @property
    def release(self) -> str:
        """The suite without its part: `bookworm` of `bookworm-updates`."""
        return re.split(r"[-/]", self.suite, maxsplit=1)[0]

    @property
    def part(self) -> str:
        """What follows the release in the suite: `-updates`, or nothing."""
        return self.suite[len(self.release) :]


OriginOf = Callable[[Entry], str | None]


def read_host(etc_apt: Path = Path("/etc/apt")) -> list[Entry]:
    """All binary archives that the host's apt uses, in apt's order."""
    files = [etc_apt / "sources.list", *sorted((etc_apt / "sources.list.d").glob("*"))]
    entries: list[Entry] = []
    for file in files:
        if file.suffix == ".list" and file.is_file():
            entries += parse_one_line(file.read_text())
        elif file.suffix == ".sources" and file.is_file():
            entries += parse_deb822(file.read_text())
    return entries


def parse_one_line(text: str) -> list[Entry]:
    """`deb [signed-by=KEY] URI SUITE COMPONENT...` lines."""
    entries = []
    for line in text.splitlines():
        words = line.split("#", 1)[0].split(maxsplit=1)
        if len(words) < 2 or words[0] != "deb":
            continue
        rest = words[1].strip()
        match = _OPTIONS.match(rest)
        options = match["options"] if match else ""
        uri, suite, *components = (match["rest"] if match else rest).split()
        keys = [word.partition("=")[2] for word in options.split() if word.lower().startswith("signed-by=")]
        entries.append(Entry(uri.rstrip("/"), suite, tuple(components), keys[0] if keys else ""))
    return entries


def parse_deb822(text: str) -> list[Entry]:
    """Stanzas of `Types:`, `URIs:`, `Suites:`, `Components:`, `Signed-By:`."""
    entries = []
    for stanza in _stanzas(text):
        if stanza.get("enabled", "yes").lower() in {"no", "false", "0", "off"}:
            continue
        if "deb" not in stanza.get("types", "").split():
            continue
        components = tuple(stanza.get("components", "").split())
        for uri in stanza.get("uris", "").split():
            for suite in stanza.get("suites", "").split():
                entries.append(Entry(uri.rstrip("/"), suite, components, stanza.get("signed-by", "")))
    return entries


def _stanzas(text: str) -> Iterator[dict[str, str]]:
    for block in re.split(r"\n\s*\n", text):
        fields: dict[str, str] = {}
        key = ""
        for line in block.splitlines():
            if line.startswith("#"):
                continue
            if line[:1].isspace() and key:
                fields[key] += "\n" + line
            elif ":" in line:
                key, _, value = line.partition(":")
                key = key.strip().lower()
                fields[key] = value.strip()
        if fields:
            yield fields


def is_debian(entry: Entry, origin_of: OriginOf = lambda _: None) -> bool:
    """Is this an archive of Debian itself?

    The Origin of its Release file decides where apt has one; else the suite, components and key together do.
    """
    if not entry.suite or entry.release not in CODENAMES | ALIASES or not set(entry.components) <= COMPONENTS:
        return False
    origin = origin_of(entry)
    if origin is not None:
        return origin == "Debian"
    if entry.signed_by.startswith("/"):
        return Path(entry.signed_by).name.startswith("debian-archive-")
    return urlsplit(entry.uri).path.rsplit("/", 1)[-1] in {"debian", "debian-security", "debian-archive"}


def origin_from_lists(lists: Path = Path("/var/lib/apt/lists")) -> OriginOf:
    """The Origin that apt saw when it last read the archive; None when it never did."""

    def origin(entry: Entry) -> str | None:
        split = urlsplit(entry.uri)
        stem = f"{split.netloc}{split.path}/dists/{entry.suite}".replace("_", "%5f").replace("/", "_")
        for name in (f"{stem}_InRelease", f"{stem}_Release"):
            if (lists / name).is_file():
                match = re.search(r"^Origin: *(.*)$", (lists / name).read_text(errors="replace"), re.MULTILINE)
                return match[1].strip() if match else ""
        return None

    return origin


def for_release(
    entries: Iterable[Entry], release: str, components: Iterable[str] = ("main",), origin_of: OriginOf = lambda _: None
) -> list[Entry]:
    """Debian's entries only, pointed at `release`. Where the host follows another release the suite is exchanged."""
    wanted = tuple(components)
    found: dict[tuple[str, str], Entry] = {}
    for entry in entries:
        if urlsplit(entry.uri).scheme not in {"http", "https"} or not is_debian(entry, origin_of):
            continue
        if entry.part not in PARTS:
            continue
        suite = release + PARTS[entry.part]
        found.setdefault((entry.uri, suite), replace(entry, suite=suite, components=wanted))
    return list(found.values())


def render(entries: Iterable[Entry]) -> str:
    """A deb822 file. An entry that names no key is checked against Debian's archive keyring."""
    return "\n".join(_stanza(entry) for entry in entries)


def _stanza(entry: Entry) -> str:
    return (
        f"Types: deb\nURIs: {entry.uri}\nSuites: {entry.suite}\n"
        f"Components: {' '.join(entry.components)}\nSigned-By: {entry.signed_by or DEFAULT_KEYRING}\n"
    )
