"""What Slurm no longer has, and what to write today. Key tables begin with 22.05; older ones are named here.

Sources: the release notes of Slurm, slurm.conf(5) and slurmdbd.conf(5) of the releases in the key table.
"""

from __future__ import annotations

# Keys that are still read, by file: how it is written today.
OUTDATED: dict[str, dict[str, str]] = {
    "slurm.conf": {
        "AccountingStoreJobComment": "AccountingStoreFlags=job_comment",
        "BackupAddr": "a second SlurmctldHost=name(address)",
        "BackupController": "a second SlurmctldHost=name(address)",
        "ControlAddr": "SlurmctldHost=name(address)",
        "ControlMachine": "SlurmctldHost=name(address)",
        "CryptoType": "CredType=cred/munge",
        "FastSchedule": "SlurmdParameters=config_overrides for FastSchedule=2, nothing for 0 and 1",
        "JobCredentialPrivateKey": "nothing: munge signs the credentials",
        "JobCredentialPublicCertificate": "nothing: munge signs the credentials",
        "LaunchType": "nothing: there is one launch plugin",
        "SallocDefaultCommand": "LaunchParameters=use_interactive_step",
        "SchedulerAuth": "nothing: it has no effect",
        "SlurmctldPlugstack": "nothing: it has no effect",
    },
    "slurm.conf NodeName": {"Procs": "CPUs"},
    "slurm.conf PartitionName": {
        "Priority": "PriorityTier for preemption, PriorityJobFactor for the order of jobs",
        "Shared": "OverSubscribe",
    },
    "gres.conf NodeName": {"CPUs": "Cores", "Files": "File"},
    "cgroup.conf": {
        "AllowedDevicesFile": "nothing: devices of GRES are allowed by themselves",
        "CgroupAutomount": "nothing: cgroups are mounted by systemd",
        "CgroupReleaseAgentDir": "nothing: no release agent is used",
        "MemoryLimitEnforcement": "nothing: it has no effect",
        "MemoryLimitThreshold": "nothing: it has no effect",
    },
    "slurmdbd.conf": {
        "JobPurge": "PurgeJobAfter=6months, with your number of months",
        "StepPurge": "PurgeStepAfter=6months, with your number of months",
        **{f"Purge{what}Months": f"Purge{what}After=6months" for what in ("Event", "Job", "Step", "Suspend", "TXN")},
        "PurgeUsageMonths": "PurgeUsageAfter=6months",
    },
}

# Keys that were gone before the oldest release of the key table, by file, in lower case.
_GONE_FROM_SLURM_CONF = {
    "cachegroups": "nothing: groups are cached by themselves",
    "checkpointtype": "nothing: checkpoints by Slurm went",
    "defaultstoragehost": "AccountingStorageHost",
    "defaultstorageloc": "nothing here: StorageLoc of slurmdbd.conf",
    "defaultstoragepass": "nothing here: StoragePass of slurmdbd.conf",
    "defaultstorageport": "AccountingStoragePort",
    "defaultstoragetype": "AccountingStorageType",
    "defaultstorageuser": "nothing here: StorageUser of slurmdbd.conf",
    "jobacctfrequency": "JobAcctGatherFrequency",
    "jobacctlogfile": "AccountingStorageType=accounting_storage/slurmdbd",
    "jobaccttype": "JobAcctGatherType",
    "jobcheckpointdir": "nothing: checkpoints by Slurm went",
    "kvsretries": "nothing: it has no effect",
    "layouts": "nothing: layouts went",
    "maxmempertask": "MaxMemPerCPU",
    "defmempertask": "DefMemPerCPU",
    "memlimitenforce": "JobAcctGatherParams=OverMemoryKill, or better ConstrainRAMSpace=yes in cgroup.conf",
    "msgaggregationparams": "nothing: it went",
    "schedulerport": "nothing: external schedulers went",
    "schedulerrootfilter": "nothing: it went",
    "switchnumericdebug": "nothing: it went",
    "usespecresources": "AllowSpecResourcesUsage",
    "usespank": "PlugStackConfig",
}
GONE = {
    "slurm.conf": _GONE_FROM_SLURM_CONF,
    "cgroup.conf": {
        "taskaffinity": "TaskPlugin=task/cgroup,task/affinity in slurm.conf",
        "constrainkmemspace": "nothing: the kernel no longer limits it",
    },
}

# Option: value: (first release without it, what to write instead). The value in lower case.
VALUES: dict[str, dict[str, tuple[str, str | None]]] = {
    "SelectType": {
        "select/cons_res": ("23.11", "select/cons_tres"),
        "select/serial": ("22.05", "select/cons_tres"),
        "select/bluegene": ("22.05", "select/cons_tres"),
        "select/cray_aries": ("24.11", "select/cons_tres"),
    },
    "SchedulerType": {
        "sched/hold": ("22.05", "sched/backfill"),
        "sched/wiki": ("22.05", "sched/backfill"),
        "sched/wiki2": ("22.05", "sched/backfill"),
    },
    "AccountingStorageType": {
        "accounting_storage/mysql": ("22.05", "accounting_storage/slurmdbd"),
        "accounting_storage/filetxt": ("22.05", "accounting_storage/slurmdbd"),
        "accounting_storage/pgsql": ("22.05", "accounting_storage/slurmdbd"),
    },
    "CryptoType": {"crypto/openssl": ("22.05", "crypto/munge")},
    "ProctrackType": {
        "proctrack/lua": ("22.05", "proctrack/cgroup"),
        "proctrack/sgi_job": ("22.05", "proctrack/cgroup"),
        "proctrack/aix": ("22.05", "proctrack/cgroup"),
        "proctrack/cray": ("22.05", "proctrack/cgroup"),
        "proctrack/cray_aries": ("24.11", "proctrack/cgroup"),
    },
    "TaskPlugin": {
        "task/cray": ("22.05", "task/cgroup,task/affinity"),
        "task/cray_aries": ("24.11", "task/cgroup,task/affinity"),
    },
    "TaskPluginParam": {"sched": ("22.05", None), "cpusets": ("22.05", None)},
    "JobCompType": {"jobcomp/slurmdbd": ("22.05", "jobcomp/none")},
    "TopologyPlugin": {"topology/node_rank": ("22.05", "topology/tree")},
}


def outdated(file: str, key: str) -> str | None:
    """What to write instead of a key that is still read, if it is an old one. `key` in Slurm's spelling."""
    return OUTDATED.get(file, {}).get(key)


def gone(file: str, key: str) -> str | None:
    """What to write instead of a key that no release of the table knows."""
    return GONE.get(file, {}).get(key.lower())


def replacement(option: str, value: str) -> tuple[str, str | None] | None:
    """First release without this value, and what to write instead."""
    return VALUES.get(option, {}).get(value.strip().lower())
