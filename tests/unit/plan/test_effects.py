"""The table of costs: complete, and true to the manual of each release."""

from __future__ import annotations

import pytest
from hpcprov.plan import effects
from hpcprov.plan.effects import Effect, of_node, of_option
from hpcprov.slurm import startup
from hpcprov.slurm.keys import releases, table

RECORDS = ("NodeName", "PartitionName")


@pytest.mark.parametrize("release", releases())
def test_every_option_that_slurm_knows_has_a_cost(release: str) -> None:
    names = [key.name for key in table("slurm.conf").keys.values() if key.name not in RECORDS]
    assert [name for name in names if not of_option(name, release).known] == []
    aliases = ("Feature", "Procs")  # read as Features and CPUs
    nodes = [key.name for key in table("slurm.conf NodeName").keys.values() if key.name not in aliases]
    assert [name for name in nodes if not of_node(name, release, {}, {}).known] == []


def test_every_row_names_options_that_slurm_has_and_a_source() -> None:
    for rules, what in ((effects.OPTIONS, "slurm.conf"), (effects.NODES, "slurm.conf NodeName")):
        keys = table(what)
        for rule in rules:
            assert [key for key in rule.keys.split() if keys.find(key) is None] == []
            assert rule.source
            assert rule.effect.weight < Effect.DRAINED.weight or rule.why, rule.keys


def test_no_option_stands_in_two_rows_of_one_release() -> None:
    seen: set[tuple[str, str]] = set()
    shadowed = []
    for rule in effects.OPTIONS:
        for key in rule.keys.split():
            for release in releases():
                if not rule.holds(release):
                    continue
                if (key, release) in seen:
                    shadowed.append((key, release))
                seen.add((key, release))
    # The rows for 23.11 and later stand behind those up to 23.02 and have no `since` of their own.
    assert {key for key, release in shadowed if release > effects.REREADS} == set()


def test_what_hpcprov_restarts_slurmd_for_needs_that_in_a_release_that_only_rereads() -> None:
    mild = (Effect.NONE, Effect.RECONFIGURE, Effect.SLURMCTLD)
    assert [name for name in startup.OPTIONS if of_option(name, "22.05").effect in mild] == []


@pytest.mark.parametrize(
    ("key", "release", "effect"),
    [
        ("SlurmctldDebug", "22.05", Effect.NONE),
        ("MessageTimeout", "22.05", Effect.RECONFIGURE),
        ("SchedulerType", "22.05", Effect.SLURMCTLD),
        ("SchedulerType", "23.02", Effect.SLURMCTLD),
        ("SchedulerType", "23.11", Effect.RECONFIGURE),
        ("CoreSpecPlugin", "23.02", Effect.SLURMD),
        ("GresTypes", "23.02", Effect.BOTH),
        ("GresTypes", "24.05", Effect.RECONFIGURE),
        ("JobAcctGatherType", "22.05", Effect.DRAINED),
        ("JobAcctGatherType", "23.02", Effect.BOTH),
        ("JobAcctGatherType", "26.05", Effect.RECONFIGURE),
        ("SlurmctldPort", "26.05", Effect.BOTH),
        ("AuthType", "26.05", Effect.DRAINED),
        ("SelectType", "26.05", Effect.EMPTY),
        ("StateSaveLocation", "24.11", Effect.EMPTY),
        ("ClusterName", "24.11", Effect.REFUSED),
        ("statesavelocation", "24.11", Effect.EMPTY),
    ],
)
def test_cost_of_an_option(key: str, release: str, effect: Effect) -> None:
    assert of_option(key, release).effect is effect


def test_an_option_that_nobody_knows_costs_much_and_says_so() -> None:
    cost = of_option("BrandNewOption", "26.05")
    assert (cost.effect, cost.known) == (Effect.BOTH, False)
    assert "not in the table" in cost.source


def test_exceptions_of_the_manual() -> None:
    assert of_option("SelectType", "22.05", "select/cons_res", "select/cons_tres").effect is Effect.BOTH
    assert of_option("SelectType", "22.05", "select/linear", "select/cons_tres").effect is Effect.EMPTY
    assert of_option("SlurmctldHost", "22.05", "head(10.0.0.1)", "head(10.0.0.1),head2(10.0.0.2)").effect is Effect.BOTH
    assert of_option("AuthType", "22.05", None, "auth/munge").effect is Effect.RECONFIGURE
    assert of_option("AuthType", "22.05", "auth/slurm", None).effect is Effect.DRAINED
    assert of_option("SlurmctldHost", "22.05", "head(10.0.0.1)", "head2(10.0.0.2)").effect is Effect.EMPTY


@pytest.mark.parametrize(
    ("old", "new", "effect"),
    [
        ({"CPUs": "2"}, {"CPUs": "1"}, Effect.DRAINED),
        # Threads are no cores: slurmctld counts cores only.
        (
            {"CPUs": "4", "SocketsPerBoard": "1", "CoresPerSocket": "4"},
            {"CPUs": "8", "SocketsPerBoard": "1", "CoresPerSocket": "4"},
            Effect.BOTH,
        ),
        ({"CPUs": "4"}, {"CPUs": "4", "SocketsPerBoard": "2", "CoresPerSocket": "2"}, Effect.BOTH),
    ],
)
def test_other_cores_end_jobs_and_other_threads_do_not(
    old: dict[str, str], new: dict[str, str], effect: Effect
) -> None:
    assert of_node("CPUs", "22.05", old, new).effect is effect


def test_a_node_that_changes_can_be_reconfigured_since_24_11() -> None:
    assert of_node("RealMemory", "24.05", {}, {}).effect is Effect.BOTH
    assert of_node("RealMemory", "24.11", {}, {}).effect is Effect.RECONFIGURE
    assert of_node("Weight", "22.05", {}, {}).effect is Effect.RECONFIGURE
