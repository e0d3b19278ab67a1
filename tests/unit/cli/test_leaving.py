"""A deploy of a site file that lost a busy node stops before it changes anything."""

from __future__ import annotations

from hpcprov.leaving import jobs_of_leaving, jobs_of_lost_partitions

SAID = """\
node n1
node n2
node n3
job 7 n[1-2]
job 8 n3
job 9 n[2-3]
"""


def test_jobs_are_told_by_node_that_leaves() -> None:
    assert jobs_of_leaving(SAID, ["n1"]) == {"n2": ["7", "9"], "n3": ["8", "9"]}


def test_nodes_that_stay_keep_their_jobs() -> None:
    assert jobs_of_leaving(SAID, ["n1", "n2", "n3", "n4"]) == {}


def test_an_idle_node_may_leave() -> None:
    assert jobs_of_leaving("node n1\nnode n9\njob 7 n1\n", ["n1"]) == {}


def test_a_controller_without_slurm_has_no_nodes() -> None:
    assert jobs_of_leaving("", ["n1"]) == {}
    assert jobs_of_leaving("job 7 n1\n", []) == {}


QUEUED = """\
node n1
job 7 n1
partition main
partition old
queued 7 main
queued 8 old
queued 9 main,old
"""


def test_jobs_are_told_by_partition_that_leaves() -> None:
    assert jobs_of_lost_partitions(QUEUED, ["main"]) == {"old": ["8", "9"]}


def test_partitions_that_stay_or_are_empty_keep_nothing_back() -> None:
    assert jobs_of_lost_partitions(QUEUED, ["main", "old", "new"]) == {}
    assert jobs_of_lost_partitions("partition main\npartition old\nqueued 7 main\n", ["main"]) == {}


def test_partitions_that_could_not_be_read_are_no_reason() -> None:
    assert jobs_of_lost_partitions(QUEUED, []) == {}
