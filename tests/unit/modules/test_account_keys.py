"""What `hpcprov validate` says about accounts is what hpc_sacctmgr, which stands alone on its host, can do."""

from __future__ import annotations

from typing import Any

import pytest
from hpcprov.slurm import accounts
from module_loader import load_module

sacctmgr = load_module("hpc_sacctmgr")


def by_name(keys: Any) -> dict[str, Any]:
    return {key[0]: key for key in keys}


def test_both_know_the_same_keys() -> None:
    assert by_name(accounts.ASSOCIATION_KEYS) == by_name(sacctmgr.ASSOCIATION_KEYS)
    assert by_name(accounts.QOS_KEYS) == by_name(sacctmgr.QOS_KEYS)
    assert accounts.ACCOUNT_WORDS == sacctmgr.ACCOUNT_WORDS
    assert accounts.USER_WORDS == sacctmgr.USER_WORDS
    assert accounts.QOS_WORDS == sacctmgr.QOS_WORDS
    assert accounts.UNLIMITED == sacctmgr.UNLIMITED


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MaxJobs", 3),
        ("MaxJobs", "unlimited"),
        ("MaxJobs", -1),
        ("MaxJobs", None),
        ("Fairshare", "parent"),
        ("Fairshare", 60),
        ("GrpTRES", {"cpu": 256, "mem": "1.5T", "gres/gpu": 8, "node": -1}),
        ("GrpTRES", "cpu=16,mem=64G"),
        ("GrpTRESMins", ["cpu=1000"]),
        ("MaxWall", "2-00:00:00"),
        ("MaxWall", 90),
        ("QOS", ["normal", "high"]),
        ("QOS", "normal,high"),
        ("DefaultQOS", "high"),
        ("GraceTime", 60),
        ("UsageFactor", 1.5),
        ("Flags", ["DenyOnLimit", "nodecay"]),
        ("PreemptMode", "requeue"),
    ],
)
def test_a_good_value_is_good_for_both(name: str, value: Any) -> None:
    limit = accounts.limit_of(name, accounts.ASSOCIATION_KEYS) or accounts.limit_of(name, accounts.QOS_KEYS)
    assert limit is not None
    assert accounts.value_problem(*limit, value) is None
    sacctmgr.canonical(limit[1], value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MaxJobs", "many"),
        ("MaxJobs", -3),
        ("MaxJobs", True),
        ("MaxJobs", 1.5),
        ("Fairshare", "lots"),
        ("GrpTRES", {"cpoo": 3}),
        ("GrpTRES", {"cpu": "many"}),
        ("GrpTRES", {"gres/": 1}),
        ("GrpTRES", "cpu"),
        ("GrpTRES", 4),
        ("MaxWall", "soon"),
        ("MaxWall", "-30"),
        ("QOS", ["a b"]),
        ("QOS", {"a": 1}),
        ("Flags", "Foo"),
        ("PreemptMode", "kill"),
        ("UsageFactor", "much"),
    ],
)
def test_a_bad_value_is_told(name: str, value: Any) -> None:
    limit = accounts.limit_of(name, accounts.ASSOCIATION_KEYS) or accounts.limit_of(name, accounts.QOS_KEYS)
    assert limit is not None
    assert accounts.value_problem(*limit, value)
