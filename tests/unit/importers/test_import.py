"""`hpcprov import`: the command, several files together, and the field cases."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import yaml
from hpcprov.importers.addresses import mac
from hpcprov.importers.formats import FORMATS, format_of
from hpcprov.importers.groups import guessed_roles, roles_of
from hpcprov.importers.notes import Fate, Note
from hpcprov.importers.run import Imported, import_files
from hpcprov.main import main
from hpcprov.site import check_site, load_site
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

CASES = Path(__file__).parent / "cases"
SLURM = "ClusterName=c\nSlurmctldHost=head(10.1.0.1)\n"
PARTITION = "PartitionName=p Nodes=ALL Default=YES\n"


def from_texts(folder: Path, **texts: str) -> Imported:
    """Import texts; names have `_` for the dot: slurm_conf."""
    paths = []
    for name, text in texts.items():
        path = folder / name.replace("_", ".")
        path.write_text(text)
        paths.append(path)
    return import_files(paths, Path("site.yaml"))


def site_of(result: Imported) -> dict[str, dict[str, dict[str, object]]]:
    data: dict[str, dict[str, dict[str, object]]] = yaml.safe_load(result.text)
    return data


def variables_of(result: Imported) -> dict[str, object]:
    return site_of(result)["all"]["vars"] or {}


def told(result: Imported, *fates: Fate) -> dict[str, str]:
    return {note.what: note.result for note in result.notes if note.fate in fates}


def test_slm_22_obsolete_keys_are_mapped_and_told(tmp_path: Path) -> None:
    result = from_texts(
        tmp_path,
        slurm_conf="ClusterName=c\nControlMachine=head\nControlAddr=10.1.0.1\nBackupController=head2\n"
        "FastSchedule=1\nSelectType=select/cons_res\nAccountingStoreJobComment=YES\nCacheGroups=0\nJobAcctFrequency=9\n"
        "NodeName=n1 NodeAddr=10.1.0.9 Procs=4 RealMemory=100\n" + PARTITION,
    )
    site = site_of(result)
    assert site["controller"]["hosts"] == {"head": {"ansible_host": "10.1.0.1"}, "head2": None}
    assert variables_of(result)["slurm_config"] == {"AccountingStoreFlags": "job_comment", "JobAcctGatherFrequency": 9}
    changed = told(result, Fate.CHANGED)
    assert changed["ControlMachine=head"] == "host head of group controller"
    assert changed["FastSchedule=1"] == "dropped: Slurm ignores it"
    assert changed["SelectType=select/cons_res"] == "select/cons_tres, which hpcprov writes itself"
    assert changed["CacheGroups=0"].startswith("dropped")


def test_slm_22_fast_schedule_2_keeps_the_numbers(tmp_path: Path) -> None:
    result = from_texts(
        tmp_path, slurm_conf=SLURM + "FastSchedule=2\nNodeName=n1 CPUs=64 RealMemory=900000\n" + PARTITION
    )
    assert variables_of(result)["slurm_config"] == {"SlurmdParameters": "config_overrides"}
    node = site_of(result)["compute"]["hosts"]["n1"]
    assert node == {"slurm_node": {"CPUs": 64, "RealMemory": 900000}}


def test_hardware_is_measured_and_memory_stays_promised(tmp_path: Path) -> None:
    line = "NodeName=n[1-2] CPUs=64 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 RealMemory=500000\n"
    result = from_texts(tmp_path, slurm_conf=SLURM + line + PARTITION)
    assert site_of(result)["compute"]["children"]["n_nodes"] == {
        "hosts": {"n[1:2]": None},
        "vars": {"slurm_node": {"RealMemory": 500000}},
    }
    assert "each node is measured" in told(result, Fate.CHANGED)["CPUs=64"]


def test_slm_17_partition_lines_are_merged(tmp_path: Path) -> None:
    lines = "NodeName=n1\nPartitionName=p Nodes=n1 Default=YES\nPartitionName=p MaxTime=60 Shared=YES\n"
    result = from_texts(tmp_path, slurm_conf=SLURM + lines)
    assert variables_of(result)["slurm_partitions"] == [
        {"name": "p", "nodes": "n1", "default": True, "max_time": 60, "OverSubscribe": "YES"}
    ]


def test_slm_11_and_15_node_twice_and_unknown_node(tmp_path: Path) -> None:
    lines = "NodeName=n[1-2] Weight=5\nNodeName=n2 Weight=6\nPartitionName=p Nodes=n[1-3] Default=YES\n"
    result = from_texts(tmp_path, slurm_conf=SLURM + lines)
    assert list(site_of(result)["compute"]["children"]["n_nodes"]["hosts"]) == ["n[1:2]"]
    assert told(result, Fate.LEFT)["Weight=6"] == "the first line of the node counts"
    assert told(result, Fate.LEFT)["Nodes=n3"] == "no NodeName defines it"


def test_slm_32_a_number_of_gpus_is_no_type(tmp_path: Path) -> None:
    result = from_texts(tmp_path, slurm_conf=SLURM + "GresTypes=gpu\nNodeName=n1 Gres=gpu:8(S:0-1)\n" + PARTITION)
    assert site_of(result)["compute"]["hosts"]["n1"] == {"slurm_gres": "gpu:8"}


def test_slm_25_topology_is_told_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n")
    result = from_texts(tmp_path, slurm_conf=SLURM + "TopologyPlugin=topology/tree\nNodeName=n[1-2]\n" + PARTITION)
    left = told(result, Fate.LEFT)
    assert {"TopologyPlugin=topology/tree", "SwitchName=a", "SwitchName=b"} <= set(left)
    assert "slurm_config" not in variables_of(result)


def test_cgr_04_old_cgroup_keys_go(tmp_path: Path) -> None:
    old = "CgroupAutomount=yes\nTaskAffinity=no\nConstrainKmemSpace=no\n"
    (tmp_path / "cgroup.conf").write_text(old + "MaxRAMPercent=90\nConstrainCores=yes\n")
    result = from_texts(tmp_path, slurm_conf=SLURM + "NodeName=n1\n" + PARTITION)
    assert variables_of(result)["slurm_cgroup_config"] == {"MaxRAMPercent": 90}
    assert set(old.split()) <= set(told(result, Fate.CHANGED))


def test_sec_01_passwords_stay_behind(tmp_path: Path) -> None:
    (tmp_path / "slurmdbd.conf").write_text("DbdHost=head\nStorageType=accounting_storage/mysql\nStoragePass=geheim7\n")
    result = from_texts(
        tmp_path, slurm_conf=SLURM + "AccountingStoragePass=geheim7\nJobCompPass=geheim7\nNodeName=n1\n" + PARTITION
    )
    assert "geheim7" not in result.text + repr(result.notes)
    left = [note for note in result.notes if note.fate is Fate.LEFT]
    assert [note.key for note in left] == ["AccountingStoragePass", "JobCompPass", "StoragePass"]
    assert all(note.hint for note in left)


def test_files_that_hosts_need_are_kept_as_comments(tmp_path: Path) -> None:
    result = from_texts(tmp_path, slurm_conf=SLURM + "Epilog=/etc/slurm/epilog\nNodeName=n1\n" + PARTITION)
    assert "    # Epilog: /etc/slurm/epilog   # put its files on the hosts first\n" in result.text
    assert "Epilog=/etc/slurm/epilog" in told(result, Fate.LEFT)


@pytest.mark.parametrize(
    "text", ["52:54:00:AB:CD:EF", "52-54-00-ab-cd-ef", "525400ABCDEF", "5254.00ab.cdef", " 52:54:00:ab:cd:ef "]
)
def test_pxe_01_mac_notations(text: str) -> None:
    assert mac(text) == "52:54:00:ab:cd:ef"


@pytest.mark.parametrize("text", ["xx:yy:zz:aa:bb:cc", "52:54:00:ab:cd", "52:54-00:ab:cd:ef:00", "5254", ""])
def test_pxe_01_what_is_no_mac(text: str) -> None:
    assert mac(text) is None


def test_pxe_01_mac_that_yaml_reads_as_a_number(tmp_path: Path) -> None:
    text = "compute:\n  hosts:\n    n1: {mac: 52:54:00:12:34:56, ip: 10.0.0.1}\n"
    result = from_texts(tmp_path, nodes_yml=text)
    assert site_of(result)["compute"]["hosts"]["n1"]["cluster_mac"] == "52:54:00:12:34:56"


def test_pxe_03_duplicate_mac_is_told_with_both_hosts(tmp_path: Path) -> None:
    result = from_texts(tmp_path, nodes_csv="hostname,mac\nn1,525400ABCDEF\nn2,52-54-00-ab-cd-ef\n")
    assert "n2 and n1 both have the MAC address 52:54:00:ab:cd:ef" in [note.result for note in result.notes]


def test_inv_26_placeholders_are_not_carried(tmp_path: Path) -> None:
    text = "hostname,mac,ip\n<NODE_HOSTNAME>,52:54:00:00:00:01,10.0.0.1\nn1,XX:XX:XX:XX:XX:XX,\n"
    result = from_texts(tmp_path, nodes_csv=text)
    assert site_of(result)["compute"]["hosts"] == {"n1": None}
    assert set(told(result, Fate.LEFT)) == {
        *("hostname=<NODE_HOSTNAME>", "mac=52:54:00:00:00:01", "ip=10.0.0.1", "mac=XX:XX:XX:XX:XX:XX"),
    }


def test_inv_24_comment_in_children_is_no_host(tmp_path: Path) -> None:
    text = "[vhosts:children]\nlogin # <-- Remove\n[login]\nl1 ansible_host=10.0.0.1\n"
    result = from_texts(tmp_path, inventory=text)
    assert site_of(result)["login"]["hosts"] == {"l1": {"ansible_host": "10.0.0.1"}}
    assert "Remove" not in result.text


def test_inv_17_a_host_in_several_groups_is_written_once(tmp_path: Path) -> None:
    text = "[slurm-master]\nm1 ansible_host=10.0.0.1\n[slurm-node]\nm1\n[slurm-nfs]\nm1\n"
    site = site_of(from_texts(tmp_path, inventory=text))
    assert site["controller"]["hosts"] == {"m1": {"ansible_host": "10.0.0.1"}}
    assert all(site[group]["hosts"] == {"m1": None} for group in ("database", "storage", "compute"))


def test_conflicts_are_told_and_the_first_stays(tmp_path: Path) -> None:
    result = from_texts(
        tmp_path, inventory="[slurm-node]\nn1 ip=10.0.0.1\n", hosts="10.0.0.2 n1\n", nodes_csv="host,ip\nn1,10.0.0.3\n"
    )
    conflicts = [note for note in result.notes if note.fate is Fate.CONFLICT]
    assert [(note.place.file.name, note.what) for note in conflicts] == [
        ("nodes.csv", "ip=10.0.0.3"),
        ("hosts", "n1=10.0.0.2"),
    ]
    assert all(note.result.startswith("cluster_address of n1 is 10.0.0.1 by ") for note in conflicts)


def test_several_files_become_one_valid_site(tmp_path: Path) -> None:
    result = from_texts(
        tmp_path,
        slurm_conf="ClusterName=c\nSlurmctldHost=head\nNodeName=n[1-2]\n" + PARTITION,
        hosts="10.1.0.1 head.example.org head\n10.1.1.1 n1.example.org n1\n10.1.1.2 n2\n10.1.0.7 camera\n",
        dnsmasq_conf="dhcp-range=10.1.9.1,10.1.9.9,255.255.0.0\ndhcp-host=525400000011,n1,10.1.1.1\n",
    )
    path = tmp_path / "site.yaml"
    path.write_text(
        result.text.replace("  vars:\n", "  vars:\n    nfs_backend: external\n    nfs_mounts: [{path: /home}]\n", 1)
    )
    site = load_site(path)
    assert site.cluster_network == "10.1.0.0/16"
    assert {host.name: host.cluster_address for host in site.hosts.values()} == {
        "head": "10.1.0.1", "n1": "10.1.1.1", "n2": "10.1.1.2",
    }  # fmt: skip
    assert site.hosts["n1"].vars["cluster_mac"] == "52:54:00:00:00:11"
    assert [note.key for note in result.notes if note.fate is Fate.FILL] == ["nfs-nothing"]


def test_3000_nodes_take_seconds_and_few_lines(tmp_path: Path) -> None:
    started = time.monotonic()
    result = from_texts(tmp_path, slurm_conf=SLURM + "NodeName=n[0001-3000] RealMemory=9\n" + PARTITION)
    assert time.monotonic() - started < 20
    assert "        n[0001:3000]:\n" in result.text
    assert result.text.count("\n") < 60


def test_every_format_is_recognised_by_what_the_cases_hold() -> None:
    seen = {
        kind.name
        for path in CASES.rglob("*")
        if path.is_file() and path.name != "expect.yaml" and (kind := format_of(path, path.read_text()))
    }
    assert seen == set(FORMATS)


def test_what_is_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_bytes(b"\x7fELF\0")
    assert main(["import", str(tmp_path / "x"), "-o", "-"]) == 2
    assert "is no text file" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "just words\n", "<html></html>\n", "1,2\n3,4\n"])
def test_a_format_that_cannot_be_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (tmp_path / "x").write_text(text)
    assert main(["import", str(tmp_path / "x"), "--output", str(tmp_path / "site.yaml")]) == 2
    assert "its format cannot be told" in capsys.readouterr().err


def test_groups_of_other_tools() -> None:
    assert roles_of("slurm-master") == ("controller", "database")
    assert roles_of("slurm_control_node_x86_64") == ("controller", "database")
    assert roles_of("atlas_compute") == ("compute",)
    assert roles_of("kube_control_plane") == roles_of("rack1") == ()
    roles = {name: guessed_roles(name)[0] for name in ("head", "login2", "nfs01", "node001", "masterpiece9", "storm1")}
    assert list(roles.values()) == ["controller", "login", "storage", "compute", "compute", "compute"]


def test_encrypted_variables_beside_an_inventory_are_told(tmp_path: Path) -> None:
    (tmp_path / "group_vars").mkdir()
    (tmp_path / "group_vars" / "all.yml").write_text("$ANSIBLE_VAULT;1.1;AES256\n00\n")
    result = from_texts(tmp_path, inventory="[slurm-node]\nn1\n")
    [note] = [note for note in result.notes if note.place.file.name == "all.yml"]
    assert (note.fate, note.result) == (Fate.LEFT, "is encrypted as a whole, so it was not read")


def test_inv_24_validate_leads_to_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "site.yaml"
    path.write_text("[compute]\nn1\n")
    assert main(["validate", str(path)]) == 3
    assert f"hpcprov import {path} --output site.yaml" in capsys.readouterr().out


def test_what_can_be_no_host_is_told(tmp_path: Path) -> None:
    result = from_texts(tmp_path, dnsmasq_conf="dhcp-host=52:54:00:00:00:01,n1,10.0.0.1\ndhcp-host=],10.0.0.2\n")
    assert told(result, Fate.LEFT)["]"] == "is no name of a host"


def test_command_writes_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "site.yaml"
    command = ["import", str(CASES / "hosts" / "hosts"), "--output", str(output)]
    assert main(command) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "To fill in" in shown.err
    before = output.read_text()
    output.write_text("mine")
    assert main(command) == 2
    assert output.read_text() == "mine"
    assert "overwrite it with --force" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0
    assert output.read_text() == before


def test_command_to_stdout_is_a_site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", str(CASES / "omnia" / "mapping.csv"), "-o", "-"]) == 0
    path = tmp_path / "site.yaml"
    path.write_text(capsys.readouterr().out)
    assert {one.rule for one in check_site(path).findings} <= {"cluster-name", "cluster-network", "nfs-nothing"}


def test_command_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "site.yaml"
    assert main(["import", str(CASES / "csv" / "nodes.csv"), "-o", str(output), "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)
    assert {tuple(note) for note in notes} == {("fate", "file", "line", "key", "what", "result", "hint")}
    assert {note["fate"] for note in notes} == {"mapped", "added", "not carried", "to fill in"}
    assert all(Path(note["file"]) in (output, CASES / "csv" / "nodes.csv") for note in notes)


@pytest.mark.parametrize(
    "arguments",
    [
        ["absent", "-o", "x.yaml"],
        [str(CASES / "hosts" / "hosts"), "-o", "x"],
        [str(CASES / "hosts" / "hosts"), "-o", "-", "--json"],
        [str(CASES / "hosts" / "hosts"), "-o", "-", "--format", "word"],
        [str(CASES / "hosts" / "hosts"), "-o", "/nonesuch/site.yaml"],
    ],
)
def test_usage(arguments: list[str]) -> None:
    assert main(["import", *arguments]) == 2


def test_encrypted_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_text("$ANSIBLE_VAULT;1.1;AES256\n00\n")
    assert main(["import", str(tmp_path / "x"), "-o", "-"]) == 2
    assert "is encrypted" in capsys.readouterr().err


SOURCES = {
    path: path.read_text()
    for path in sorted(CASES.rglob("*"))
    if path.is_file() and path.name not in ("expect.yaml", "all.yml")
}
PIECES = ["", "\n", "\t", " ", "{{ x }}", "10.0.0.1", *"=[]{}\"'#:,-\\xé"]


@given(st.sampled_from(sorted(SOURCES)), st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_mutation_crashes_it(tmp_path: Path, source: Path, data: st.DataObject) -> None:
    """Cut pieces out of the inputs and put others in; what comes of it is told or refused in a sentence."""
    from hpcprov.errors import UsageError

    text = SOURCES[source]
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = start + data.draw(st.sampled_from([0, 1, 3, 20, 200]))
        text = text[:start] + data.draw(st.sampled_from(PIECES)) + text[end:]
    path = tmp_path / source.name
    path.write_text(text)
    try:
        result = import_files([path], Path("site.yaml"))
    except UsageError:
        return
    assert isinstance(yaml.safe_load(result.text), dict)
    assert all(isinstance(note, Note) for note in result.notes)
