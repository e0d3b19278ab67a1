"""Sets of wheels, resolved by the real pip from a shelf of hand-made ones."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hpcprov import wheels
from hpcprov.wheels import Lock, Request, Target, WheelsError

from .conftest import MakeWheel

DEBIAN_12 = Target(python="3.11.2", machine="x86_64", glibc="2.36")
DEBIAN_13 = Target(python="3.13.5", machine="x86_64", glibc="2.41")


def request_for(shelf: Path, target: Target = DEBIAN_12, **more: object) -> Request:
    return Request(
        "pytorch", target, packages=("numpy",), pip_options=("--no-index", "--find-links", str(shelf)), **more
    )  # type: ignore[arg-type]


def resolve(request: Request, tmp_path: Path) -> Lock:
    return wheels.resolve(request, cache=tmp_path / "cache")


def versions(lock: Lock) -> dict[str, str]:
    return {wheel.name: wheel.version for wheel in lock.wheels}


def test_cpu_build_wins_over_a_newer_plain_one(shelf: Path, make_wheel: MakeWheel, tmp_path: Path) -> None:
    make_wheel("torch", "2.13.0+cpu", tag="cp311-cp311-manylinux_2_28_x86_64")
    make_wheel("torch", "2.15.0", tag="cp311-cp311-manylinux_2_28_x86_64")
    make_wheel("numpy", "2.4.6", tag="cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64")
    lock = resolve(request_for(shelf), tmp_path)
    assert versions(lock) == {"torch": "2.13.0+cpu", "numpy": "2.4.6", "pip": "1.0", "uv": "1.0"}
    assert lock.version_of("torch") == "2.13.0+cpu"
    assert lock.warnings == ()


def test_cuda_build_is_never_the_cpu_one(shelf: Path, make_wheel: MakeWheel, tmp_path: Path) -> None:
    make_wheel("torch", "2.13.0+cpu")
    make_wheel("torch", "2.13.0")
    make_wheel("numpy", "2.4.6")
    gpu = Target("3.11.2", "x86_64", "2.36", "cuda")
    assert versions(resolve(request_for(shelf, gpu), tmp_path))["torch"] == "2.13.0"


def test_plain_build_is_taken_with_a_warning(shelf: Path, make_wheel: MakeWheel, tmp_path: Path) -> None:
    make_wheel("torch", "2.15.0")
    make_wheel("numpy", "2.4.6")
    lock = resolve(request_for(shelf), tmp_path)
    assert versions(lock)["torch"] == "2.15.0"
    assert "pip offers no CPU build (+cpu) of torch" in lock.warnings[0]


def test_markers_are_those_of_the_nodes_python(shelf: Path, make_wheel: MakeWheel, tmp_path: Path) -> None:
    make_wheel("torch", "2.13.0+cpu", requires=('new ; python_version >= "3.13"', 'old ; python_version < "3.13"'))
    for name in ("numpy", "new", "old"):
        make_wheel(name, "1.0")
    assert "new" in versions(resolve(request_for(shelf, DEBIAN_13), tmp_path))
    assert "new" not in versions(resolve(request_for(shelf, DEBIAN_12), tmp_path))


def test_wheel_for_a_newer_c_library_is_not_taken(shelf: Path, make_wheel: MakeWheel, tmp_path: Path) -> None:
    make_wheel("torch", "2.13.0+cpu", tag="cp311-cp311-manylinux_2_28_x86_64")
    make_wheel("torch", "2.14.0+cpu", tag="cp311-cp311-manylinux_2_39_x86_64")
    make_wheel("numpy", "2.4.6")
    assert versions(resolve(request_for(shelf), tmp_path))["torch"] == "2.13.0+cpu"


def test_second_time_needs_no_pip(
    shelf: Path, make_wheel: MakeWheel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel("torch", "2.13.0+cpu")
    make_wheel("numpy", "2.4.6")
    first = resolve(request_for(shelf), tmp_path)
    monkeypatch.setattr(wheels, "run_pip", lambda *_: pytest.fail("pip was started"))
    second = resolve(request_for(shelf), tmp_path)
    assert (first.resolved_now, second.resolved_now) == (True, False)
    assert second.wheels == first.wheels
    assert second.hash == first.hash


def test_set_that_lost_a_file_is_resolved_again(shelf: Path, make_wheel: MakeWheel, tmp_path: Path) -> None:
    make_wheel("torch", "2.13.0+cpu")
    make_wheel("numpy", "2.4.6")
    first = resolve(request_for(shelf), tmp_path)
    (first.directory / first.wheels[0].filename).unlink()
    assert resolve(request_for(shelf), tmp_path).resolved_now


def test_two_callers_resolve_once(shelf: Path, make_wheel: MakeWheel, tmp_path: Path) -> None:
    make_wheel("torch", "2.13.0+cpu")
    make_wheel("numpy", "2.4.6")
    with ThreadPoolExecutor(2) as pool:
        locks = list(pool.map(lambda _: resolve(request_for(shelf), tmp_path), range(2)))
    assert sorted(lock.resolved_now for lock in locks) == [False, True]


def test_failure_names_what_is_missing_and_leaves_nothing(shelf: Path, make_wheel: MakeWheel, tmp_path: Path) -> None:
    make_wheel("torch", "2.13.0+cpu")
    with pytest.raises(WheelsError, match=r"could not be resolved for Python 3\.11") as caught:
        resolve(request_for(shelf), tmp_path)
    assert "numpy" in str(caught.value.why)
    assert [path.name for path in (tmp_path / "cache").iterdir() if path.is_dir()] == []


def test_key_counts_wishes_and_minor_versions_only() -> None:
    base = Request("pytorch", DEBIAN_12)
    assert base.key == Request("pytorch", Target("3.11.9", "x86_64", "2.36")).key
    assert base.key != Request("pytorch", DEBIAN_13).key
    assert base.key != Request("pytorch", DEBIAN_12, packages=("numpy",)).key
    assert base.key != Request("pytorch", Target("3.11.2", "x86_64", "2.36", "cuda")).key


def test_requests_of_a_site_equal_those_of_the_role() -> None:
    assert wheels.requests_of({}, DEBIAN_12) == [Request("pytorch", DEBIAN_12)]
    several = wheels.requests_of({"dl_frameworks": ["tensorflow"], "dl_versions": {"tensorflow": 2.1}}, DEBIAN_12)
    assert several == [Request("tensorflow", DEBIAN_12, version="2.1")]


@pytest.mark.parametrize(
    ("version", "offered", "cuda", "wanted"),
    [
        ("", ["2.15.0", "2.13.0+cpu", "2.13.0"], False, "torch==2.13.0+cpu"),
        ("", ["2.15.0", "2.13.0+cpu", "2.13.0"], True, "torch!=2.13.0+cpu"),
        ("2.13.0", ["2.15.0", "2.13.0+cpu", "2.13.0"], True, "torch==2.13.0,!=2.13.0+cpu"),
        ("2.13.0", ["2.15.0+cpu", "2.13.0+cpu"], False, "torch==2.13.0+cpu"),
        ("2.7.1+cu126", [], True, "torch==2.7.1+cu126"),
        ("2.12.0", ["2.12.0"], False, "torch==2.12.0"),
    ],
)
def test_pick_build(version: str, offered: list[str], cuda: bool, wanted: str) -> None:
    assert wheels.pick_build("torch", version, offered, cuda=cuda)[0] == wanted


def test_tensorflow_has_a_cpu_project_on_x86_only() -> None:
    arm = Target("3.11.2", "aarch64", "2.36")
    assert wheels.requirements_for(Request("tensorflow", DEBIAN_12))[0][0] == "tensorflow-cpu"
    assert wheels.requirements_for(Request("tensorflow", arm))[0][0] == "tensorflow"
    gpu = Target("3.11.2", "x86_64", "2.36", "cuda")
    assert wheels.requirements_for(Request("tensorflow", gpu, version="2.21.0"))[0][0] == "tensorflow[and-cuda]==2.21.0"
