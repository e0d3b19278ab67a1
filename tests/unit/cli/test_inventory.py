"""`hpcprov inventory`: what it prints, what it writes, and what it refuses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hpcprov.main import main
from hpcprov.paths import project_root

HEAD = "    head:\n"
EXAMPLE = project_root() / "inventory" / "site.yaml"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "site.yaml"
    shutil.copy(EXAMPLE, path)
    monkeypatch.setenv("HPCPROV_SITE", str(path))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> tuple[str, str]:
    """stdout and stderr of `hpcprov inventory …`."""
    assert main(["inventory", *arguments]) == code
    shown = capsys.readouterr()
    return shown.out, shown.err


def test_list(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, "list", str(site))
    assert "node[001-064]  64  compute, cpu_nodes\n" in out
    assert err == ""
    rows = json.loads(run(capsys, "list", "--json")[0])
    assert len(rows) == 71
    assert rows[0] == {
        "name": "head",
        "node_name": "head",
        "address": "192.0.2.10",
        "cluster_address": "10.1.0.10",
        "groups": ["controller", "database"],
    }


def test_graph(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "graph")
    assert out.endswith("compute\n  cpu_nodes: node[001-064] (64)\n  gpu_nodes: gpu[01-04] (4)\n")
    tree = json.loads(run(capsys, "graph", "--json")[0])
    assert tree["compute"]["children"]["gpu_nodes"]["hosts"] == ["gpu01", "gpu02", "gpu03", "gpu04"]


def test_show(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site.write_text(site.read_text().replace(HEAD, f"{HEAD}      bmc_password: Tr0ub4d\n", 1))
    details = json.loads(run(capsys, "show", "gpu[01-02]", "head", "--json")[0])
    assert [one["name"] for one in details] == ["gpu01", "gpu02", "head"]
    assert details[0]["vars"]["ansible_host"]["value"] == "10.1.2.1"
    assert details[2]["vars"]["bmc_password"]["value"] == "********"
    out, _ = run(capsys, "show", "head")
    assert f"192.0.2.10  # {site}:78\n" in out
    assert "Tr0ub4d" not in out
    assert 'did you mean "login1"?' in run(capsys, "show", "login2", code=2)[1]


def test_add_remove_set(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "add", "node[065-066]", "--group", "cpu_nodes", "--address", "10.1.1.65", "--set", "slurm_weight=3")
    run(capsys, "remove", "node[010,020-029]")
    run(capsys, "set", "gpu01", "slurm_weight=5", "slurm_node.MemSpecLimit=4096")
    rows = {row["name"]: row for row in json.loads(run(capsys, "list", "--json")[0])}
    assert rows["node066"]["address"] == "10.1.1.66"
    assert len(rows) == 71 + 2 - 11
    gpu = json.loads(run(capsys, "show", "gpu01", "--json")[0])[0]["vars"]
    assert (gpu["slurm_weight"]["value"], gpu["slurm_node"]["value"]) == (5, {"MemSpecLimit": 4096})


def test_dry_run_writes_nothing(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = site.read_text()
    out, err = run(capsys, "set", "all", "nfs_backend=ganesha", "--dry-run")
    assert "-    nfs_backend: kernel\n+    nfs_backend: ganesha\n" in out
    assert "--dry-run" in err
    assert site.read_text() == before


def test_remove_says_who_names_the_host(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = site.read_text()
    _, err = run(capsys, "remove", "node002", code=3)
    assert f"{site}:37: slurm_partitions.2.nodes names node002; it stays there" in err
    assert "partition-nodes: partition debug: node002: no such compute node or group" in err
    assert site.read_text() == before


def test_wrong_arguments(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "counts backwards" in run(capsys, "remove", "node[9-1]", code=2)[1]
    assert '"slurm_weight" sets nothing' in run(capsys, "set", "head", "slurm_weight", code=2)[1]
    assert '"ten" is no IP address' in run(capsys, "add", "x1", "-g", "compute", "--address", "ten", code=2)[1]
    assert 'did you mean "genders"?' in run(capsys, "export", "--format", "gender", code=2)[1]


def ansible_hostvars(path: Path) -> Any:
    """What Ansible itself reads."""
    done = subprocess.run(
        [Path(sys.executable).parent / "ansible-inventory", "-i", path, "--list"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "1"},
    )
    return json.loads(done.stdout)


def test_export_ansible_says_the_same_to_ansible(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder, name, text in (
        ("group_vars", "gpu_nodes.yml", "my_rack: 4\nslurm_weight: 7\n"),
        ("host_vars", "gpu02.yml", 'my_mode: 0644\nmy_time: "1:30"\n'),
    ):
        (site.parent / folder).mkdir()
        (site.parent / folder / name).write_text(text)
    before = ansible_hostvars(site)
    exported = site.parent / "exported" / "plain.yaml"
    exported.parent.mkdir()
    exported.write_text(run(capsys, "export", "--format", "ansible")[0])
    assert "[0" not in exported.read_text().replace("inventory_hostname[-", "").replace("node[001-002]", "")
    assert ansible_hostvars(exported) == before


def test_export_leaves_plain_passwords_out(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vault = "      bmc_user_password: !vault |\n        $ANSIBLE_VAULT;1.1;AES256\n        3633\n"
    text = site.read_text().replace(HEAD, f"{HEAD}      bmc_password: Tr0ub4d\n{vault}", 1)
    site.write_text(text)
    out, _ = run(capsys, "export")
    assert "Tr0ub4d" not in out
    assert "# Left out, because they stand there in plain text: bmc_password." in out
    assert "!vault |" in out


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("hosts", ["10.1.0.11 login1 login1.atlas.example.org login", "10.1.1.64 node064 node064.atlas.example.org"]),
        ("genders", ["node[001-064] compute,cpu_nodes", "head controller,database"]),
        ("ssh-config", ["Host node001 node001.atlas.example.org", "    HostName 10.1.1.1", "    User admin"]),
    ],
)
def test_export(site: Path, capsys: pytest.CaptureFixture[str], name: str, lines: list[str]) -> None:
    out = run(capsys, "export", "--format", name)[0].splitlines()
    assert [line for line in lines if line not in out] == []


def test_export_clustershell(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    groups = yaml.safe_load(run(capsys, "export", "--format", "clustershell")[0])
    assert groups["atlas"]["gpu_nodes"] == "gpu[01-04]"
    assert groups["atlas"]["all"] == "gpu[01-04],head,login1,node[001-064],store"


def test_ssh_reads_the_configuration(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = '    ansible_ssh_common_args: "-J jump.example.org -o UserKnownHostsFile=/tmp/known -oPort=5"\n'
    site.write_text(site.read_text().replace("    ansible_become: true\n", f"    ansible_become: true\n{options}"))
    config = site.with_name("config")
    config.write_text(run(capsys, "export", "--format", "ssh-config")[0])
    read = subprocess.run(["ssh", "-G", "-F", config, "node007"], capture_output=True, text=True, check=True).stdout
    wanted = [
        "hostname 10.1.1.7",
        "user admin",
        "proxyjump jump.example.org",
        "port 5",
        "userknownhostsfile /tmp/known",
    ]
    assert [line for line in wanted if line not in read.splitlines()] == []
