"""Is what ran written down?"""

import pytest
from hpcprov.verify import causes, judge
from hpcprov.verify.checks import fail, require


@pytest.mark.groups("controller")
def test_registered(probe, part, cluster):
    """slurmdbd knows the cluster and its controller."""
    answer = probe.get("accounting")
    require(
        "clusters" in answer,
        expected="slurmdbd lists its clusters",
        found=answer.get("error"),
        follows=causes.of_accounting(cluster),
        cause="a firewall closes port 6819, or AccountingStorageHost in slurm.conf is wrong",
        fix="on the database host: systemctl status slurmdbd mariadb; journalctl -u slurmdbd -n 50",
    )
    name = cluster.site.cluster_name
    known = answer["clusters"]
    require(
        name in known,
        expected=f"cluster {name} in the database",
        found=", ".join(known) or "no cluster",
        cause="slurmctld has never reached slurmdbd",
        fix=f"sacctmgr -i add cluster {name}; systemctl restart slurmctld",
    )
    require(
        known[name]["host"] and known[name]["port"] not in ("", "0"),
        expected=f"the controller of {name} is connected",
        found="no controller is registered",
        follows=causes.of_accounting(cluster),
        cause="slurmctld has not reached slurmdbd since it started: AccountingStorageHost in slurm.conf is wrong",
        fix="on the controller: systemctl restart slurmctld; journalctl -u slurmctld -n 50",
    )


@pytest.mark.groups("controller")
def test_registered_right(probe, cluster, config):
    """slurmdbd has this controller's address and port."""
    known = (probe.get("accounting").get("clusters") or {}).get(cluster.site.cluster_name)
    if not known or not known["host"]:
        pytest.skip("the cluster is not registered, told above")
    host = probe.host
    own = [host.cluster_address, host.address, host.node_name, host.name]
    ports = str(config.get("SlurmctldPort", "6817"))
    require(
        judge.names_controller(known["host"], own) and judge.in_ports(known["port"], ports),
        expected=f"{host.node_name} ({host.cluster_address}) port {ports}",
        found=f"{known['host']} port {known['port']}",
        cause="another slurmctld of the same ClusterName registered itself, or the controller's address changed",
        fix=f"on {host.name}: systemctl restart slurmctld; no other slurmctld may use ClusterName="
        f"{cluster.site.cluster_name}",
    )


@pytest.mark.groups("controller")
def test_state_is_this_clusters(probe, cluster):
    """slurmctld's state directory belongs to this cluster."""
    found = probe.get("state_cluster")
    if not isinstance(found, str):
        pytest.skip("slurmctld has written no clustername")
    require(
        found == cluster.site.cluster_name,
        expected=f"cluster {cluster.site.cluster_name}",
        found=f"cluster {found}",
        cause="ClusterName changed, or StateSaveLocation is another cluster's; slurmctld refuses to start with it",
        fix="set cluster_name back; or, to begin anew without the old jobs, move StateSaveLocation away",
    )


def test_job_recorded(parallel, jobs, cluster):
    """Accounting shows the job that just ran."""
    record = jobs["accounting"]
    if "error" in record:
        fail(
            expected=f"job {parallel['job']} in sacct",
            found=record["error"],
            follows=causes.of_accounting(cluster),
            cause="slurmctld does not reach slurmdbd",
            fix="on the database host: systemctl status slurmdbd mariadb; journalctl -u slurmdbd -n 50",
        )
    require(
        record["user"] == cluster.smoke_user and record["cluster"] == cluster.site.cluster_name,
        expected=f"user {cluster.smoke_user} on cluster {cluster.site.cluster_name}",
        found=f"user {record['user']} on cluster {record['cluster']}",
        fix=f"sacct -j {parallel['job']} -l",
    )
