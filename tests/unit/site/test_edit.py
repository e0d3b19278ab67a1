"""Edits of a site file: what they must change, and nothing else."""

from __future__ import annotations

import difflib
import re
import stat
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
from hpcprov.errors import SiteError, UsageError
from hpcprov.paths import project_root
from hpcprov.site import load_draft, load_site
from hpcprov.site.edit import Edit, add_hosts, group_or_hosts, remove_hosts, set_values, value_of
from hpcprov.site.ranges import expand, without
from hpcprov.site.save import diff, save
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

INVENTORY = project_root() / "inventory"
VALID = Path(__file__).parent / "cases" / "valid"
SOURCES = [*(INVENTORY / name for name in ("site.yaml", "lab.yaml")), *sorted(VALID.glob("*.yaml"))]

SITE = """\
# A site with everything that a rewrite would spoil.
all:
  vars:
    cluster_name: 'test'      # single quotes
    cluster_network:   10.1.0.0/16
    nfs_mounts: [ {path: /shared, server: "nas"} ]
    slurm_config: { MaxJobCount: 5000 }
controller: {hosts: {head: {ansible_host: 10.1.0.1}}}
database: { hosts: { head: } }
compute:
    children:
        cpu:
            hosts:
                # the first rack
                c[10:60]:   # c10 to c60
                    ansible_host: "10.1.1.{{ inventory_hostname[1:] | int }}"
                # c99 is a spare
        gpu:
            vars: &gpu_vars
                slurm_weight: 100
            hosts:
                g1: {  ansible_host: 10.1.2.1 }
                g2: {  ansible_host: 10.1.2.2  }
login:
    vars: *gpu_vars
    hosts:
        head:
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "site.yaml"
    path.write_text(SITE)
    return path


def changes(edit: Edit) -> list[str]:
    """Lines that went and came."""
    lines = difflib.ndiff(edit.before.splitlines(), edit.after.splitlines())
    return [line for line in lines if line[:2] in ("- ", "+ ")]


def test_add_to_a_block(site: Path) -> None:
    nodes = {name: {"ansible_host": f"10.1.1.{name[1:]}"} for name in ("c61", "c62")}
    assert changes(add_hosts(site, list(nodes), ["cpu"], nodes)) == [
        "+                 c61:",
        "+                   ansible_host: 10.1.1.61",
        "+                 c62:",
        "+                   ansible_host: 10.1.1.62",
    ]


def test_hosts_that_are_alike_become_a_range(site: Path) -> None:
    address = {"ansible_host": "10.1.3.{{ inventory_hostname[1:] | int }}"}
    hosts = [f"d{number:02}" for number in range(1, 5)]
    edit = add_hosts(site, hosts, ["gpu"], dict.fromkeys(hosts, address))
    assert changes(edit) == ["+                 d[01:04]: {ansible_host: '10.1.3.{{ inventory_hostname[1:] | int }}'}"]


def test_add_a_group_and_a_role_of_a_known_host(site: Path) -> None:
    edit = add_hosts(site, ["head"], ["storage", "cpu"], {})
    assert changes(edit) == ["+                 head:", "+ ", "+ storage:", "+   hosts:", "+     head:"]


def test_remove_from_flow_and_block(site: Path) -> None:
    assert changes(remove_hosts(site, ["g1"])) == ["-                 g1: {  ansible_host: 10.1.2.1 }"]
    assert changes(remove_hosts(site, ["head"], ["login"])) == ["-         head:"]


def test_remove_splits_a_range_with_its_comment(site: Path) -> None:
    edit = remove_hosts(site, ["c30"])
    assert changes(edit) == [
        "+                 c[10:29]:   # c10 to c60",
        '+                     ansible_host: "10.1.1.{{ inventory_hostname[1:] | int }}"',
        "-                 c[10:60]:   # c10 to c60",
        "+                 c[31:60]:   # c10 to c60",
    ]


def test_set_one_host_of_a_range(site: Path) -> None:
    edit = set_values(site, ["c10", "c11"], {"slurm_weight": 7})
    assert changes(edit) == ["+                 c[10:11]:", "+                   slurm_weight: 7"]


def test_set_where_the_key_stands(site: Path) -> None:
    assert changes(set_values(site, ["g2"], {"ansible_host": "10.1.2.9"})) == [
        "-                 g2: {  ansible_host: 10.1.2.2  }",
        "+                 g2: {  ansible_host: 10.1.2.9  }",
    ]


def test_a_mapping_set_on_a_host_keeps_what_it_was(site: Path) -> None:
    edit = set_values(site, ["g2"], {"slurm_config.ReturnToService": 2})
    assert changes(edit)[1].endswith("ansible_host: 10.1.2.2, slurm_config: {MaxJobCount: 5000, ReturnToService: 2}  }")


def test_set_a_key_of_a_mapping(site: Path) -> None:
    edit = set_values(site, ["all"], {"slurm_config.MaxJobCount": 10})
    assert changes(edit) == [
        "-     slurm_config: { MaxJobCount: 5000 }",
        "+     slurm_config: { MaxJobCount: 10 }",
    ]


def test_variables_behind_an_alias_are_left_to_the_admin(site: Path) -> None:
    with pytest.raises(UsageError, match=r"line 25 is the alias \*gpu_vars"):
        set_values(site, ["login"], {"slurm_weight": 3})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", 4),
        ("true", True),
        ("text", "text"),
        ("[a, b]", ["a", "b"]),
        ("{a: 1}", {"a": 1}),
        ("1:30:00", "1:30:00"),
        ("05001", "05001"),
        ("a: b", "a: b"),
        ("{{ x }}", "{{ x }}"),
        ("node[001-004]", "node[001-004]"),
        ("[", "["),
        ("", None),
    ],
)
def test_values_as_typed(text: str, value: Any) -> None:
    assert value_of(text) == value


def test_what_yaml_would_change_is_quoted(site: Path) -> None:
    save(set_values(site, ["g1"], {"cluster_mac": value_of("52:54:00:12:34:56")}))
    assert load_site(site).hosts["g1"].vars["cluster_mac"] == "52:54:00:12:34:56"


def test_an_edit_that_brings_an_error_is_refused(site: Path) -> None:
    with pytest.raises(SiteError, match="1 error") as caught:
        set_values(site, ["g1"], {"ansible_host": "10.1.2.2"})
    assert [finding.rule for finding in caught.value.findings] == ["address-twice"]
    assert site.read_text() == SITE


def test_an_error_that_was_there_does_not_stop_an_edit(site: Path) -> None:
    site.write_text(SITE.replace("10.1.2.2", "10.9.2.2"))
    save(set_values(site, ["g1"], {"slurm_weight": 3}))
    save(set_values(site, ["g2"], {"ansible_host": "10.1.2.2"}))
    assert load_site(site)


def test_unknown_names(site: Path) -> None:
    with pytest.raises(UsageError, match="has no host c61"):
        remove_hosts(site, ["c60", "c61"])
    with pytest.raises(UsageError, match="there is no group gpus") as caught:
        add_hosts(site, ["g3"], ["gpus"], {})
    assert caught.value.hint == 'did you mean "gpu"?'
    with pytest.raises(UsageError, match="no host or group cpus"):
        group_or_hosts(site, "cpus")
    with pytest.raises(UsageError, match="g1 is in group gpu already"):
        add_hosts(site, ["g1"], ["gpu"], {})


def test_host_vars_beside_the_site_decide(site: Path) -> None:
    (site.parent / "host_vars").mkdir()
    (site.parent / "host_vars" / "g1.yml").write_text("slurm_weight: 4\n")
    with pytest.raises(UsageError, match=r"g1: slurm_weight is decided by .*host_vars/g1.yml:1"):
        set_values(site, ["g1"], {"slurm_weight": 3})


def test_save_keeps_mode_and_link(site: Path) -> None:
    site.chmod(0o640)
    link = site.with_name("link.yaml")
    link.symlink_to(site.name)
    save(set_values(link, ["g1"], {"slurm_weight": 3}))
    assert link.is_symlink()
    assert stat.S_IMODE(site.stat().st_mode) == 0o640
    assert sorted(path.name for path in site.parent.iterdir()) == ["link.yaml", "site.yaml"]


def test_save_refuses_when_somebody_else_wrote(site: Path) -> None:
    edit = set_values(site, ["g1"], {"slurm_weight": 3})
    site.write_text(SITE + "# more\n")
    with pytest.raises(UsageError, match="changed by somebody else"):
        save(edit)


def test_diff_stars_secrets(site: Path) -> None:
    site.write_text(SITE.replace("ansible_host: 10.1.2.1 ", "ansible_host: 10.1.2.1, bmc_password: Tr0ub4dor "))
    shown = diff(set_values(site, ["g1"], {"slurm_weight": 3}))
    assert "bmc_password: ********" in shown
    assert "Tr0ub4dor" not in shown


def test_windows_line_ends_stay(site: Path) -> None:
    with site.open("w", newline="") as stream:
        stream.write(SITE.replace("\n", "\r\n"))
    edit = set_values(site, ["g1"], {"slurm_weight": 3})
    assert edit.after.count("\r\n") == edit.before.count("\r\n")


RANGES = st.sampled_from(["c[10:60]", "n[001:020]", "n[1:9:2]", "x[1:3]-[a:d]", "r[0:2]n[08:11]", "h", "p[1:4]:2222"])


@given(RANGES, st.data())
@settings(derandomize=True, deadline=None, max_examples=100)
def test_a_range_without_some_hosts(pattern: str, data: st.DataObject) -> None:
    names, port = expand(pattern)
    gone = set(data.draw(st.lists(st.sampled_from(names), unique=True)))
    left = [host for part in without(pattern, gone) for host in expand(part)[0]]
    assert left == [name for name in names if name not in gone]
    assert all(expand(part)[1] == port for part in without(pattern, gone))


def _copy(source: Path, folder: Path) -> Path:
    path = folder / "site.yaml"
    path.write_text(source.read_text())
    return path


PROPERTY = settings(
    derandomize=True, deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@given(st.sampled_from(SOURCES), st.data())
@PROPERTY
def test_added_and_removed_leaves_the_text_as_it_was(tmp_path: Path, source: Path, data: st.DataObject) -> None:
    path = _copy(source, tmp_path)
    draft = load_draft(path)
    # A second storage host would leave open which of them is mounted.
    groups = [name for name, entry in draft.tree.groups.items() if entry.hosts and name != "storage"]
    hosts = [f"new{number:02}" for number in range(1, data.draw(st.integers(1, 4)) + 1)]
    first = int(ip_network(draft.site.cluster_network)[-20])
    variables = {host: {"cluster_address": str(ip_address(first + n))} for n, host in enumerate(hosts)}
    edit = add_hosts(path, hosts, [data.draw(st.sampled_from(groups))], variables)
    path.write_text(edit.after)
    assert remove_hosts(path, hosts).after == edit.before


@given(st.sampled_from(SOURCES), st.data())
@PROPERTY
def test_a_variable_touches_only_its_hosts_and_no_comment(tmp_path: Path, source: Path, data: st.DataObject) -> None:
    path = _copy(source, tmp_path)
    before = load_site(path)
    hosts = data.draw(st.lists(st.sampled_from(sorted(before.hosts)), min_size=1, max_size=3, unique=True))
    edit = set_values(path, hosts, {"my_rack": data.draw(st.sampled_from([7, "a: b", [1], {"a": None}, True]))})
    assert len([line for line in changes(edit) if line.startswith("- ")]) <= len(hosts)
    assert _comments(edit.after) == _comments(edit.before)
    path.write_text(edit.after)
    after = load_site(path)
    changed = [name for name in before.hosts if before.hosts[name].vars != after.hosts[name].vars]
    assert changed == [name for name in before.hosts if name in hosts]


def _comments(text: str) -> list[str]:
    return re.findall(r"(?:^|\s)#.*", text)
