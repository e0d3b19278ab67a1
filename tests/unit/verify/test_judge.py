"""Judgements of what real hosts printed: Debian 12 (Slurm 22.05) unless said otherwise."""

import pytest
from hpcprov.verify import judge
from hpcprov.verify.remote import configuration, disks, jobs

SLURMD_C = (
    "NodeName=node01 CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=24105\n"
    "UpTime=0-01:11:54"
)
SHOW_NODE = (
    "NodeName=node01 Arch=x86_64 CoresPerSocket=2  CPUAlloc=0 CPUEfctv=2 CPUTot=2 CPULoad=9.54 "
    "AvailableFeatures=(null) ActiveFeatures=(null) Gres=(null) NodeAddr=node01 "
    "NodeHostName=node01 Version=22.05.8 OS=Linux 6.18.44 #1 SMP "
    "RealMemory=2000 AllocMem=0 FreeMem=7514 Sockets=1 Boards=1 State=IDLE ThreadsPerCore=1 TmpDisk=0 Weight=1 "
    "Owner=N/A Partitions=main BootTime=2026-12-01T11:54:05 CfgTRES=cpu=2,mem=2000M,billing=2 AllocTRES= CapWatts=n/a\n"
)


def test_less_than_measured_is_a_choice():
    node = jobs.parse_nodes(SHOW_NODE)["node01"]
    assert (node["cpus"], node["cores"], node["memory"], node["port"]) == (2, 2, 2000, None)
    assert judge.over_promised(node, SLURMD_C) == []
    assert judge.over_promised({**node, "cpus": 1, "cores": 1}, SLURMD_C) == []


@pytest.mark.parametrize(
    ("promised", "said"),
    [
        ({"cpus": 64}, "CPUs=64, 2 are there"),
        ({"memory": 24106}, "RealMemory=24106, 24105 are there"),
        ({"cores": 4}, "cores (Sockets x CoresPerSocket)=4, 2 are there"),
    ],
)
def test_more_than_measured_never_is(promised, said):
    node = jobs.parse_nodes(SHOW_NODE)["node01"]
    assert judge.over_promised({**node, **promised}, SLURMD_C) == [said]


def test_threads_may_be_promised_as_cpus():
    text = "NodeName=n CPUs=128 Boards=1 SocketsPerBoard=2 CoresPerSocket=32 ThreadsPerCore=2 RealMemory=515000"
    assert judge.over_promised({"cpus": 128, "memory": 489250, "cores": 64}, text) == []
    assert judge.over_promised({"cpus": 128, "memory": 489250, "cores": 128}, text) == []  # CPUs=128 alone


def test_slurmd_c_that_says_nothing_is_an_error():
    with pytest.raises(ValueError, match="no usable"):
        judge.over_promised({"cpus": 1, "memory": 1}, "slurmd: error: nothing")


@pytest.mark.parametrize(
    ("older", "newer", "said"),
    [
        ("22.05.8", "22.05.8", None),
        ("22.05.8", "23.11.4", None),
        ("22.05.8", "24.05.1", "22.05.8 is more than 2 releases behind 24.05.1"),
        ("24.11.5", "22.05.8", "24.11.5 is newer than 22.05.8"),
        ("22.05.9", "22.05.8", None),  # within a release any order works
        ("19.05.1", "22.05.8", None),  # a release that we do not know is nobody's fault
    ],
)
def test_upgrade_window(older, newer, said):
    assert judge.version_order(older, newer) == said


def disk(**other):
    return {"free_mib": 61166, "size_mib": 258019, "free_inodes": 16155901, "read_only": False, **other}


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({}, None),
        ({"free_mib": 3}, "3 of 258019 MiB free"),
        ({"free_inodes": 0}, "0 inodes free"),
        ({"free_inodes": None}, None),  # btrfs has no fixed number
        ({"read_only": True}, "read-only"),
        ({"size_mib": 64, "free_mib": 40}, None),  # a small tmpfs that is empty
        ({"size_mib": 64, "free_mib": 0}, "0 of 64 MiB free"),
    ],
)
def test_disks(other, said):
    assert judge.full(disk(**other)) == said


def test_addresses_outside_the_cluster_network():
    assert judge.outside(["10.89.102.21", "172.17.0.1"], ["10.89.102.0/24"]) == ["172.17.0.1"]
    assert judge.outside(["10.89.102.21", "10.1.0.1"], ["10.89.102.0/24", "10.1.0.0/16"]) == []


@pytest.mark.parametrize(
    ("port", "configured", "right"),
    [("6817", "6817", True), ("6820", "6817-6820", True), ("0", "6817", False), ("", "6817", False)],
)
def test_registered_port(port, configured, right):
    assert judge.in_ports(port, configured) is right


def test_registered_host():
    assert judge.names_controller("10.89.102.11", ["10.89.102.11", "head"])
    assert judge.names_controller("head.cluster.internal", ["10.89.102.11", "head"])
    assert not judge.names_controller("10.89.102.12", ["10.89.102.11", "head"])


def test_comments_and_spaces_are_no_difference_of_configuration():
    assert configuration.digest("# by hand\n\nClusterName = a  # x\n") == configuration.digest("ClusterName = a\n")
    assert configuration.digest("ClusterName=a\n") != configuration.digest("ClusterName=b\n")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("ClusterName=a\nAccountingStoragePass=secret\n", True),
        ("StoragePass=secret\n", True),
        ("AccountingStoragePass=/run/munge/other.socket.2\n", False),  # a socket of munge
        ("# StoragePass=secret\nPassThrough=1\n", False),
    ],
)
def test_passwords_in_files_that_everybody_reads(text, wrong):
    assert configuration.has_password(text) is wrong


def test_a_directory_that_anybody_writes_to_opens_all_below(tmp_path):
    shared = tmp_path / "open"
    (shared / "state").mkdir(parents=True)
    shared.chmod(0o777)
    assert configuration.with_parents(str(shared / "state"))["open"][0] == str(shared)
    assert configuration.with_parents(str(tmp_path / "no")) is None


@pytest.mark.parametrize(("text", "cluster"), [("vf", "vf"), ("vf\n", "vf"), ("vf:7\n", "vf"), ("", None)])
def test_cluster_of_a_state_directory(tmp_path, text, cluster):
    (tmp_path / "clustername").write_text(text)
    assert configuration.state_cluster(str(tmp_path)) == cluster
    assert configuration.state_cluster(None) is None


def test_local_files_are_compared_by_what_they_say(tmp_path, monkeypatch):
    monkeypatch.setattr(configuration, "slurm_conf_variable", lambda user: {})
    (tmp_path / "slurm.conf").write_text("ClusterName=old\nSlurmctldHost=elsewhere(10.0.0.9)\n")
    found = configuration.of_host(str(tmp_path), None, "nobody")
    assert found["local_controller"] == "elsewhere(10.0.0.9)"
    assert found["local"]["gres.conf"] is None and found["cached"] is None


MOUNTS = (
    "overlay / overlay rw 0 0\n/dev/vda /shared ext4 ro,nosuid 0 0\nstore:/home /home nfs4 rw,hard 0 0\n"
    "store:/odd /with\\040space nfs4 rw 0 0\n"
)
FSTAB = (
    "# comment\nstore:/home /home nfs4 rw,hard 0 0\nstore:/x /x nfs4 rw,noauto,x-systemd.automount 0 0\n"
    "store:/y /y nfs4 noauto 0 0\n"
)


def test_mounts_and_fstab_are_read():
    points = disks.mounts(MOUNTS)
    assert points["/with space"]["type"] == "nfs4"
    assert disks.mount_point("/home/alice", points) == "/home"
    assert disks.mount_point("/tmp/x", points) == "/"
    assert disks.fstab(FSTAB)["/home"] == "rw,hard"


def test_what_comes_back_at_boot(monkeypatch):
    files = {"/proc/mounts": MOUNTS, "/etc/fstab": FSTAB}
    monkeypatch.setattr(disks, "read", lambda path: files.get(path, ""))
    monkeypatch.setattr(disks, "unit_enabled", lambda path: path == "/unit")
    found = disks.boot_mounts(["/home", "/x", "/y", "/unit", "/none"])
    assert {path: facts["at_boot"] for path, facts in found.items()} == {
        "/home": True, "/x": True, "/y": False, "/unit": True, "/none": False,
    }  # fmt: skip
    assert found["/home"]["now"]["type"] == "nfs4" and found["/none"]["now"] is None


def test_network_file_systems_are_not_asked_for_room(monkeypatch):
    monkeypatch.setattr(
        disks, "read", lambda path: MOUNTS.replace("overlay /", "store:/root /", 1).replace(" overlay ", " nfs4 ")
    )
    assert disks.local(["/home", "/"]) == {}
