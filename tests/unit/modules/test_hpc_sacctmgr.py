"""The plan of hpc_sacctmgr: real `sacctmgr -nP` output (Slurm 22.05.8) in, needed commands out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from module_loader import load_module

sacctmgr = load_module("hpc_sacctmgr")

FRESH = {
    "clusters": "",
    "tres": "cpu|\nmem|\nenergy|\nnode|\nbilling|\nfs|disk\nvmem|\npages|\n",
    "qos": "normal|Normal QOS default|0|00:00:00|||cluster|||1.000000|" + "|" * 23 + "\n",
    "accounts": "root|default root account|root\n",
    "users": "root|root|Administrator\n",
    "associations": "",
}


def association(account: str, user: str = "", parent: str = "", partition: str = "", **limits: str) -> str:
    """One line of `sacctmgr -nP show assoc` in our format."""
    values = [limits.get(name, "") for name, _, _ in sacctmgr.ASSOCIATION_KEYS]
    return "|".join([account, user, partition, parent, *values]) + "\n"


def qos_line(name: str, **values: str) -> str:
    """One line of `sacctmgr -nP show qos` in our format, with what Slurm prints for a QOS without limits."""
    shown = {"Description": name, "Priority": "0", "GraceTime": "00:00:00", "PreemptMode": "cluster"}
    shown |= {"UsageFactor": "1.000000"} | values
    return "|".join([name, *(shown.get(key, "") for key, _, _ in sacctmgr.QOS_KEYS)]) + "\n"


def state(**texts: str) -> dict[str, Any]:
    """The database after the cluster was registered, with some outputs replaced."""
    base = FRESH | {
        "clusters": "lab\n",
        "associations": association("root", Fairshare="1", QOS="normal") + association("root", "root", Fairshare="1"),
    }
    parsed: dict[str, Any] = sacctmgr.parse_state(base | texts)
    return parsed


def commands(accounts: list[dict[str, Any]], qos: list[dict[str, Any]] | None = None, current: Any = None) -> list[str]:
    """The planned commands as text."""
    plan = sacctmgr.make_plan("lab", accounts, qos or [], current or state())
    return [" ".join(command) for command in plan.commands]


PHYSICS = association(
    "physics",
    parent="root",
    Fairshare="10",
    GrpTRES="cpu=10,mem=2000M",
    MaxJobs="5",
    MaxWall="01:00:00",
    QOS="high,normal",
    DefaultQOS="normal",
)
ROOT = association("root", Fairshare="1", QOS="normal") + association("root", "root", Fairshare="1")
WITH_PHYSICS = {
    "accounts": "physics|the physicists|uni\nroot|default root account|root\n",
    "users": "alice|physics|None\nroot|root|Administrator\n",
    "associations": ROOT + PHYSICS + association("physics", "alice", Fairshare="1"),
}


def test_fresh_database_registers_cluster_then_accounts_then_users() -> None:
    plan = commands(
        [{"name": "hpcprov", "description": "Checks", "users": ["hpcsmoke"]}],
        [{"name": "high", "Priority": 100, "Flags": ["DenyOnLimit"]}],
        sacctmgr.parse_state(FRESH),
    )
    assert plan == [
        "add cluster lab",
        "add qos high Priority=100 Flags=DenyOnLimit",
        "add account hpcprov Cluster=lab Description=Checks Organization=hpcprov Parent=root",
        "add user hpcsmoke Account=hpcprov Cluster=lab",
    ]


def test_same_state_in_other_words_needs_nothing() -> None:
    account = {
        "name": "Physics",
        "description": "The physicists",
        "organization": "Uni",
        "parent": "root",
        "fairshare": 10,
        "GrpTRES": {"mem": 2000, "cpu": 10},
        "maxjobs": 5,
        "MaxWallDurationPerJob": 60,
        "qos": ["normal", "high"],
        "DefaultQOS": "normal",
        "users": ["alice"],
    }
    assert commands([account], current=state(**WITH_PHYSICS)) == []


def test_only_the_limit_that_differs_is_set() -> None:
    account = {"name": "physics", "MaxJobs": 6, "MaxWall": "1:00:00", "users": [{"name": "alice", "MaxJobs": 2}]}
    assert commands([account], current=state(**WITH_PHYSICS)) == [
        "modify account where name=physics cluster=lab set MaxJobs=6",
        "modify user where name=alice account=physics cluster=lab set MaxJobs=2",
    ]


def test_tres_that_is_no_longer_named_is_cleared() -> None:
    account = {"name": "physics", "GrpTRES": "cpu=12,node=3"}
    assert commands([account], current=state(**WITH_PHYSICS)) == [
        "modify account where name=physics cluster=lab set GrpTRES=cpu=12,node=3,mem=-1"
    ]


@pytest.mark.parametrize("value", [-1, "unlimited", None, ""])
def test_limit_is_cleared(value: object) -> None:
    assert commands([{"name": "physics", "MaxJobs": value}], current=state(**WITH_PHYSICS)) == [
        "modify account where name=physics cluster=lab set MaxJobs=-1"
    ]


def test_qos_list_is_cleared() -> None:
    assert commands([{"name": "physics", "QOS": []}], current=state(**WITH_PHYSICS)) == [
        "modify account where name=physics cluster=lab set QOS="
    ]


def test_description_is_changed_on_the_record_not_on_the_association() -> None:
    assert commands([{"name": "physics", "description": "Physics"}], current=state(**WITH_PHYSICS)) == [
        "modify account where name=physics set Description=Physics"
    ]


def test_account_whose_associations_were_deleted_is_associated_again() -> None:
    current = state(accounts="physics|the physicists|uni\nroot|default root account|root\n")
    assert commands([{"name": "physics", "description": "The physicists"}], current=current) == [
        "add account physics Cluster=lab Parent=root"
    ]


def test_parents_are_made_before_their_children() -> None:
    accounts = [{"name": "theory", "parent": "physics"}, {"name": "physics"}]
    assert [command.split()[2] for command in commands(accounts)] == ["physics", "theory"]


def test_account_moves_to_another_parent() -> None:
    accounts = [{"name": "physics", "parent": "science"}, {"name": "science"}]
    assert commands(accounts, current=state(**WITH_PHYSICS)) == [
        "add account science Cluster=lab Description=science Organization=science Parent=root",
        "modify account where name=physics cluster=lab set Parent=science",
    ]


def test_unknown_parent_is_named() -> None:
    with pytest.raises(sacctmgr.PlanError, match="account theory: its parent physic does not exist"):
        commands([{"name": "theory", "parent": "physic"}])


def test_unknown_key_is_refused_with_what_is_known() -> None:
    with pytest.raises(sacctmgr.PlanError, match=r"account a: Slurm knows no MaxJob\. Known: Fairshare, GrpTRES"):
        commands([{"name": "a", "MaxJob": 3}])


def test_value_that_is_no_number_is_refused() -> None:
    with pytest.raises(sacctmgr.PlanError, match="account a: MaxJobs cannot be 'many'"):
        commands([{"name": "a", "MaxJobs": "many"}])


def test_first_account_of_a_new_user_is_the_one_marked_default() -> None:
    accounts = [{"name": "a", "users": ["bob"]}, {"name": "b", "users": [{"name": "bob", "default": True}]}]
    users = [command for command in commands(accounts) if "user" in command]
    assert users == ["add user bob Account=b Cluster=lab", "add user bob Account=a Cluster=lab"]


def test_default_account_that_an_admin_chose_stays_unless_the_site_says_otherwise() -> None:
    accounts = [{"name": "chem", "users": ["alice"]}]
    assert commands(accounts, current=state(**WITH_PHYSICS))[1:] == ["add user alice Account=chem Cluster=lab"]
    accounts = [{"name": "chem", "users": [{"name": "alice", "default": True}]}]
    assert commands(accounts, current=state(**WITH_PHYSICS))[2:] == [
        "modify user where name=alice cluster=lab set DefaultAccount=chem"
    ]


def test_admin_level_is_set_once() -> None:
    accounts = [{"name": "physics", "users": [{"name": "alice", "admin_level": "admin"}]}]
    assert commands(accounts, current=state(**WITH_PHYSICS)) == ["modify user where name=alice set AdminLevel=admin"]
    admin = WITH_PHYSICS | {"users": "alice|physics|Administrator\n"}
    assert commands(accounts, current=state(**admin)) == []


def test_absent_is_removed_once() -> None:
    accounts = [{"name": "physics", "users": [{"name": "alice", "state": "absent"}]}]
    assert commands(accounts, current=state(**WITH_PHYSICS)) == [
        "delete user where name=alice account=physics cluster=lab"
    ]
    accounts = [{"name": "physics", "state": "absent"}]
    assert commands(accounts, current=state(**WITH_PHYSICS)) == ["delete account where name=physics cluster=lab"]
    assert commands(accounts) == []


def test_what_the_site_does_not_name_is_left_alone() -> None:
    assert commands([], current=state(**WITH_PHYSICS)) == []


def test_qos_as_slurm_prints_it_needs_nothing() -> None:
    shown = qos_line(
        "high", Priority="100", GraceTime="00:01:00", Preempt="normal", PreemptMode="requeue",
        Flags="DenyOnLimit,NoReserve", UsageFactor="2.000000", GrpTRESMins="cpu=100000,mem=1T",
        MaxWall="1-01:00:00", MaxTRESPU="cpu=2,mem=4G", MaxJobsPU="3",
    )  # fmt: skip
    wanted = {
        "name": "high", "priority": 100, "GraceTime": 60, "Preempt": "normal", "PreemptMode": "REQUEUE",
        "flags": ["NoReserve", "DenyOnLimit"], "UsageFactor": 2, "GrpTRESMins": "cpu=100k,mem=1024G",
        "MaxWall": "25:00:00", "MaxTRESPerUser": {"cpu": 2, "mem": "4096M"}, "MaxJobsPerUser": 3,
    }  # fmt: skip
    assert commands([], [wanted], state(qos=FRESH["qos"] + shown)) == []
    assert commands([], [wanted | {"MaxWall": "1-0"}], state(qos=FRESH["qos"] + shown)) == [
        "modify qos where name=high set MaxWall=1-0"
    ]


def test_real_line_of_the_default_qos_is_read() -> None:
    assert state()["qos"]["normal"]["UsageFactor"] == "1.000000"
    assert commands([], [{"name": "normal", "priority": 0, "Flags": []}]) == []


def test_qos_is_removed_after_the_accounts_let_go_of_it() -> None:
    current = state(**WITH_PHYSICS, qos=FRESH["qos"] + qos_line("high"))
    plan = commands([{"name": "physics", "QOS": "normal"}], [{"name": "high", "state": "absent"}], current)
    assert plan == [
        "modify account where name=physics cluster=lab set QOS=normal",
        "delete qos where name=high",
    ]


def test_limit_on_gpus_waits_until_the_controller_has_registered_them() -> None:
    account = {"name": "physics", "GrpTRES": "gres/gpu=4", "MaxJobs": 6}
    plan = sacctmgr.make_plan("lab", [account], [], state(**WITH_PHYSICS))
    assert plan.commands == [["modify", "account", "where", "name=physics", "cluster=lab", "set", "MaxJobs=6"]]
    assert plan.deferred == ["account physics: GrpTRES"]
    known = state(**WITH_PHYSICS, tres=FRESH["tres"] + "gres|gpu\n")
    plan = sacctmgr.make_plan("lab", [account], [], known)
    assert "GrpTRES=gres/gpu=4,cpu=-1,mem=-1" in plan.commands[0]
    assert plan.deferred == []


def test_association_with_a_partition_is_not_taken_for_the_plain_one() -> None:
    rows = ROOT + PHYSICS + association("physics", "alice", partition="gpu")
    plan = commands([{"name": "physics", "users": ["alice"]}], current=state(**WITH_PHYSICS | {"associations": rows}))
    assert plan == ["add user alice Account=physics Cluster=lab"]


def test_diff_says_before_and_after() -> None:
    plan = sacctmgr.make_plan("lab", [{"name": "physics", "MaxJobs": 6}], [], state(**WITH_PHYSICS))
    assert (plan.before, plan.after) == (["account physics: MaxJobs=5"], ["account physics: MaxJobs=6"])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60", 3600), ("90:30", 5430), ("01:00:00", 3600), ("1-0", 86400), ("1-01:30", 91800), ("1-01:00:00", 90000)],
)
def test_slurm_times(text: str, seconds: int) -> None:
    assert sacctmgr.seconds_of(text, 60) == seconds


@given(st.integers(min_value=1, max_value=10**8))
def test_time_as_slurm_prints_it_reads_back(seconds: int) -> None:
    days, rest = divmod(seconds, 86400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    assert sacctmgr.seconds_of(f"{days}-{clock}" if days else clock, 60) == seconds
