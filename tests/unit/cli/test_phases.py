"""Which phases a run takes, and which hosts a limit means."""

from __future__ import annotations

from pathlib import Path

import pytest
from hpcprov.errors import UsageError
from hpcprov.limit import limited
from hpcprov.paths import project_root
from hpcprov.phases import ORDER, Phase, choose
from hpcprov.site import Host, Site


def test_all_in_order() -> None:
    assert choose(first=None, last=None) == ORDER


def test_resume_still_prepares() -> None:
    chosen = choose(first="scheduler", last=None, skip=[Phase.VERIFY])
    assert list(chosen) == ["validate", "lab", "preflight", "scheduler", "mpi", "frameworks", "smoke"]


@pytest.mark.parametrize(("last", "phases"), [("validate", ["validate"]), ("lab", ["validate", "lab"])])
def test_stop_early_touches_nothing_later(last: str, phases: list[str]) -> None:
    assert list(choose(first=None, last=last)) == phases


def test_unknown_phase() -> None:
    with pytest.raises(UsageError, match="--from: there is no phase 'bass'"):
        choose(first="bass", last=None)


def test_wrong_order() -> None:
    with pytest.raises(UsageError, match="--from mpi comes after --to base"):
        choose(first="mpi", last="base")


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase.is_playbook])
def test_each_ansible_phase_has_its_playbook(phase: Phase) -> None:
    assert (project_root() / "playbooks" / f"{phase}.yml").is_file()


def host(name: str, *groups: str) -> Host:
    return Host(name, name, name, "", None, None, None, "", {}, frozenset(("all", *groups)))


HOSTS = [
    host("head", "controller", "login"),
    host("store", "storage"),
    *(host(f"node{number:02d}", "compute", "gpu" if number > 2 else "cpu") for number in range(1, 5)),
    host("switch", "other"),
]
SITE = Site(
    path=Path("site.yaml"),
    cluster_name="lab",
    cluster_network="10.0.0.0/24",
    cluster_domain="x",
    hosts={host.name: host for host in HOSTS},
    groups={
        group: [host.name for host in HOSTS if group in host.groups]
        for group in ("all", "controller", "login", "storage", "compute", "cpu", "gpu", "other")
    },
    vars={},
)


LIMITS = [
    (None, "head store node01 node02 node03 node04"),
    ("all", "head store node01 node02 node03 node04"),
    ("node01", "node01"),
    ("node01,head", "head node01"),
    ("node0*", "node01 node02 node03 node04"),
    ("node*[1:2]", "node02 node03"),
    ("compute:!node02", "node01 node03 node04"),
    ("!compute", "head store"),
    ("compute:&gpu", "node03 node04"),
    ("compute[0]", "node01"),
    ("compute[-1]", "node04"),
    ("compute[1:2]", "node02 node03"),
    (r"~node0[12]", "node01 node02"),
]


@pytest.mark.parametrize(("pattern", "names"), LIMITS)
def test_limit(pattern: str | None, names: str) -> None:
    assert [host.name for host in limited(SITE, pattern)] == names.split()


@pytest.mark.parametrize("pattern", ["node99", "switch", "compute:!compute"])
def test_limit_that_leaves_nobody(pattern: str) -> None:
    with pytest.raises(UsageError, match="no host of the site matches"):
        limited(SITE, pattern)


def test_limit_agrees_with_ansible(tmp_path: Path) -> None:
    from ansible.inventory.manager import InventoryManager
    from ansible.parsing.dataloader import DataLoader

    groups = "".join(
        f"{group}:\n  hosts:\n" + "".join(f"    {name}:\n" for name in names)
        for group, names in SITE.groups.items()
        if group not in ("all", "other")
    )
    (tmp_path / "site.yaml").write_text(groups)
    inventory = InventoryManager(DataLoader(), [str(tmp_path / "site.yaml")])
    for pattern, _ in LIMITS[1:]:
        inventory.subset(pattern)
        ansible = [host.name for host in inventory.get_hosts("all")]
        assert sorted(ansible) == sorted(host.name for host in limited(SITE, pattern)), pattern
