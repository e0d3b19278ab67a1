"""Two sites with one cluster_name: the second may not take the first one's lab, unless the first is gone."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hpcprov import lab
from hpcprov.errors import LabError, UsageError
from hpcprov.lab import engine, owner
from hpcprov.lab.lab import _claim_for_up
from hpcprov.lab.nodes import OWNER_LABEL, SITE_LABEL, SPEC_LABEL, Node, Owner, State, state_of
from hpcprov.lab.podman import Podman
from hpcprov.site import Site

Sites = Callable[..., Site]
NETWORK = "hpcprov-tiny"


@dataclass(frozen=True)
class FakePodman(Podman):
    """Answers from what the test put there, and keeps the commands that change something."""

    containers: dict[str, dict[str, str]] = field(default_factory=dict)
    networks: dict[str, dict[str, str]] = field(default_factory=dict)
    volumes: dict[str, dict[str, str]] = field(default_factory=dict)
    state: str = "running"
    done: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, *args: str, timeout: float | None = 120) -> str:
        """Lists as JSON; everything else is only noted."""
        listed: list[dict[str, Any]]
        if args[0] == "ps":
            listed = [
                {"Names": [name], "Labels": marks, "State": self.state, "Pid": os.getpid()}
                for name, marks in self.containers.items()
            ]
        elif args[:2] == ("network", "inspect"):
            listed = [{"name": args[2], "labels": self.networks[args[2]]}]
        elif args[:2] == ("volume", "ls"):
            listed = [{"Name": name, "Labels": marks} for name, marks in self.volumes.items()]
        else:
            self.done.append(args)
            return ""
        return json.dumps(listed)

    def remove_containers(self, *names: str) -> None:
        """Only noted."""
        self.done.append(("rm", "--force", *names))

    def exists(self, kind: str, name: str) -> bool:
        """Networks only."""
        return kind == "network" and name in self.networks


@pytest.fixture
def podman(monkeypatch: pytest.MonkeyPatch) -> FakePodman:
    fake = FakePodman("podman", Path("/conf"))
    monkeypatch.setattr(engine, "connect", lambda *_: fake)
    return fake


@pytest.fixture
def other(tmp_path: Path) -> Owner:
    """Another checkout with a lab of the same name."""
    site = tmp_path / "other" / "tiny.yaml"
    state = tmp_path / "other" / ".hpcprov" / "tiny"
    state.mkdir(parents=True)
    site.touch()
    return Owner(str(state), str(site))


def running(podman: FakePodman, labels: dict[str, str]) -> None:
    """A lab with a node, a network and a volume."""
    podman.containers["hpcprov-tiny-node01"] = labels
    podman.networks[NETWORK] = labels
    podman.volumes["hpcprov-tiny-shared"] = labels


def test_what_a_site_makes_names_it(site: Sites) -> None:
    made = site()
    marks = owner.marks(made)
    assert marks[OWNER_LABEL] == str(made.state_dir)
    assert marks[SITE_LABEL] == str(made.path)
    node = Node("head", "head", "tiny", "bookworm", "image", "net", "10.1.2.11", owner=owner.owner_of(made))
    assert f"{OWNER_LABEL}={made.state_dir}" in node.run_arguments()


def test_an_owner_alone_does_not_make_a_node_anew() -> None:
    node = Node("head", "head", "tiny", "bookworm", "image", "net", "10.1.2.11", owner=Owner("/a"))
    unmarked = Node("head", "head", "tiny", "bookworm", "image", "net", "10.1.2.11")
    container = {"State": "running", "Labels": {SPEC_LABEL: unmarked.digest}}
    assert state_of(node, {node.container: container}) is State.RUNNING
    container["Labels"] = {SPEC_LABEL: unmarked.digest, OWNER_LABEL: "/b"}
    assert state_of(node, {node.container: container}) is State.FOREIGN


@pytest.mark.parametrize("what", ["containers", "networks", "volumes"])
def test_up_down_and_ssh_refuse_a_lab_of_another_site(site: Sites, podman: FakePodman, other: Owner, what: str) -> None:
    made = site()
    name = {"containers": "hpcprov-tiny-node01", "networks": NETWORK, "volumes": "hpcprov-tiny-shared"}[what]
    getattr(podman, what)[name] = other.labels
    for command in (
        lambda: lab.down(made), lambda: lab.reach(made, "node01"), lambda: _claim_for_up(podman, made, print),
    ):  # fmt: skip
        with pytest.raises(LabError, match=f"belongs to {other.site}") as caught:
            command()
        assert caught.value.exit_code == 4
        assert other.state_dir in (caught.value.why or "")
        assert f"hpcprov lab down {other.site}" in (caught.value.hint or "")
        assert "cluster_network" in (caught.value.hint or "")
    assert podman.done == []
    assert lab.whose(made).holder == other


def test_the_way_out_without_the_site_file(site: Sites, podman: FakePodman, other: Owner) -> None:
    Path(other.site).unlink()
    running(podman, other.labels)
    made = site()
    with pytest.raises(LabError) as caught:
        lab.down(made)
    assert "hpcprov lab down --force" in (caught.value.hint or "")
    assert "container hpcprov-tiny-node01" in lab.down(made, force=True)


def test_down_takes_over_what_a_removed_checkout_left(site: Sites, podman: FakePodman) -> None:
    running(podman, Owner("/gone/.hpcprov/tiny", "/gone/tiny.yaml").labels)
    said: list[str] = []
    removed = lab.down(site(), report=said.append)
    assert removed == [
        "container hpcprov-tiny-node01", "volume hpcprov-tiny-shared", "network hpcprov-tiny",
    ]  # fmt: skip
    assert "/gone/.hpcprov/tiny, which no longer exists" in said[0]


def test_up_takes_over_and_keeps_the_shared_volume(site: Sites, podman: FakePodman) -> None:
    running(podman, Owner("/gone/.hpcprov/tiny", "/gone/tiny.yaml").labels)
    said: list[str] = []
    _claim_for_up(podman, site(), said.append)
    assert [command[:2] for command in podman.done] == [("rm", "--force"), ("network", "rm")]
    assert "no longer exists" in said[0]


def test_after_a_takeover_the_old_volume_label_does_not_matter(site: Sites, podman: FakePodman, other: Owner) -> None:
    made = site()
    running(podman, owner.owner_of(made).labels)
    podman.volumes["hpcprov-tiny-shared"] = other.labels
    assert lab.whose(made).others == ()


def test_what_was_made_before_the_label_is_ours(site: Sites, podman: FakePodman) -> None:
    made = site()
    running(podman, {"hpcprov.cluster": "tiny"})
    _claim_for_up(podman, made, print)
    assert lab.whose(made).holder == owner.owner_of(made)
    assert podman.done == []
    assert lab.reach(made, "node01", ["true"])[-2:] == ["root@10.1.2.21", "true"]


def test_ssh_says_at_once_that_nothing_runs(site: Sites, podman: FakePodman) -> None:
    made = site()
    with pytest.raises(LabError, match="the lab tiny is not running") as caught:
        lab.reach(made, "head")
    assert caught.value.exit_code == 4
    assert caught.value.hint == f"hpcprov lab up {made.path}"
    podman.containers["hpcprov-tiny-node01"] = owner.marks(made)
    with pytest.raises(LabError, match="node head of the lab tiny is not running"):
        lab.reach(made, "head")


def test_ssh_lists_the_nodes(site: Sites, podman: FakePodman) -> None:
    with pytest.raises(UsageError, match="no node nosuch") as caught:
        lab.reach(site(), "nosuch")
    assert caught.value.hint == "nodes: head, store, node01"
