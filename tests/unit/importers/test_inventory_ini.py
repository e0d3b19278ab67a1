"""INI inventories are read as Ansible's own plugin reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.inventory.ini import InventoryModule
from hpcprov.importers.draft import Draft
from hpcprov.importers.inventory import Inventory
from hpcprov.importers.inventory_ini import read_ini, recognises

CASES = {
    "hosts and variables": "a x=1 y='two words' z=yes\n[g]\na\nb ansible_port=22\n",
    "ranges and a port": "[g]\nn[01:03]\nm[8:11] k=5\nx[1:2]-[a:b]\nh:2222 p=1\n",
    "INV-24 comments": "# c\n; d\n[v:children] # e\nlogin # <-- Remove\n[login]\nl1 # x\n[compute]\nc1 a=1 # b=2\n",
    "variables of a group": "[g]\na\n[g:vars]\ni=5\nf=1.5\nb=True\nl=[1, 'a']\nd={'k': 1}\ns=text #x\ne=\nq='x'\n",
    "all": "a\n[all:vars]\nx=0644\ny=null\n[g:vars]\nz=-1\n[g]\na\n",
    "groups within groups": "[a]\nh\n[b:children]\na\n[c:children]\nb\n[c:vars]\nk=1\n",
    "INV-06 dashes": "[slurm-master]\nm1\n[gpu-nodes]\ng1\n",
    "DeepOps": (Path(__file__).parent / "cases" / "deepops" / "inventory").read_text(),
    "ElastiCluster": (Path(__file__).parent / "cases" / "elasticluster" / "hosts.ini").read_text(),
}


def by_ansible(path: Path) -> InventoryData:
    data = InventoryData()
    InventoryModule().parse(data, DataLoader(), str(path))
    data.reconcile_inventory()
    return data


def by_us(path: Path) -> Inventory:
    return read_ini(Draft(), path, path.read_text())


@pytest.mark.parametrize("text", CASES.values(), ids=CASES)
def test_as_ansible_reads_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "inventory"
    path.write_text(text)
    theirs, ours = by_ansible(path), by_us(path)
    assert set(ours.hosts) == set(theirs.hosts)
    assert {name for name in ours.groups if name != "ungrouped"} == set(theirs.groups) - {"ungrouped"} - (
        {"all"} - set(ours.groups)
    )
    for name, group in theirs.groups.items():
        if name in ours.groups and name not in ("all", "ungrouped"):
            assert set(ours.members(name)) == {host.name for host in group.get_hosts()}
            assert {one.name: one.value for one in ours.groups[name].variables} == plain(group.vars)
    for name, host in theirs.hosts.items():
        given = {key: value for key, value in plain(host.vars).items() if not key.startswith("inventory_")}
        assert {one.name: one.value for one in ours.host_variables[name]} == given


def plain(variables: object) -> dict[str, object]:
    """Without the tags that Ansible puts on values."""
    return {str(key): untagged(value) for key, value in dict(variables).items()}  # type: ignore[call-overload]


def untagged(value: object) -> object:
    if isinstance(value, dict):
        return {untagged(key): untagged(item) for key, item in value.items()}
    if isinstance(value, list):
        return [untagged(item) for item in value]
    return str(value) if isinstance(value, str) else value


@pytest.mark.parametrize(
    ("text", "expected"),
    [("[compute]\n", True), ("# c\n\n[all:vars]\n", True), ("a ansible_host=1\n", True), ("a,b\n1,2\n", False)],
)
def test_recognised(text: str, expected: bool) -> None:
    assert recognises(Path("x"), text) == expected


def test_what_cannot_be_read_is_told() -> None:
    draft = Draft()
    read_ini(draft, Path("x"), "[g:x]\na\n[h]\nc[3-1]\nb loose\nq 'open\n[g:vars]\nnothing\n[k:children]\na b\n")
    assert [(note.place.line, str(note.fate)) for note in draft.notes.items] == [
        (1, "not carried"),
        (2, "not carried"),
        (4, "not carried"),
        (5, "not carried"),
        (6, "not carried"),
        (8, "not carried"),
        (10, "not carried"),
    ]
