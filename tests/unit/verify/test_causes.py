"""What follows from what: a known cause is named with its host, and nothing else is guessed."""

from types import SimpleNamespace

import pytest
from hpcprov.site import load_site
from hpcprov.verify import causes
from hpcprov.verify.checks import CheckError, fail
from hpcprov.verify.cluster import Cluster, Probe

SITE = """
all:
  vars:
    cluster_name: t
    cluster_network: 10.0.0.0/24
    ansible_user: root
    nfs_mounts: [{path: /shared, server: 10.0.0.9}]
controller: {hosts: {head: {ansible_host: 10.0.0.1}}}
database: {hosts: {head: }}
compute: {hosts: {node01: {ansible_host: 10.0.0.2}}}
"""
SERVICES = {
    "head": ["munge", "mariadb", "slurmdbd", "slurmctld"],
    "node01": ["munge", "slurmd"],
}


@pytest.fixture
def cluster(tmp_path):
    """A healthy one, from memory."""
    path = tmp_path / "site.yaml"
    path.write_text(SITE)
    site = load_site(path)
    probes = {}
    for name, units in SERVICES.items():
        probe = Probe(site.hosts[name], sent=100.0, received=101.0)
        probe.facts = {
            "started": 100.2,
            "finished": 100.8,
            "services": {unit: {"load": "loaded", "active": "active"} for unit in units},
            "munge_key": {"digest": "k"},
            "configuration": {"local": dict.fromkeys(causes.LOCAL), "variable": {}},
            "shared": {"/shared": {"error": None}},
        }
        probes[name] = probe
    known = SimpleNamespace(host=site.hosts["head"], get=lambda part: {"digest": "k"})
    return SimpleNamespace(
        site=site, controller="head", submit_host="head", unreachable={}, probes=probes, files={"slurm.conf": "c"},
        known=lambda part: known, conf_dir=Cluster.conf_dir,
    )  # fmt: skip


def stop(cluster, host, unit, load="loaded"):
    cluster.probes[host].facts["services"][unit] = {"load": load, "active": "inactive"}


def test_a_healthy_cluster_has_no_cause(cluster):
    assert causes.of_node(cluster, "node01") is None
    assert causes.of_client(cluster, "node01") is None
    assert causes.of_accounting(cluster) is None
    assert causes.of_storage(cluster, "node01") is None
    assert causes.of_node(cluster, "node99") is None


@pytest.mark.parametrize("load", ["loaded", "masked"])
def test_daemons(cluster, load):
    stop(cluster, "head", "slurmctld", load)
    assert causes.of_node(cluster, "node01") == causes.of_accounting(cluster) == "slurmctld does not run on head"
    stop(cluster, "head", "slurmdbd", load)
    assert causes.of_accounting(cluster) == "slurmdbd does not run on head"
    stop(cluster, "head", "mariadb", load)
    assert causes.of_accounting(cluster) == "mariadb does not run on head"
    stop(cluster, "node01", "slurmd", load)
    assert causes.of_node(cluster, "node01") == "slurmd does not run on node01"
    stop(cluster, "node01", "munge", load)
    assert causes.of_node(cluster, "node01") == "munge does not run on node01"


def test_a_unit_that_is_not_installed_is_no_cause(cluster):
    stop(cluster, "head", "mariadb", "not-found")
    assert causes.of_accounting(cluster) is None


def test_munge_key_and_clock(cluster):
    cluster.probes["node01"].facts.update(started=500.2, finished=500.8)
    assert causes.of_munge(cluster, "node01") == "the clock of node01 is wrong by 400 s"
    cluster.probes["node01"].facts["munge_key"] = {"digest": "other"}
    assert causes.of_munge(cluster, "node01") == "the munge key of node01 is not that of head"
    assert causes.of_munge(cluster, "head") is None


def test_local_files_and_variables(cluster):
    found = cluster.probes["node01"].facts["configuration"]
    found["local"]["slurm.conf"] = "c"
    assert causes.of_client(cluster, "node01") is None
    found["local"]["slurm.conf"] = "old"
    assert causes.of_client(cluster, "node01").startswith("a stale local /etc/slurm/slurm.conf on node01")
    found["variable"]["/etc/environment"] = "/opt/slurm.conf"
    assert causes.of_node(cluster, "node01") == "/etc/environment on node01 sets SLURM_CONF=/opt/slurm.conf"


def test_controller_that_does_not_answer_and_storage(cluster):
    cluster.unreachable["head"] = "refused"
    assert causes.of_client(cluster, "node01") == "the controller head does not answer"
    cluster.probes["node01"].facts["shared"]["/shared"]["error"] = "Read-only file system"
    assert causes.of_storage(cluster, "node01") == "/shared cannot be used on node01: Read-only file system"


def test_what_follows_gives_no_advice_of_its_own():
    with pytest.raises(CheckError) as raised:
        fail(expected="a", found="b", cause="a guess", fix="reinstall", follows="munge does not run on node01")
    assert raised.value.reason == "expected a; found b. It follows from: munge does not run on node01"
    assert raised.value.parts["fix"] is None
    assert raised.value.parts["cause"] == "follows from: munge does not run on node01"


@pytest.mark.parametrize(
    ("owner", "mode", "said"),
    [("munge", "0400", None), ("munge", "0600", None), ("munge", "0644", "munge:munge 0644 on /k"),
     ("root", "0400", "root:munge 0400 on /k")],
)  # fmt: skip
def test_keys_that_munged_refuses(cluster, owner, mode, said):
    probe = cluster.probes["node01"]
    probe.facts["munge_key"] = {"owner": owner, "group": "munge", "mode": mode, "path": "/k"}
    assert causes.bad_key(probe) == said
    probe.facts["munge_key"] = {"error": "/k is missing"}
    assert causes.bad_key(probe) is None


@pytest.mark.parametrize(
    ("told", "known"),
    [
        ({"HASH_VAL": "Match"}, False),
        ({"error": "no answer"}, False),
        ({"HASH_VAL": "Different Ours=0xc1a2f5a Slurmctld=0x169f357f"}, True),
    ],
)
def test_a_slurm_conf_that_slurmctld_has_not_read(cluster, told, known):
    cluster.config = told
    assert (causes.unread(cluster) == "slurmctld on head was not told of the changed slurm.conf") is known
