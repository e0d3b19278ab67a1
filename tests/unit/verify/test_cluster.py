"""The rounds over all hosts, with a transport that answers from memory."""

import threading

import pytest
from hpcprov.site import load_site
from hpcprov.verify import cluster as module
from hpcprov.verify import expect
from hpcprov.verify.transport import UnreachableError, needs_sudo, ssh_config

SITE = """
all:
  vars:
    cluster_name: t
    cluster_network: 10.0.0.0/24
    ansible_user: admin
    nfs_exports: [{path: /shared}]
    nfs_mounts: [{path: /shared}, {path: /ro, server: 10.0.0.99, options: "ro,hard"}]
controller: {hosts: {head: {ansible_host: 10.0.0.1, ansible_user: root}}}
storage: {hosts: {store: {ansible_host: 10.0.0.2, ansible_port: 2222}}}
database: {hosts: {head: }}
compute:
  hosts:
    node01: {ansible_host: 10.0.0.11}
    node02: {ansible_host: 10.0.0.12}
    node03: {ansible_host: 10.0.0.13}
"""


class Memory:
    """Hosts that answer the rounds; `down` ones do not."""

    down: tuple[str, ...] = ()

    def __init__(self, _):
        self.asked = []
        self.lock = threading.Lock()

    def run(self, name, script, p, *, user=None):
        with self.lock:
            self.asked.append((name, p.get("round", script), p, user))
        if name in self.down:
            raise UnreachableError("Connection refused")
        if script == "jobs":
            return {"nodes": {}, "user_uid": 64100}
        times = {"started": 100.0, "finished": 101.0}
        if p["round"] == "seed":
            shared = {path: {"directory": path} for path in p["seed_paths"]}
            return {**times, "shared": shared, "munge": {"credential": "C"}, "config": {"SlurmdSpoolDir": "/s/%n"}}
        if p["round"] == "probe":
            return {**times, "munge": {"credential": "from " + name}, "ids": {"munge": {"uid": 1, "gid": 1}}}
        return {**times, "arrived": {path: ["node01"] for path in p["seeded"]}, "decoded": p["credentials"]}

    def close(self):
        pass


@pytest.fixture
def site(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text(SITE)
    return load_site(path)


@pytest.fixture
def make(monkeypatch, site):
    monkeypatch.setattr(module, "Transport", Memory)
    monkeypatch.setattr(Memory, "down", ())
    return lambda *hosts: module.Cluster(site, hosts)


def rounds(cluster):
    return sorted((name, which) for name, which, *_ in cluster._transport.asked)


def test_a_host_costs_two_round_trips_and_nothing_is_asked_twice(make):
    cluster = make()
    for _ in range(3):
        assert set(cluster.probes) == {"head", "store", "node01", "node02", "node03"}
    assert cluster.collected["head"].get("decoded")["node02"] == "from node02"
    assert rounds(cluster) == [
        ("head", "collect"), ("head", "probe"), ("head", "seed"),
        ("node01", "collect"), ("node01", "probe"), ("node02", "collect"), ("node02", "probe"),
        ("node03", "collect"), ("node03", "probe"),
        ("store", "collect"), ("store", "probe"), ("store", "seed"),
    ]  # fmt: skip


def test_a_silent_host_costs_only_its_own_answer(make, monkeypatch):
    monkeypatch.setattr(Memory, "down", ("node02",))
    cluster = make()
    assert cluster.probes["node02"].error == "Connection refused"
    assert cluster.probes["node01"].error is None
    assert "node02" not in cluster.collected["head"].get("decoded")


def test_a_silent_controller_leaves_the_rest_checked(make, monkeypatch):
    monkeypatch.setattr(Memory, "down", ("head",))
    cluster = make()
    assert cluster.config == {"error": "no controller was asked"}
    assert cluster.probes["node01"].error is None
    assert cluster.reference("ids").host.name == "store"
    assert cluster.jobs == {"error": "Connection refused"}
    assert cluster.unreachable == {"head": "Connection refused"}


def test_one_chosen_host_is_checked_against_the_controller(make):
    cluster = make("node01")
    assert list(cluster.probes) == ["node01"]
    assert set(cluster.collected) == {"head", "store"}  # nobody else is there whose credential it could read
    _ = cluster.jobs
    (asked,) = [p for _, which, p, _ in cluster._transport.asked if which == "jobs"]
    assert asked["nodes"] == ["node01"]


def test_jobs_are_submitted_as_the_smoke_user(make):
    cluster = make()
    _ = cluster.jobs
    assert [(name, user) for name, which, _, user in cluster._transport.asked if which == "jobs"] == [
        ("head", "hpcsmoke")
    ]


def test_tokens_of_a_killed_run_are_taken_away_where_shared_paths_are_seeded(make, site):
    folder = site.state_dir / "verify"
    folder.mkdir(parents=True)
    (folder / "0a0a0a0a").touch()
    cluster = make()
    _ = cluster.collected
    asked = {name: p for name, which, p, _ in cluster._transport.asked if which == "collect" and p["seeded"]}
    assert {name: p["abandoned"] for name, p in asked.items()} == {"store": ["0a0a0a0a"]}
    assert list(folder.iterdir()) == []


def test_notes_stay_until_every_seeding_host_has_tidied_up(make, site, monkeypatch):
    monkeypatch.setattr(Memory, "down", ("store",))
    folder = site.state_dir / "verify"
    folder.mkdir(parents=True)
    (folder / "0a0a0a0a").touch()
    cluster = make()
    _ = cluster.collected
    assert {note.name for note in folder.iterdir()} == {"0a0a0a0a", cluster.run_id}


def test_munge_pairs_are_all_on_a_small_site_and_a_ring_on_a_large_one():
    assert expect.munge_pairs(["head", "a", "b", "c"], "head") == {"a": ["b", "c"], "b": ["c", "a"], "c": ["a", "b"]}
    many = [f"n{number}" for number in range(1000)]
    pairs = expect.munge_pairs(many, None)
    assert {len(makers) for makers in pairs.values()} == {expect.MUNGE_NEIGHBOURS}
    assert {maker for makers in pairs.values() for maker in makers} == set(many)
    assert pairs["n999"][0] == "n0"


def test_devices_of_a_node_come_from_its_lines_of_gres_conf(site):
    text = (
        "# c\nNodeName=node[01-02] Name=gpu Type=a100 File=/dev/nvidia[0-1]\nNodeName=node03 Name=gpu File=/dev/x\n"
        "NodeName=node01 AutoDetect=nvml\nNodeName=node[ Name=gpu File=/dev/y\n"
    )
    assert expect.devices(text, site.hosts["node02"]) == ["/dev/nvidia0", "/dev/nvidia1"]
    assert expect.devices(text, site.hosts["head"]) == []


def test_clock_bounds_hold_the_true_offset(site):
    probe = module.Probe(site.hosts["head"], {"started": 105.2, "finished": 106.0}, sent=100.0, received=101.1)
    low, high = probe.clock_bounds
    assert low <= 5.0 <= high
    assert high - low == pytest.approx(0.3)


def test_seeding_host_is_who_serves_else_the_controller(site):
    assert expect.seed_hosts(site) == {"/shared": "store"}


def test_read_only_mounts_are_not_written_to(site):
    host = site.hosts["node01"]
    assert [mount.path for mount in expect.shares(site, host).mounts] == ["/shared", "/ro"]
    assert expect.writable_paths(site, host) == ["/shared"]


def test_names_are_short_long_and_the_inventorys_own(site):
    names = expect.names(site)
    assert names["node02"] == names["node02.cluster.internal"] == "10.0.0.12"


def test_spool_directory_is_the_nodes_own(site):
    config = {"SlurmdSpoolDir": "/var/spool/slurmd.%n", "StateSaveLocation": "/var/spool/ctld"}
    assert expect.slurm_paths(config, site.hosts["node01"]) == {"SlurmdSpoolDir": "/var/spool/slurmd.node01"}
    assert expect.slurm_paths(config, site.hosts["head"]) == {
        "StateSaveLocation": "/var/spool/ctld",
        "slurmdbd.conf": "/etc/slurm/slurmdbd.conf",
    }


def test_root_needs_no_sudo(site):
    assert not needs_sudo(site.hosts["head"])
    assert needs_sudo(site.hosts["node01"])


def test_ssh_config_checks_host_keys(site):
    text = ssh_config(site)
    assert "StrictHostKeyChecking yes" in text
    assert 'Host store\n  HostName "10.0.0.2"\n  Port "2222"\n  User "admin"\n' in text
