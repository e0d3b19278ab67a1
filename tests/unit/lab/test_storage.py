"""Shared paths: kernel NFS or volumes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hpcprov.errors import LabError
from hpcprov.lab.host import HostFacts
from hpcprov.lab.storage import Mount, mounts_of, uses_kernel_nfs
from hpcprov.site import Site

Facts = Callable[..., HostFacts]
Sites = Callable[..., Site]
NFS_KERNEL = frozenset({"overlay", "nfs", "nfsd"})


@pytest.mark.parametrize(
    ("backend", "filesystems", "kernel"),
    [
        ("auto", frozenset(), False),
        ("auto", NFS_KERNEL, True),
        ("auto", frozenset({"nfs"}), False),
        ("ganesha", frozenset({"nfs"}), True),
        ("external", NFS_KERNEL, False),
    ],
)
def test_backend(site: Sites, facts: Facts, backend: str, filesystems: frozenset[str], kernel: bool) -> None:
    assert (
        uses_kernel_nfs(
            site(f"nfs_exports: [{{path: /shared}}]\n    nfs_backend: {backend}"), facts(filesystems=filesystems)
        )
        is kernel
    )


def test_modules_that_can_be_loaded_count(site: Sites, facts: Facts) -> None:
    assert uses_kernel_nfs(site(), facts(modules=frozenset({"nfs", "nfsd"})))


def test_without_kernel_nfs_every_node_mounts_the_same_volume(site: Sites) -> None:
    made = site("nfs_exports: [{path: /srv/data}]\n    nfs_mounts: [{path: /data, export: /srv/data}]")
    volume = "hpcprov-tiny-srv-data"
    compute = mounts_of(made, made.hosts["node01"], kernel_nfs=False)
    store = mounts_of(made, made.hosts["store"], kernel_nfs=False)
    assert compute == [Mount(volume, "/data")]
    assert store == [Mount(volume, "/data"), Mount(volume, "/srv/data")]


def test_with_kernel_nfs_only_the_server_has_a_volume(site: Sites) -> None:
    made = site("nfs_exports: [{path: /shared}]")
    assert mounts_of(made, made.hosts["node01"], kernel_nfs=True) == []
    assert mounts_of(made, made.hosts["store"], kernel_nfs=True) == [Mount("hpcprov-tiny-shared", "/shared")]


def test_exports_alone_are_mounted_under_their_own_path(site: Sites) -> None:
    made = site("nfs_exports: [{path: /shared}]")
    assert mounts_of(made, made.hosts["node01"], kernel_nfs=False) == [Mount("hpcprov-tiny-shared", "/shared")]


def test_a_site_without_shared_paths_has_no_volumes(site: Sites) -> None:
    made = site()
    without = replace(made, vars={key: value for key, value in made.vars.items() if key != "nfs_exports"})
    assert mounts_of(without, made.hosts["store"], kernel_nfs=False) == []


def test_the_root_directory_is_refused(site: Sites) -> None:
    made = site()
    broken = replace(made, vars={**made.vars, "nfs_mounts": [{"path": "/"}]})
    with pytest.raises(LabError, match="absolute path"):
        mounts_of(broken, made.hosts["node01"], kernel_nfs=False)
