"""Reading a site: what comes out, and that Ansible reads the same."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hpcprov.paths import project_root
from hpcprov.site import check_site, load_site

MINIMAL = """\
all:
  vars:
    {cluster_name: test, cluster_network: 10.1.0.0/24, level: all, deep: all,
     nfs_mounts: [{path: /shared, server: nas}]}
  children:
    controller: {hosts: {head: {ansible_host: 10.1.0.1, ansible_user: root, ansible_port: 2222}}}
    database: {hosts: {head: }}
    compute:
      vars: {level: compute, where: "{{ inventory_dir }}/{{ cluster_name }}", size: "{{ 2 * cores }}"}
      children:
        zebra: {hosts: {"n[01:02]": }, vars: {level: zebra, cores: 4, both: zebra}}
        apple: {hosts: {n02: {own: n02}}, vars: {both: apple, ansible_group_priority: 10}}
  hosts:
    n01: {ansible_host: "10.1.0.1{{ inventory_hostname[-1] }}"}
    n02: {ansible_host: "10.1.0.1{{ inventory_hostname[-1] }}", fact: "{{ ansible_facts.x }}"}
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a site file and files beside it; give the site file."""

    def files(text: str = MINIMAL, **beside: str) -> Path:
        for name, content in beside.items():
            path = tmp_path / "inventory" / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        site = tmp_path / "inventory" / "site.yaml"
        site.parent.mkdir(exist_ok=True)
        site.write_text(text)
        return site

    return files


def test_hosts_and_groups(write: Callable[..., Path], tmp_path: Path) -> None:
    site = load_site(write())
    assert list(site.hosts) == ["head", "n01", "n02"]
    assert [host.name for host in site.group("compute")] == ["n01", "n02"]
    assert site.group("nothing") == []
    assert (site.home, site.state_dir) == (tmp_path, tmp_path / "inventory" / ".hpcprov" / "test")
    head, node = site.hosts["head"], site.hosts["n02"]
    assert (head.address, head.user, head.port, head.ssh_args) == ("10.1.0.1", "root", 2222, "")
    assert (node.cluster_address, node.node_name) == ("10.1.0.12", "n02")
    assert node.groups == {"all", "compute", "zebra", "apple"}
    assert site.cluster_domain == "cluster.internal"


def test_variables_by_precedence(write: Callable[..., Path]) -> None:
    site = load_site(
        write(
            **{
                "group_vars__all.yml": "level: file_all\nfrom_all: 1\n",
                "group_vars__zebra__a.yaml": "level: file_zebra\n",
                "group_vars__zebra__.hidden.yaml": "level: hidden\n",
                "group_vars__compute": "vaulted: no\n",
                "host_vars__n02.json": '{"own": "file"}',
            }
        )
    )
    one, two = site.hosts["n01"].vars, site.hosts["n02"].vars
    assert (one["level"], one["from_all"], one["vaulted"], one["deep"]) == ("file_zebra", 1, False, "all")
    assert (two["both"], two["own"]) == ("apple", "file")


def test_templates_keep_their_type(write: Callable[..., Path]) -> None:
    variables = load_site(write()).hosts["n02"].vars
    assert variables["size"] == 8
    assert variables["where"].endswith("/inventory/test")
    assert variables["fact"] == "{{ ansible_facts.x }}"


@pytest.mark.parametrize("name", ["minimal", "inventory/site.yaml", "inventory/lab.yaml"])
def test_ansible_reads_the_same(write: Callable[..., Path], name: str) -> None:
    path = write() if name == "minimal" else project_root() / name
    site = load_site(path)
    command = [Path(sys.executable).parent / "ansible-inventory", "-i", path, "--list"]
    listed = json.loads(subprocess.run(command, capture_output=True, check=True, timeout=120).stdout)
    for group, hosts in site.groups.items():
        assert sorted(_members(listed, group)) == sorted(hosts), group
    for host, variables in listed["_meta"]["hostvars"].items():
        ours = site.hosts[host].vars
        variables.pop("ansible_local", None)  # a fact that ansible-inventory adds, always empty
        assert set(ours) == set(variables)
        plain = {key: value for key, value in variables.items() if "{{" not in str(value)}
        assert {key: ours[key] for key in plain} == plain


def _members(listed: dict[str, dict[str, list[str]]], group: str) -> set[str]:
    entry = listed.get(group, {})
    below = (_members(listed, child) for child in entry.get("children", []))
    return set(entry.get("hosts", [])).union(*below)


@pytest.mark.parametrize(
    ("name", "rule"),
    [("none.yaml", "file-missing"), ("hosts", "file-name"), (".", "file-missing"), ("latin.yaml", "yaml-syntax")],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, rule: str) -> None:
    (tmp_path / "hosts").write_text(MINIMAL)
    (tmp_path / "latin.yaml").write_bytes(b"name: \xe9\n")
    report = check_site(tmp_path / name)
    assert report.site is None
    assert [finding.rule for finding in report.findings] == [rule]


def test_mistakes_beside_the_site_file(write: Callable[..., Path]) -> None:
    report = check_site(
        write(
            **{
                "group_vars__compute.yml": "slurm_weight: heavy\n",
                "host_vars__n01.yml": "- a\n",
                "group_vars__all": "$ANSIBLE_VAULT;1.1;AES256\n6162\n",
                "group_vars__stranger.yml": "slurm_weight: [\n",
            }
        )
    )
    found = [(finding.file.name, finding.line, finding.rule) for finding in report.findings]
    assert found == [("compute.yml", 1, "type"), ("n01.yml", 1, "vars-not-mapping")]


def test_saved_facts_tell_the_release(write: Callable[..., Path]) -> None:
    text = MINIMAL.replace("level: all,", "slurm_config: {CertmgrType: x, NoSuchKey: 1},")
    path = write(text)
    assert [f.message for f in check_site(path).findings] == ['slurm.conf has no option "NoSuchKey"']
    write(text, **{".hpcprov__test__facts__n01.json": '{"facts": {"slurm_version": "22.05.8"}}'})
    assert "CertmgrType came with Slurm 24.11" in check_site(path).findings[0].message
