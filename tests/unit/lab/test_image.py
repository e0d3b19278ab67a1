"""The recipe of the node image and its name."""

from __future__ import annotations

import io
import shlex
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from hpcprov.errors import LabError
from hpcprov.lab import image
from hpcprov.lab.sources import Entry

KEY = "/usr/share/keyrings/debian-archive-keyring.gpg"
HOST = [Entry("http://mirror.example/debian", "bookworm", ("main",), KEY)]


def test_tag_names_release_and_recipe() -> None:
    recipe = image.recipe("bookworm", {}, HOST)
    assert recipe.tag == f"localhost/hpcprov-node:bookworm-{recipe.digest}"
    assert recipe.tag == image.recipe("bookworm", {}, HOST).tag
    assert recipe.tag != replace(recipe, packages=(*recipe.packages, "vim")).tag
    assert recipe.tag != image.recipe("bookworm", {"components": ["main", "non-free"]}, HOST).tag


def test_a_host_without_debian_sources_is_told_so() -> None:
    with pytest.raises(LabError, match="name no Debian archive") as caught:
        image.recipe("bookworm", {}, [Entry("http://archive.example/ubuntu", "jammy", ("main",))])
    assert "lab.mirror" in (caught.value.hint or "")


def test_a_mirror_of_the_site_needs_no_host_sources() -> None:
    assert (
        "URIs: http://local.example/debian\nSuites: trixie\n"
        in image.recipe("trixie", {"mirror": "http://local.example/debian/"}, []).sources
    )


def test_unknown_release() -> None:
    with pytest.raises(LabError) as caught:
        image.recipe("buster", {}, HOST)
    assert caught.value.hint == "lab.release is one of bookworm, trixie"


def test_files_have_their_modes_whatever_the_checkout_has(tmp_path: Path) -> None:
    key = tmp_path / "corp.gpg"
    key.write_bytes(b"key")
    recipe = replace(image.recipe("bookworm", {}, HOST), keyrings=(key,))
    with tarfile.open(fileobj=io.BytesIO(image._node_tar(recipe))) as tar:
        members = {member.name: member for member in tar}
    assert members["usr/local/lib/hpcprov/apt-proxy"].mode == 0o755
    assert members["etc/apt/apt.conf.d/90hpcprov-lab"].mode == 0o644
    assert str(key).lstrip("/") in members
    # A directory in the archive would change the mode of the node's own.
    assert all(member.isfile() and member.uid == 0 for member in members.values())


def test_mmdebstrap_arguments(tmp_path: Path) -> None:
    recipe = image.recipe("trixie", {}, HOST)
    work = tmp_path / "a b"
    arguments = image.mmdebstrap_arguments(recipe, work, ['Acquire::http::Proxy "http://p:1"'])
    assert '--aptopt=Acquire::http::Proxy "http://p:1"' in arguments
    assert f"--customize-hook=tar-in {shlex.quote(str(work / 'node.tar'))} /" in arguments
    assert arguments[-3:] == ["trixie", "-", str(work / "node.sources")]


def test_the_hosts_proxy_serves_the_cache() -> None:
    assert image.host_apt_proxy(['Acquire::http::Proxy "http://p:3128"']) == "http://p:3128"
    assert image.host_apt_proxy(['Acquire::http::Proxy "DIRECT"', 'Acquire::http::Timeout "5"']) == ""
