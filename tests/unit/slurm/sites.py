"""Sites out of hypothesis: what admins write, and what they might write by mistake."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

NAMES = ("node[1:4]", "c[008:011]", "gpu-[01:03]", "x[a:c]", "n1", "3750")
_ODD_NUMBERS = ["{{ 2 * 2 }}", "16", "4k", "4G", 1.5, True, "", "UNLIMITED", "NONE", "1:30"]
NUMBERS = st.integers(-1, 70000) | st.sampled_from(_ODD_NUMBERS)
TIMES = st.sampled_from([90, "1:30:00", "2-00:00:00", "UNLIMITED", "INFINITE", "forever", 0, -1, "1-25", "1:90"])
WORDS = st.sampled_from(["a", "b_c", "d-e", "DEFAULT", "a,b", "x y", "ALL", "on", "1", "é", "a=b", "a#b", 'q"'])

NODE = st.fixed_dictionaries(
    {},
    optional={
        "CPUs": NUMBERS,
        "Boards": st.sampled_from([1, 0, 2]),
        "Sockets": st.sampled_from([1, 2, 4]),
        "CoresPerSocket": st.sampled_from([1, 8, 0, "x"]),
        "ThreadsPerCore": st.sampled_from([1, 2]),
        "RealMemory": NUMBERS,
        "MemSpecLimit": NUMBERS,
        "CoreSpecCount": st.sampled_from([0, 1, 2, 16, 99]),
        "TmpDisk": NUMBERS,
        "Port": NUMBERS,
        "Weight": NUMBERS,
        "State": WORDS,
        "Feature": WORDS,
        "Reason": WORDS,
    },
)
GRES = st.sampled_from(
    ["gpu:4", "gpu:a100:2", "gpu:a100", "gpu", "gpu:0", "gpu:-1", "shard:8", "gpu:a100:1,gpu:l4:2", ""]
)
PARTITION = st.fixed_dictionaries(
    {"name": WORDS},
    optional={
        "nodes": st.sampled_from(["ALL", "compute", "gpus", "node[1-2]", "c[008-009]", ["gpus", "n1"], "nobody", ""]),
        "default": st.booleans(),
        "max_time": TIMES,
        "DefaultTime": TIMES,
        "MaxNodes": NUMBERS,
        "MinNodes": NUMBERS,
        "PriorityTier": NUMBERS,
        "State": st.sampled_from(["UP", "DOWN", "up", "sideways"]),
        "OverSubscribe": st.sampled_from(["NO", "FORCE:2", "YES:4", "MAYBE"]),
        "AllowGroups": WORDS | st.lists(WORDS, max_size=2),
        "DefMemPerCPU": NUMBERS,
        "MaxMemPerNode": NUMBERS,
        "PreemptMode": st.sampled_from(["OFF", "REQUEUE", "SOMETIMES"]),
        "GraceTime": NUMBERS,
        "ExclusiveUser": st.booleans(),
        "CpuBind": st.sampled_from(["core", "none", "rank", True]),
        "SelectTypeParameters": st.sampled_from(["CR_Core", "CR_Socket_Memory", "CR_CPU"]),
        "TRESBillingWeights": st.sampled_from(["CPU=1.0,Mem=0.25G", "cpu", "mem=much"]),
        "ResumeTimeout": NUMBERS,
        "LLN": st.sampled_from(["YES", "NO", True]),
        "Alternate": WORDS,
    },
)
CONFIG = st.fixed_dictionaries(
    {},
    optional={
        "MaxJobCount": NUMBERS,
        "MaxArraySize": NUMBERS,
        "MessageTimeout": NUMBERS,
        "SlurmdTimeout": NUMBERS,
        "SchedulerParameters": st.sampled_from(
            ["bf_window=100", "bf_max_job_test=1", "bf_max_job_test=500,defer", ["defer", "bf_continue"]]
        ),
        "PriorityType": st.sampled_from(["priority/multifactor", "priority/basic", "priority/guess"]),
        "PriorityDecayHalfLife": TIMES,
        "PriorityWeightAge": NUMBERS,
        "PriorityWeightQOS": NUMBERS,
        "SelectTypeParameters": st.sampled_from(["CR_Core", "CR_Core_Memory", "CR_CPU", "CR_Nothing"]),
        "ReturnToService": st.sampled_from([0, 1, 2, 3]),
        "TreeWidth": NUMBERS,
        "UnkillableStepTimeout": NUMBERS,
        "Licenses": st.sampled_from(["matlab:4", "matlab", "matlab:x", "a:1,b:2"]),
        "EnforcePartLimits": st.sampled_from(["ALL", "ANY", "NO", True, False, "SOME"]),
        "DefMemPerCPU": NUMBERS,
        "PrivateData": st.sampled_from(["jobs,usage", "nothing", ["jobs"]]),
        "ResumeTimeout": NUMBERS,
        "SuspendTime": NUMBERS,
        "HealthCheckInterval": NUMBERS,
        "HealthCheckNodeState": st.sampled_from(["ANY", "IDLE,CYCLE", "SLEEPING"]),
        "DebugFlags": st.sampled_from(["NO_CONF_HASH", "Backfill,Gres", "Everything"]),
        "MaxStepCount": NUMBERS,
        "MinJobAge": NUMBERS,
        "KillWait": NUMBERS,
        "FirstJobId": NUMBERS,
        "MaxJobId": NUMBERS,
        "DisableRootJobs": st.booleans() | WORDS,
        "PriorityMaxAge": TIMES,
        "PriorityCalcPeriod": TIMES,
        "PriorityUsageResetPeriod": st.sampled_from(["NONE", "weekly", "sometimes"]),
        "PriorityWeightTRES": st.sampled_from(["CPU=1000", "cpu", "CPU=many"]),
        "PropagateResourceLimitsExcept": st.sampled_from(["MEMLOCK", "ALL", "nofile,STACK", "memory"]),
        "AccountingStorageTRES": st.sampled_from(["gres/gpu", "cpu,mem", "gpus"]),
        "JobCompType": st.sampled_from(["jobcomp/none", "none", "jobacct_gather/linux"]),
        "SwitchType": st.sampled_from(["switch/none", "none"]),
        "RequeueExit": st.sampled_from([1, "1,5-7", "many"]),
        "SlurmctldDebug": st.sampled_from(["info", "debug2", 3, "loud"]),
    },
)


@st.composite
def sites(draw: st.DrawFn) -> dict[str, Any]:
    """A site as its YAML reads; most of them have something wrong."""
    patterns = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    hosts: dict[str, Any] = {}
    for number, pattern in enumerate(patterns):
        step = "{{ groups['all'].index(inventory_hostname) + 10 }}"
        hosts[pattern] = {"ansible_host": f"10.1.{number}.{step}"}
        hosts[pattern] |= draw(
            st.fixed_dictionaries(
                {}, optional={"slurm_node": NODE, "slurm_gres": GRES, "slurm_weight": NUMBERS, "slurm_features": WORDS}
            )
        )
    variables = {
        "cluster_name": "fuzz",
        "cluster_network": "10.1.0.0/16",
        "nfs_mounts": [{"path": "/shared", "server": "nas"}],
    }
    variables |= draw(
        st.fixed_dictionaries(
            {}, optional={"slurm_partitions": st.lists(PARTITION, max_size=3), "slurm_config": CONFIG}
        )
    )
    return {
        "all": {"vars": variables},
        "controller": {"hosts": {"head": {"ansible_host": "10.1.200.1"}}},
        "database": {"hosts": {"head": None}},
        "compute": {"hosts": hosts, "children": {"gpus": {"hosts": {patterns[0]: None}}}},
    }
