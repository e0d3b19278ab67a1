"""Wheels made by hand, so that the real pip can resolve without any network."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

MakeWheel = Callable[..., Path]


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of wheels that is all that pip knows."""
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL", "PIP_CONSTRAINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    folder = tmp_path / "shelf"
    folder.mkdir()
    return folder


@pytest.fixture
def make_wheel(shelf: Path) -> MakeWheel:
    """Put a wheel on the shelf."""

    def make(name: str, version: str, *, tag: str = "py3-none-any", requires: tuple[str, ...] = ()) -> Path:
        path = shelf / f"{name}-{version}-{tag}.whl"
        info = f"{name}-{version}.dist-info"
        metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        metadata += [f"Requires-Dist: {line}" for line in requires]
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{name}/__init__.py", f"version = {version!r}\n")
            archive.writestr(f"{info}/METADATA", "\n".join(metadata) + "\n")
            archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
            archive.writestr(f"{info}/RECORD", "")
        return path

    for tool in ("pip", "uv"):
        make(tool, "1.0")
    return make
