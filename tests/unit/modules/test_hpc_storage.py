"""Decisions of hpc_storage from what the kernel says (real lines of /proc/self/mountinfo)."""

from __future__ import annotations

import pytest
from module_loader import load_module

storage = load_module("hpc_storage")

ROOT = "520 480 0:53 / / rw,relatime - overlay overlay rw,lowerdir=/x,upperdir=/y,workdir=/z\n"
DISK_ROOT = "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
VOLUME = "605 520 254:0 /var/lib/containers/v/_data /shared rw,nosuid,nodev - ext4 /dev/vda rw\n"
NFS = "70 22 0:60 / /shared rw,noatime shared:9 - nfs4 10.1.0.2:/shared rw,vers=4.2,hard\n"
AUTOFS = "69 22 0:59 / /shared rw,relatime shared:8 - autofs systemd-1 rw,fd=45\n"
LUSTRE = "71 22 0:61 / /shared rw - lustre 10.1.0.9@tcp:/fs rw\n"
MOUNT = {"path": "/shared", "action": "nfs", "what": "10.1.0.2:/shared", "unit": "shared.mount", "check": "mount"}
OUTSIDE = MOUNT | {"action": "external", "what": ""}


def server(text: str, has_nfsd: bool, backend: str = "auto") -> str:
    """The decision of a storage host that exports /shared."""
    decided: str = storage.decide_server(backend, "store", ["/shared"], storage.parse_mountinfo(text), has_nfsd, [])
    return decided


def client(text: str, mount: dict[str, str] = MOUNT, backend: str = "auto", ours: bool = False) -> str:
    """The decision of a host that uses /shared."""
    decided: str = storage.decide_mount(backend, "node01", mount, storage.parse_mountinfo(text), ours)
    return decided


def test_kernel_serves_where_it_can() -> None:
    assert server(DISK_ROOT, has_nfsd=True) == "kernel"
    assert server(ROOT + VOLUME, has_nfsd=True) == "kernel"


# NFS-04
def test_shared_volume_is_used_where_the_kernel_has_no_nfsd() -> None:
    assert server(ROOT + VOLUME, has_nfsd=False) == "external"


def test_parallel_file_system_is_not_exported_again() -> None:
    assert server(DISK_ROOT + LUSTRE, has_nfsd=True) == "external"


# NFS-04
def test_no_nfsd_and_nothing_mounted_is_an_error_with_a_way_out() -> None:
    with pytest.raises(storage.StorageError) as error:
        server(ROOT, has_nfsd=False)
    assert str(error.value) == (
        "store cannot serve /shared: its kernel has no nfsd, and nothing is mounted there from outside. "
        "Use nfs_backend: ganesha, or mount a shared volume there on all hosts"
    )


def test_overlay_cannot_be_exported() -> None:
    with pytest.raises(storage.StorageError, match="/shared lies on the overlay of a container"):
        server(ROOT, has_nfsd=True)


def test_choice_of_the_site_stands() -> None:
    assert server(ROOT + VOLUME, has_nfsd=True, backend="ganesha") == "ganesha"
    with pytest.raises(storage.StorageError, match="the kernel of store has no nfsd"):
        server(DISK_ROOT, has_nfsd=False, backend="kernel")


def test_client_mounts_what_is_not_there() -> None:
    assert client(DISK_ROOT) == "nfs"
    assert client(DISK_ROOT + AUTOFS + NFS, ours=True) == "nfs"
    # Mounted by hand or by fstab, from the right place.
    assert client(DISK_ROOT + NFS) == "nfs"


def test_client_keeps_what_somebody_else_mounted() -> None:
    assert client(ROOT + VOLUME) == "external"
    with pytest.raises(storage.StorageError, match=r"/shared on node01 is already a mount of /dev/vda \(ext4\)"):
        client(ROOT + VOLUME, backend="kernel")


def test_path_from_outside_has_to_be_a_mount_unless_a_directory_will_do() -> None:
    assert client(ROOT + VOLUME, OUTSIDE) == "external"
    assert client(ROOT, OUTSIDE | {"check": "directory"}) == "external"
    with pytest.raises(storage.StorageError, match="/shared is no mount on node01, and no host of group storage"):
        client(ROOT, OUTSIDE)


@pytest.mark.parametrize(
    ("text", "mount", "complaint"),
    [
        (DISK_ROOT + AUTOFS, MOUNT, "/shared is not mounted on node01: journalctl -u shared.mount"),
        (
            DISK_ROOT + NFS,
            MOUNT | {"what": "10.1.0.3:/shared"},
            "is mounted from 10.1.0.2:/shared, the site says 10.1.0.3",
        ),
        (ROOT + VOLUME.replace("rw,nosuid", "ro,nosuid"), OUTSIDE, "/shared is mounted read-only on node01"),
        (ROOT, OUTSIDE, "/shared is no mount on node01"),
    ],
)
def test_what_is_wrong_with_a_mount_is_said(text: str, mount: dict[str, str], complaint: str) -> None:
    with pytest.raises(storage.StorageError, match=complaint):
        storage.check_mount("node01", mount, storage.parse_mountinfo(text))


@pytest.mark.parametrize(
    ("text", "mount"),
    [
        (DISK_ROOT + AUTOFS + NFS, MOUNT),
        (ROOT + VOLUME, OUTSIDE),
        (NFS.replace("rw,", "ro,"), MOUNT | {"options": "ro"}),
    ],
)
def test_good_mounts_pass(text: str, mount: dict[str, str]) -> None:
    storage.check_mount("node01", mount, storage.parse_mountinfo(text))


def test_space_in_a_mount_point_is_read() -> None:
    line = "22 1 254:0 / /a\\040b rw - ext4 /dev/vda rw\n"
    assert list(storage.parse_mountinfo(line)) == ["/a b"]
