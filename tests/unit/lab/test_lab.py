"""The built-in lab, planned without starting anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from hpcprov import lab
from hpcprov.errors import LabError, UsageError
from hpcprov.lab.host import HostFacts
from hpcprov.lab.plan import key_store, plan_nodes
from hpcprov.paths import project_root
from hpcprov.site import Site, load_site


@pytest.fixture
def built_in() -> Site:
    return load_site(project_root() / "inventory" / "lab.yaml")


def test_the_built_in_lab(built_in: Site, facts: Callable[..., HostFacts]) -> None:
    nodes = plan_nodes(built_in, facts(), "image")
    assert [node.container for node in nodes] == [
        f"hpcprov-lab-{name}" for name in ("head", "store", "node01", "node02")
    ]
    assert all(("hpcprov-lab-shared", "/shared", "rw") in node.mounts for node in nodes)
    assert all(host.cluster_address == host.address for host in built_in.cluster_hosts)


def test_the_built_in_lab_uses_the_keys_that_it_makes(built_in: Site) -> None:
    store = key_store(built_in)
    for host in built_in.cluster_hosts:
        assert host.ssh_key == str(store.client_key)
        assert f"UserKnownHostsFile={store.known_hosts}" in host.ssh_args


def test_a_site_of_real_hosts_is_refused(site: Callable[..., Site]) -> None:
    made = site()
    real = replace(made, vars=MappingProxyType({k: v for k, v in made.vars.items() if k != "lab"}))
    assert lab.is_lab(made)
    assert not lab.is_lab(real)
    for command in (lambda: lab.up(real, print), lambda: lab.down(real), lambda: lab.status(real)):
        with pytest.raises(LabError, match="describes real hosts"):
            command()


def test_ssh_command(site: Callable[..., Site]) -> None:
    made = site()
    words = lab.ssh_command(made, "node01", ["sinfo", "-N"])
    assert words[-3:] == ["root@10.1.2.21", "sinfo", "-N"]
    assert "StrictHostKeyChecking=yes" in words
    with pytest.raises(UsageError, match="no node node99"):
        lab.ssh_command(made, "node99")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ([], []),
        (["cd /tmp; ls | wc -l"], ["cd /tmp; ls | wc -l"]),
        (["ls", "/shared/*"], ["ls", "/shared/*"]),
        (["bash", "-lc", "module avail"], ["bash", "-lc", "'module avail'"]),
    ],
)
def test_words_of_a_command_arrive_whole(site: Callable[..., Site], command: list[str], words: list[str]) -> None:
    arguments = lab.ssh_command(site(), "node01", command)
    assert arguments[arguments.index("root@10.1.2.21") + 1 :] == words


def test_a_copy_of_the_built_in_lab_needs_only_a_name_and_addresses(tmp_path: Path) -> None:
    text = (project_root() / "inventory" / "lab.yaml").read_text()
    copy = tmp_path / "other.yaml"
    copy.write_text(text.replace("cluster_name: lab", "cluster_name: other").replace("10.89.77.", "10.89.78."))
    made = load_site(copy)
    store = key_store(made)
    for host in made.cluster_hosts:
        assert host.ssh_key == str(store.client_key)
        assert f"UserKnownHostsFile={store.known_hosts}" in host.ssh_args
