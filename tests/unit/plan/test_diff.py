"""Two descriptions of a cluster, and every difference between them once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hpcprov.plan.conf import without_secrets
from hpcprov.plan.description import Description
from hpcprov.plan.diff import Change, diff
from hpcprov.plan.effects import Effect
from hypothesis import given
from hypothesis import strategies as st

from .sites import deployed, described, site_of


def told(changes: list[Change]) -> list[tuple[str, str, str]]:
    return [(change.part, change.name, change.action) for change in changes]


def values(change: Change) -> dict[str, tuple[str | None, str | None]]:
    return {detail.key: (detail.old, detail.new) for detail in change.details}


NODE4 = ("    n3: {ansible_host: 10.0.0.13, slurm_node: {CPUs: 4, RealMemory: 4000}}\n",
         "    n3: {ansible_host: 10.0.0.13, slurm_node: {CPUs: 4, RealMemory: 4000}}\n"
         "    n4: {ansible_host: 10.0.0.14, slurm_node: {CPUs: 4, RealMemory: 4000}}\n")  # fmt: skip
# Text that is replaced in the site file: part, name, action; key: (from, to); the worst effect.
ONE_CHANGE = {
    "option": (
        [("SlurmctldDebug: info", "SlurmctldDebug: debug")],
        ("slurm.conf", "SlurmctldDebug", "changed"), {"SlurmctldDebug": ("info", "debug")}, Effect.NONE,
    ),
    "option_added": (
        [("{SlurmctldDebug: info}", "{SlurmctldDebug: info, MaxJobCount: 5}")],
        ("slurm.conf", "MaxJobCount", "added"), {"MaxJobCount": (None, "5")}, Effect.SLURMCTLD,
    ),
    "limit": (
        [("1-00:00:00", "2-00:00:00")],
        ("partitions", "main", "changed"), {"MaxTime": ("1-00:00:00", "2-00:00:00")}, Effect.RECONFIGURE,
    ),
    "partition_nodes": (
        [('nodes: "n[1-2]"', 'nodes: "n[1-3]"')],
        ("partitions", "main", "changed"), {"Nodes": ("n[1-2]", "n[1-3]")}, Effect.RECONFIGURE,
    ),
    "partition_removed": (
        [('      - {name: big, nodes: "n3"}\n', "")],
        ("partitions", "big", "removed"), None, Effect.DRAINED,
    ),
    "memory": (
        [("CPUs: 4, RealMemory: 4000", "CPUs: 4, RealMemory: 4001")],
        ("nodes", "n3", "changed"), {"RealMemory": ("4000", "4001")}, Effect.BOTH,
    ),
    "feature": (
        [("n3: {ansible_host", "n3: {slurm_features: [ib], ansible_host")],
        ("nodes", "n3", "changed"), {"Features": (None, "ib")}, Effect.RECONFIGURE,
    ),
    "user": (
        [("      - {name: alice, uid: 5001}\n", "      - {name: alice, uid: 5001}\n      - {name: bob, uid: 5002}\n")],
        ("users", "bob", "added"), {"uid": (None, "5002")}, Effect.NONE,
    ),
    "uid": (
        [("uid: 5001", "uid: 5009")], ("users", "alice", "changed"), {"uid": ("5001", "5009")}, Effect.REFUSED,
    ),
    "user_removed": (
        [("      - {name: alice, uid: 5001}\n", ""), ("    cluster_users:\n", ""), ("users: [alice]", "parent: root")],
        ("users", "alice", "removed"), {"uid": ("5001", None)}, Effect.NONE,
    ),
    "package": (
        [("[htop]", "[htop, tmux]")], ("packages", "tmux", "added"), {"on": (None, "all hosts")}, Effect.NONE,
    ),
    "export": (
        [("nfs_exports: [{path: /shared}]", "nfs_exports: [{path: /shared}, {path: /home}]")],
        ("exports", "head:/home", "added"), None, Effect.NONE,
    ),
    "mount_options": (
        [("nfs_mounts: [{path: /shared}]", "nfs_mounts: [{path: /shared, options: ro}]")],
        ("mounts", "/shared", "changed"), {"options": ("hard,noatime,nosuid,nodev", "ro")}, Effect.DRAINED,
    ),
    "qos": (
        [("Priority: 10", "Priority: 20")], ("qos", "high", "changed"), {"Priority": ("10", "20")}, Effect.NONE,
    ),
    "account": (
        [("{name: physics, users", "{name: physics, Fairshare: 5, users")],
        ("accounts", "physics", "changed"), {"Fairshare": (None, "5")}, Effect.NONE,
    ),
    "framework": (
        [("packages_extra:", 'dl_versions: {pytorch: "2.7.1"}\n    packages_extra:')],
        ("frameworks", "pytorch", "changed"), {"version": ("newest", "2.7.1")}, Effect.NONE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ONE_CHANGE)
def test_one_change_is_told_once_with_its_values_and_cost(case: str, tmp_path: Path) -> None:
    replacements, expected, details, effect = ONE_CHANGE[case]
    old = deployed(tmp_path)
    changes = diff(old, described(site_of(tmp_path, *replacements)))
    if case == "user_removed":  # its account loses a user with it
        changes = [change for change in changes if change.part != "accounts"]
    # Of a node, memory per CPU of its partition follows.
    changes = [change for change in changes if case != "memory" or change.part != "partitions"]
    assert told(changes) == [expected]
    assert changes[0].effect is effect
    if details is not None:
        assert values(changes[0]) == details


def test_a_node_that_comes_is_told_once_and_the_hosts_part_leaves_it_to_that(tmp_path: Path) -> None:
    old = deployed(tmp_path)
    changes = diff(old, described(site_of(tmp_path, NODE4)))
    assert told(changes) == [("nodes", "n4", "added")]
    assert values(changes[0])["CPUs"] == (None, "4")


def test_a_node_that_was_not_measured_yet_is_known_by_name_and_partition(tmp_path: Path) -> None:
    old = deployed(tmp_path)
    site = site_of(
        tmp_path, ('nodes: "n3"}', 'nodes: "n[3-4]"}'), (NODE4[0], NODE4[0] + "    n4: {ansible_host: 10.0.0.14}\n")
    )
    changes = diff(old, described(site))
    assert told(changes) == [("nodes", "n4", "added"), ("partitions", "big", "changed")]
    assert values(changes[1]) == {"Nodes": ("n3", "n[3-4]")}


def test_a_secret_is_known_by_its_digest_alone(tmp_path: Path) -> None:
    old = deployed(tmp_path)
    new = described(site_of(tmp_path), munge="sha256:cccc")
    text = without_secrets(new.files["slurm.conf"] + "jobcomppass = hunter2\n")
    changes = diff(old, new.model_copy(update={"files": {**new.files, "slurm.conf": text}}))
    assert told(changes) == [("slurm.conf", "JobCompPass", "added"), ("munge", "munge.key", "changed")]
    assert "hunter2" not in text and "hunter2" not in repr(changes)
    assert without_secrets(text) == text
    assert changes[1].effect is Effect.BOTH


def test_what_only_ansible_can_decrypt_is_not_compared(tmp_path: Path) -> None:
    old = deployed(tmp_path)
    vault = "!vault |\n          $ANSIBLE_VAULT;1.1;AES256\n          6130\n"
    new = described(
        site_of(tmp_path, ("    slurm_config: {SlurmctldDebug: info}\n",
                           f"    slurm_config:\n      SlurmctldDebug: info\n      JobCompPass: {vault}"))
    )  # fmt: skip
    text = old.files["slurm.conf"] + "JobCompPass=sha256:1234\n"
    assert diff(old.model_copy(update={"files": {**old.files, "slurm.conf": text}}), new) == []


def test_spelling_and_order_of_a_file_are_no_change(tmp_path: Path) -> None:
    old = deployed(tmp_path)
    lines = old.files["slurm.conf"].replace("SlurmctldDebug=", "slurmctlddebug = ").splitlines()
    other = "# edited\n" + "\n".join(reversed(lines)) + "\n"
    assert diff(old, old.model_copy(update={"files": {**old.files, "slurm.conf": other}})) == []


def test_the_first_deploy_is_all_new_and_costs_nothing(tmp_path: Path) -> None:
    new = deployed(tmp_path)
    changes = diff(Description(cluster="tiny"), new)
    assert {change.action for change in changes} == {"added"}
    assert {change.effect for change in changes} == {Effect.NONE}
    assert [change.name for change in changes if change.part == "nodes"] == ["n1", "n2", "n3"]
    assert [change.name for change in changes if change.part == "slurm.conf"] == ["slurm.conf"]


NAMES = st.integers(1, 30).map("n{}".format)
NODES = st.dictionaries(NAMES, st.tuples(st.integers(1, 8), st.integers(1000, 1005)), max_size=12)
OPTIONS = st.dictionaries(
    st.sampled_from(["MessageTimeout", "SlurmdTimeout", "MaxJobCount"]), st.integers(1, 9), max_size=3
)


def written(nodes: dict[str, tuple[int, int]], options: dict[str, int]) -> Description:
    lines = [f"{name}={value}" for name, value in options.items()]
    lines += [f"NodeName={name} CPUs={cpus} RealMemory={memory}" for name, (cpus, memory) in nodes.items()]
    lines.append("PartitionName=main Nodes=" + (",".join(nodes) or '""'))
    return Description(cluster="c", release="22.05", files={"slurm.conf": "\n".join(lines) + "\n"})


@given(nodes=NODES, options=OPTIONS)
def test_nothing_differs_from_itself(nodes: dict[str, tuple[int, int]], options: dict[str, int]) -> None:
    assert diff(written(nodes, options), written(dict(reversed(nodes.items())), options)) == []


@given(old=NODES, new=NODES, options=OPTIONS, others=OPTIONS)
def test_each_node_and_option_that_differs_is_told_once(
    old: dict[str, tuple[int, int]],
    new: dict[str, tuple[int, int]],
    options: dict[str, int],
    others: dict[str, int],
) -> None:
    changes = diff(written(old, options), written(new, others))
    nodes = {(change.name, change.action) for change in changes if change.part == "nodes"}
    assert nodes == (
        {(name, "added") for name in new.keys() - old.keys()}
        | {(name, "removed") for name in old.keys() - new.keys()}
        | {(name, "changed") for name in old.keys() & new.keys() if old[name] != new[name]}
    )
    assert len(told(changes)) == len(set(told(changes)))
    keys = {change.name for change in changes if change.part == "slurm.conf"}
    assert keys == {key for key in options.keys() | others.keys() if options.get(key) != others.get(key)}


@given(old=NODES, new=NODES)
def test_the_way_back_is_the_mirror(old: dict[str, tuple[int, int]], new: dict[str, tuple[int, int]]) -> None:
    opposite = {"added": "removed", "removed": "added", "changed": "changed"}
    there = {(part, name, opposite[action]) for part, name, action in told(diff(written(old, {}), written(new, {})))}
    assert there == set(told(diff(written(new, {}), written(old, {}))))
