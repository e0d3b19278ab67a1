"""Is what ran written down?"""

import pytest
from hpcprov.verify.checks import fail, require


@pytest.mark.groups("controller")
def test_registered(part, cluster):
    """slurmdbd knows the cluster and its controller."""
    answer = part("accounting")
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
        cause="slurmctld does not run, or AccountingStorageHost in slurm.conf is wrong",
        fix="on the controller: systemctl restart slurmctld; journalctl -u slurmctld -n 50",
    )


def test_job_recorded(parallel, jobs, cluster):
    """Accounting shows the job that just ran."""
    record = jobs["accounting"]
    if "error" in record:
        fail(
            expected=f"job {parallel['job']} in sacct",
            found=record["error"],
            cause="slurmdbd or its database is down",
            fix="on the database host: systemctl status slurmdbd mariadb; journalctl -u slurmdbd -n 50",
        )
    require(
        record["user"] == cluster.smoke_user and record["cluster"] == cluster.site.cluster_name,
        expected=f"user {cluster.smoke_user} on cluster {cluster.site.cluster_name}",
        found=f"user {record['user']} on cluster {record['cluster']}",
        fix=f"sacct -j {parallel['job']} -l",
    )
