"""Our options of slurm.conf, before the site's own. Each has a reason; see slurm.conf(5)."""

from __future__ import annotations

from typing import Any

from hpcprov.slurm.cluster import Cluster
from hpcprov.slurm.keys import table
from hpcprov.slurm.values import as_list

# From this release on slurmctld's unit runs as SlurmUser and has a run directory of its own.
_OWN_RUN_DIR = "23.11"


def default_options(cluster: Cluster, cgroups: bool) -> dict[str, Any]:
    """All options that this release of Slurm knows. `cgroups`: jobs can be held in cgroups on every node."""
    options = {
        **_identity(cluster),
        **_daemons(cluster),
        **_scheduling(cluster),
        **_jobs(cluster, cgroups),
        **_accounting(cluster, cgroups),
    }
    keys = table("slurm.conf")
    return {name: value for name, value in options.items() if keys.knows(name, cluster.release)}


def configless(wanted: Any) -> str:
    """SlurmctldParameters with what our nodes cannot do without: they get their files from slurmctld."""
    parameters = [part for item in as_list(wanted) for part in str(item).split(",") if part]
    return ",".join(dict.fromkeys([*parameters, "enable_configless"]))


def _identity(cluster: Cluster) -> dict[str, Any]:
    hosts = [f"{name}({address})" if address else name for name, address in cluster.controllers]
    ipv6 = any(":" in address for _, address in cluster.controllers)
    return {
        "ClusterName": cluster.name,
        "SlurmctldHost": hosts,
        "SlurmctldPort": cluster.daemons.slurmctld_port,
        "SlurmUser": cluster.daemons.user,
        "AuthType": "auth/munge",
        "CredType": "cred/munge",
        "CommunicationParameters": "EnableIPv6" if ipv6 else None,
    }


def _daemons(cluster: Cluster) -> dict[str, Any]:
    daemons = cluster.daemons
    pid_dir = "/run/slurmctld" if cluster.release >= _OWN_RUN_DIR else "/run"
    return {
        "SlurmctldParameters": configless(None),
        "StateSaveLocation": daemons.state_dir,
        "SlurmdSpoolDir": daemons.spool_dir,
        "SlurmctldPidFile": f"{pid_dir}/slurmctld.pid",
        "SlurmdPidFile": "/run/slurmd.pid",
        "SlurmctldLogFile": f"{daemons.log_dir}/slurmctld.log",
        "SlurmdLogFile": f"{daemons.log_dir}/slurmd.log",
        "SlurmctldDebug": "info",
        "SlurmdDebug": "info",
        "SlurmctldTimeout": 120,
        "SlurmdTimeout": 300,
        "MessageTimeout": 30,
        "TCPTimeout": 5,
        # A node that comes back after a reboot takes jobs again; only drains by an admin stay.
        "ReturnToService": 2,
        "RebootProgram": "/sbin/reboot",
    }


def _scheduling(cluster: Cluster) -> dict[str, Any]:
    types = dict.fromkeys(gres.name for node in cluster.nodes for gres in node.gres)
    return {
        "SchedulerType": "sched/backfill",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core_Memory",
        "PriorityType": "priority/multifactor",
        # A job that can never run is refused when it is submitted; by default it would stay pending for ever.
        "EnforcePartLimits": "ALL",
        "GresTypes": ",".join(types) or None,
    }


def _jobs(cluster: Cluster, cgroups: bool) -> dict[str, Any]:
    return {
        "ProctrackType": "proctrack/cgroup" if cgroups else "proctrack/linuxproc",
        "TaskPlugin": "task/cgroup,task/affinity" if cgroups else "task/affinity",
        # The job's container exists on all its nodes from the start: ssh sessions can be adopted into it.
        "PrologFlags": "Contain" if cgroups else None,
        "MpiDefault": "pmix" if cluster.pmix else "none",
        # RDMA needs the node's unlimited memlock, not the limit of the shell that submitted.
        "PropagateResourceLimitsExcept": "MEMLOCK",
        "KillWait": 30,
        # Slurm wants at least five times MessageTimeout.
        "UnkillableStepTimeout": 180,
    }


def _accounting(cluster: Cluster, cgroups: bool) -> dict[str, Any]:
    gpus = any(gres.name == "gpu" for node in cluster.nodes for gres in node.gres)
    options: dict[str, Any] = {
        "JobAcctGatherType": "jobacct_gather/cgroup" if cgroups else "jobacct_gather/linux",
        "JobAcctGatherFrequency": 30,
    }
    if not cluster.databases:
        return options
    return options | {
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AccountingStorageHost": cluster.databases[0],
        "AccountingStorageBackupHost": cluster.databases[1] if len(cluster.databases) > 1 else None,
        "AccountingStoragePort": cluster.daemons.slurmdbd_port,
        "AccountingStorageTRES": "gres/gpu" if gpus else None,
        # Only a site that lists its accounts wants users without one turned away.
        "AccountingStorageEnforce": "associations,limits,qos" if cluster.enforce_accounts else None,
    }
