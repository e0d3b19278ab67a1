"""The module hpc_environment: a build that fails changes nothing, one that works is switched to at once."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

LIBRARY = Path(__file__).parents[3] / "playbooks" / "library"


def load(name: str) -> ModuleType:
    """An Ansible module as a Python module."""
    specification = importlib.util.spec_from_file_location(name, LIBRARY / f"{name}.py")
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


hpc_environment = load("hpc_environment")


@pytest.fixture
def params(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "wheels").mkdir()
    return {
        "name": "pytorch",
        "root": str(tmp_path / "software"),
        "modulefiles": str(tmp_path / "software" / "modulefiles"),
        "wheels": str(tmp_path / "wheels"),
        "python": sys.executable,
        "wanted": {"packages": ["numpy"], "accelerator": "cpu"},
        "lock": {"hash": "a" * 64, "version": "2.13.0+cpu", "wheels": [], "imports": ["json"]},
        "imports": [],
        "installer": "uv",
        "compile": "imported",
        "keep": 2,
    }


@pytest.fixture(autouse=True)
def nothing_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hpc_environment.Environment, "install", lambda *_: None)


def build(params: dict[str, Any], **lock: Any) -> Any:
    environment = hpc_environment.Environment({**params, "lock": {**params["lock"], **lock}})
    environment.build()
    return environment


def test_build_is_switched_to_with_its_modulefile(params: dict[str, Any], tmp_path: Path) -> None:
    environment = build(params)
    assert environment.is_current()
    current = tmp_path / "software" / "pytorch" / "current"
    assert current.resolve().name == "2.13.0+cpu-aaaaaaaa"
    module = tmp_path / "software" / "modulefiles" / "pytorch" / "default"
    assert f'local root = "{current.resolve()}"' in module.read_text()
    assert json.loads((current / ".hpcprov.json").read_text())["wanted"]["packages"] == ["numpy"]


def test_other_wish_is_not_current(params: dict[str, Any]) -> None:
    build(params)
    params["wanted"] = {**params["wanted"], "packages": ["numpy", "pandas"]}
    assert not hpc_environment.Environment(params).is_current()


def test_build_that_does_not_import_leaves_the_old_one(params: dict[str, Any], tmp_path: Path) -> None:
    build(params)
    before = (tmp_path / "software" / "pytorch" / "current").resolve()
    with pytest.raises(hpc_environment.BuildError, match="does not import") as caught:
        build(params, hash="b" * 64, imports=["no_such_module"])
    assert "No module named 'no_such_module'" in caught.value.output[-1]
    folder = tmp_path / "software" / "pytorch"
    assert (folder / "current").resolve() == before
    assert sorted(path.name for path in folder.iterdir()) == ["2.13.0+cpu-aaaaaaaa", "current"]


def put_package(environment: Any) -> Path:
    """Install a package of one file into the current build, as an installer would; that file."""
    packages = next(Path(environment.current).glob("lib/python*/site-packages"))
    (packages / "tool-1.dist-info").mkdir()
    (packages / "tool-1.dist-info" / "RECORD").write_text("tool.py,sha256=x,6\ntool-1.dist-info/RECORD,,\n")
    (packages / "tool.py").write_text("x = 1\n")
    return packages / "tool.py"


@pytest.mark.parametrize("damage", ["lost", "cut"])
def test_damaged_build_is_made_again_beside_it(params: dict[str, Any], tmp_path: Path, damage: str) -> None:
    environment = build(params)
    file = put_package(environment)
    assert environment.is_current()
    file.unlink() if damage == "lost" else file.write_text("x")
    assert not environment.is_current()
    assert build(params).is_current()
    current = tmp_path / "software" / "pytorch" / "current"
    assert current.resolve().name == "2.13.0+cpu-aaaaaaaa-2"
    assert (tmp_path / "software" / "pytorch" / "2.13.0+cpu-aaaaaaaa").is_dir()


def test_leftover_of_an_interrupted_build_is_replaced(params: dict[str, Any], tmp_path: Path) -> None:
    leftover = tmp_path / "software" / "pytorch" / "2.13.0+cpu-aaaaaaaa"
    leftover.mkdir(parents=True)
    (leftover / "half").touch()
    build(params)
    assert not (leftover / "half").exists()
    assert (leftover / "bin" / "python").exists()


def test_old_builds_and_their_modulefiles_go(params: dict[str, Any], tmp_path: Path) -> None:
    for number, version in enumerate(("1.0", "2.0", "3.0")):
        build(params, hash=str(number) * 64, version=version)
    folder = tmp_path / "software"
    assert sorted(p.name for p in (folder / "pytorch").iterdir()) == ["2.0-11111111", "3.0-22222222", "current"]
    assert sorted(p.name for p in (folder / "modulefiles" / "pytorch").iterdir()) == ["2.0.lua", "3.0.lua", "default"]


def test_damaged_wheel_is_refused_and_removed(params: dict[str, Any], tmp_path: Path) -> None:
    wheel = tmp_path / "wheels" / "numpy-1-py3-none-any.whl"
    wheel.write_bytes(b"half")
    described = {"name": "numpy", "version": "1", "filename": wheel.name, "sha256": "0" * 64, "size": 4}
    with pytest.raises(hpc_environment.BuildError, match="was damaged on its way"):
        build(params, wheels=[described])
    assert not wheel.exists()


def test_share_that_is_not_mounted_is_named(params: dict[str, Any], tmp_path: Path) -> None:
    params["root"] = str(tmp_path / "absent" / "software")
    with pytest.raises(hpc_environment.BuildError, match="absent is not on this host"):
        hpc_environment.Environment(params)
