"""Shared directories: who serves what, and the files and units of each host."""

from __future__ import annotations

import shutil
import subprocess
from typing import Any

import pytest
from hpcprov import nfs

GROUPS = {"storage": ["store"], "controller": ["head"], "compute": ["node01"]}
DIRECTORIES = [{"path": "/shared/smoke", "owner": 64100, "group": 64100, "mode": "0755"}]


def site(**common: Any) -> dict[str, dict[str, Any]]:
    """Host variables of a small site."""
    base = {"cluster_network": "10.1.0.0/16", "nfs_exports": [{"path": "/shared"}]} | common
    addresses = {"store": "10.1.0.2", "head": "10.1.0.1", "node01": "10.1.0.11"}
    return {host: base | {"cluster_address": address} for host, address in addresses.items()}


def plan(host: str, hostvars: dict[str, dict[str, Any]] | None = None, **options: Any) -> dict[str, Any]:
    """The plan of one host, after a probe that found kernel NFS unless told otherwise."""
    options = {"backend": "auto", "directories": DIRECTORIES, "probed": {"nfs_backend": "kernel"}} | options
    return nfs.plan(GROUPS, hostvars or site(), host, **options)


def content(planned: dict[str, Any], dest: str) -> str:
    """Content of one planned file, without its header."""
    (found,) = [file["content"] for file in planned["files"] if file["dest"] == dest]
    text: str = found
    return text.removeprefix(nfs.HEADER)


def test_kernel_server_exports_to_the_cluster_network_only_with_root_squash() -> None:
    planned = plan("store")
    assert (
        content(planned, "/etc/exports.d/hpcprov.exports")
        == "/shared 10.1.0.0/16(rw,sync,no_subtree_check,root_squash)\n"
    )
    assert [service["name"] for service in planned["services"]] == ["nfs-server"]


def test_export_waits_for_its_disk() -> None:
    drop_in = content(plan("store"), "/etc/systemd/system/nfs-server.service.d/hpcprov.conf")
    assert "RequiresMountsFor=/shared" in drop_in


def test_client_mounts_on_first_use() -> None:
    planned = plan("node01", probed={"actions": {"/shared": "nfs"}})
    assert "What=10.1.0.2:/shared\nWhere=/shared\nType=nfs\n" in content(planned, "/etc/systemd/system/shared.mount")
    assert "WantedBy=remote-fs.target" in content(planned, "/etc/systemd/system/shared.automount")
    assert planned["services"] == [{"name": "shared.automount"}]


# INV-17
def test_server_does_not_mount_itself() -> None:
    planned = plan("store")
    assert [mount["action"] for mount in planned["mounts"]] == ["none"]
    assert not [file for file in planned["files"] if file["dest"].endswith("mount")]


def test_server_binds_its_own_share_where_the_path_differs() -> None:
    hostvars = site(nfs_exports=[{"path": "/export"}], nfs_mounts=[{"path": "/shared", "export": "/export"}])
    planned = plan("store", hostvars)
    assert "What=/export\nWhere=/shared\nType=none\nOptions=bind" in content(
        planned, "/etc/systemd/system/shared.mount"
    )
    assert [service["name"] for service in planned["services"]] == ["nfs-server", "shared.mount"]


@pytest.mark.parametrize("client", ["*", "0.0.0.0/0", "::/0"])
def test_export_to_everybody_is_refused(client: str) -> None:
    with pytest.raises(nfs.NfsError, match="/shared would be open to everybody"):
        plan("store", site(nfs_clients=[client]))


def test_clients_and_options_of_one_export_win() -> None:
    exports = [{"path": "/a", "clients": ["10.2.0.0/16", "login.example.org"], "options": "ro"}]
    planned = plan("store", site(nfs_exports=exports))
    assert content(planned, "/etc/exports.d/hpcprov.exports") == "/a 10.2.0.0/16(ro) login.example.org(ro)\n"


def test_ganesha_squashes_root_and_knows_its_clients() -> None:
    planned = plan("store", probed={"nfs_backend": "ganesha"})
    exports = content(planned, "/etc/ganesha/hpcprov-exports.conf")
    assert "Squash = Root_Squash;" in exports
    assert "Clients = 10.1.0.0/16;" in exports
    assert "Access_Type = NONE;" in exports
    assert {"dest": "/etc/exports.d/hpcprov.exports", "state": "absent"} in planned["files"]


@pytest.mark.parametrize(
    ("options", "squash", "access"),
    [("rw", "Root_Squash", "RW"), ("ro,all_squash", "All_Squash", "RO"), ("rw,no_root_squash", "No_Root_Squash", "RW")],
)
def test_options_mean_the_same_to_ganesha(options: str, squash: str, access: str) -> None:
    export = nfs.Export("/a", ("10.1.0.0/16",), options)
    assert (export.squash, export.access) == (squash, access)


def test_mount_from_a_server_outside_the_site() -> None:
    hostvars = site(nfs_mounts=[{"path": "/scratch", "server": "nas", "export": "/vol/s", "options": "vers=3"}])
    (mount,) = plan("node01", hostvars)["mounts"]
    assert (mount["what"], mount["options"], mount["action"]) == ("nas:/vol/s", "vers=3", "nfs")


def test_mount_that_nobody_exports_is_an_error_unless_it_may_come_from_outside() -> None:
    hostvars = site(nfs_mounts=[{"path": "/home"}])
    with pytest.raises(nfs.NfsError, match="nfs_mounts: nobody exports /home"):
        plan("node01", hostvars, backend="kernel")
    assert plan("node01", hostvars)["mounts"][0]["action"] == "external"


def test_external_backend_changes_nothing_but_directories() -> None:
    assert plan("node01", backend="external", probed={"actions": {}})["files"] == []
    assert plan("store", backend="external", probed={"nfs_backend": "external"})["services"] == []


def test_two_servers_of_one_path_are_ambiguous() -> None:
    hostvars = site()
    hostvars["store2"] = dict(hostvars["store"])
    groups = GROUPS | {"storage": ["store", "store2"]}
    with pytest.raises(nfs.NfsError, match="/shared is exported by store and store2"):
        nfs.plan(groups, hostvars, "node01", backend="kernel")


def test_hosts_that_disagree_about_the_source_are_told() -> None:
    hostvars = site()
    hostvars["store"]["nfs_backend_used"] = "external"
    with pytest.raises(nfs.NfsError, match="nothing is mounted there on node01"):
        plan("node01", hostvars, probed={"actions": {"/shared": "nfs"}})
    hostvars["store"]["nfs_backend_used"] = "kernel"
    with pytest.raises(nfs.NfsError, match="node01 has something else mounted"):
        plan("node01", hostvars, probed={"actions": {"/shared": "external"}})


def test_directories_are_made_where_root_may() -> None:
    made = {"state": "directory", "dest": "/shared/smoke", "owner": "64100", "group": "64100", "mode": "0755"}
    assert made in plan("store")["files"]
    assert made not in plan("node01")["files"]
    outside = nfs.plan(
        {"controller": ["head"]}, site(nfs_exports=[], nfs_mounts=[{"path": "/shared"}]), "head",
        backend="external", directories=DIRECTORIES,
    )  # fmt: skip
    assert made in outside["files"]


def test_directory_on_no_share_is_said_not_made() -> None:
    planned = plan("store", site(nfs_exports=[{"path": "/data"}]))
    assert planned["notices"] == ["/shared/smoke lies on no shared directory of the site and was not made"]


@pytest.mark.parametrize("path", ["relative", "/", "/a b", '/a"b'])
def test_path_that_cannot_be_shared_is_named(path: str) -> None:
    with pytest.raises(nfs.NfsError, match="nfs_exports: "):
        plan("store", site(nfs_exports=[{"path": path}]))


@pytest.mark.parametrize(
    ("path", "unit"),
    [("/shared", "shared.mount"), ("/a/b-c", r"a-b\x2dc.mount"), ("/.x", r"\x2ex.mount"), ("/dä", r"d\xc3\xa4.mount")],
)
def test_unit_names(path: str, unit: str) -> None:
    assert nfs.unit_name(path, "mount") == unit


@pytest.mark.skipif(not shutil.which("systemd-escape"), reason="no systemd-escape on this machine")
@pytest.mark.parametrize("path", ["/shared", "/a/b-c/d_e.f", "/.x/y", "/a:b@c+d"])
def test_unit_names_are_those_of_systemd(path: str) -> None:
    command = ["systemd-escape", "--path", "--suffix=mount", path]
    assert (
        nfs.unit_name(path, "mount")
        == subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    )
