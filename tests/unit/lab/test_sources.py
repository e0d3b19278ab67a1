"""Which of the host's apt sources a node gets."""

from __future__ import annotations

from pathlib import Path

import pytest
from hpcprov.lab import sources
from hpcprov.lab.sources import Entry, for_release, is_debian, parse_deb822, parse_one_line, render

KEY = "/usr/share/keyrings/debian-archive-keyring.gpg"
MIRROR = "http://mirror.example/debian"


def test_one_line_format_with_options_comments_and_sources() -> None:
    text = f"""
# deb http://mirror.example/debian bullseye main
deb [arch=amd64 signed-by={KEY}] {MIRROR}/ bookworm main contrib  # the archive
deb-src {MIRROR} bookworm main
deb\t{MIRROR} bookworm-updates main
"""
    assert parse_one_line(text) == [
        Entry(MIRROR, "bookworm", ("main", "contrib"), KEY),
        Entry(MIRROR, "bookworm-updates", ("main",)),
    ]


def test_deb822_with_several_suites_comments_and_disabled_stanzas() -> None:
    text = f"""Types: deb deb-src
# a comment inside
URIs: {MIRROR}
Suites: bookworm bookworm-updates
Components: main
Signed-By: {KEY}

Enabled: no
Types: deb
URIs: http://other.example/debian
Suites: bookworm
Components: main

Types: deb-src
URIs: {MIRROR}
Suites: bookworm
Components: main
"""
    assert parse_deb822(text) == [
        Entry(MIRROR, "bookworm", ("main",), KEY),
        Entry(MIRROR, "bookworm-updates", ("main",), KEY),
    ]


def test_deb822_key_block_is_kept_whole() -> None:
    text = f"Types: deb\nURIs: {MIRROR}\nSuites: sid\nComponents: main\nSigned-By:\n -----BEGIN-----\n .\n abc\n"
    assert parse_deb822(text)[0].signed_by == "\n -----BEGIN-----\n .\n abc"


@pytest.mark.parametrize(
    ("uri", "suite", "components", "signed_by"),
    [
        ("https://download.vendor.example/linux/debian", "bookworm", ("stable",), ""),
        ("https://pkgs.vendor.example/stable/debian", "bookworm", ("main",), "/usr/share/keyrings/vendor.gpg"),
        ("https://vendor.example/apt", "cloud-sdk-bookworm", ("main",), ""),
        ("https://vendor.example/node_20.x", "nodistro", ("main",), "/usr/share/keyrings/vendor.gpg"),
        ("https://vendor.example/debian/12/prod", "bookworm", ("main",), ""),
        ("http://archive.example/ubuntu", "jammy", ("main", "universe"), ""),
    ],
)
def test_other_vendors_are_dropped(uri: str, suite: str, components: tuple[str, ...], signed_by: str) -> None:
    assert not is_debian(Entry(uri, suite, components, signed_by))


def test_what_apt_saw_in_the_release_file_decides(tmp_path: Path) -> None:
    (tmp_path / "mirror.example_corp_dists_bookworm_InRelease").write_text("Origin: Debian\nLabel: Debian\n")
    (tmp_path / "vendor.example_debian_dists_bookworm_InRelease").write_text("Origin: Vendor\n")
    origin = sources.origin_from_lists(tmp_path)
    resigned = Entry("http://mirror.example/corp", "bookworm", ("main",), "/etc/apt/keyrings/corp.gpg")
    assert is_debian(resigned, origin)
    assert not is_debian(Entry("http://vendor.example/debian", "bookworm", ("main",), KEY), origin)


def test_release_is_exchanged_and_only_its_parts_stay() -> None:
    host = [
        Entry(MIRROR, suite, ("main",), KEY)
        for suite in ("bookworm", "bookworm-updates", "bookworm-security", "bookworm-backports")
    ]
    chosen = for_release(host, "trixie", ["main", "contrib"])
    assert [entry.suite for entry in chosen] == ["trixie", "trixie-updates", "trixie-security"]
    assert {entry.components for entry in chosen} == {("main", "contrib")}


def test_alias_and_local_archives() -> None:
    host = [Entry(MIRROR, "stable", ("main",)), Entry("file:/srv/debian", "bookworm", ("main",))]
    assert for_release(host, "bookworm") == [Entry(MIRROR, "bookworm", ("main",))]


def test_render_falls_back_to_the_archive_keyring() -> None:
    text = render([Entry(MIRROR, "bookworm", ("main",))])
    assert text == f"Types: deb\nURIs: {MIRROR}\nSuites: bookworm\nComponents: main\nSigned-By: {KEY}\n"
    assert parse_deb822(text) == [Entry(MIRROR, "bookworm", ("main",), KEY)]


def test_read_host_reads_both_formats_and_only_their_suffixes(tmp_path: Path) -> None:
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text(f"deb {MIRROR} bookworm main\n")
    (tmp_path / "sources.list.d" / "b.sources").write_text(render([Entry(MIRROR, "bookworm-updates", ("main",))]))
    (tmp_path / "sources.list.d" / "a.list.disabled").write_text("deb http://x.example/debian bookworm main\n")
    assert [entry.suite for entry in sources.read_host(tmp_path)] == ["bookworm", "bookworm-updates"]
