"""Values that need more than one slurmctld can show: a plugin, a database or a device that is not here."""

from __future__ import annotations

import pytest
from hpcprov.slurm.limits import partition_problem, setting_problem, together_problem


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SwitchType", "switch/hpe_slingshot"),
        ("JobCompType", "jobcomp/elasticsearch"),
        ("TopologyPlugin", "topology/block"),
        ("PriorityWeightTRES", "CPU=1000,Mem=2000,GRES/gpu:a100=3000"),
        ("AccountingStorageTRES", ["gres/gpu", "license/matlab", "bb/datawarp"]),
        ("AccountingStorageEnforce", "associations,limits,qos,safe"),
        ("DebugFlags", "AuditRPCs,conmgr,TLS"),
        ("RequeueExitHold", "[1-3],7"),
    ],
)
def test_valid_value_is_not_accused(name: str, value: object) -> None:
    assert setting_problem(name, value) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [("TRESBillingWeights", "CPU=1.0,Mem=0.25G,GRES/gpu=2.0"), ("CpuBind", "core,verbose"), ("OverSubscribe", "NO")],
)
def test_valid_value_of_a_partition_is_not_accused(name: str, value: object) -> None:
    assert partition_problem(name, value) is None


@pytest.mark.parametrize(
    "options",
    [
        {"PriorityDecayHalfLife": 0, "PriorityUsageResetPeriod": "MONTHLY"},
        {"PriorityDecayHalfLife": 0, "PriorityType": "priority/basic"},
        {"FirstJobId": "{{ first }}", "MaxJobId": 5},
        {},
    ],
)
def test_options_that_go_together(options: dict[str, object]) -> None:
    assert together_problem(options) is None
