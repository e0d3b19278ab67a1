"""A deploy of a site file that lost a busy node stops before it changes anything."""

from __future__ import annotations

from hpcprov.leaving import jobs_of_leaving, jobs_of_lost_partitions
from hpcprov.plan.live import Live, parse


def live(said: str) -> Live:
    """The controller's words."""
    return parse("head", said)


SAID = """\
node n1
node n2
node n3
job 7|RUNNING|main|1:00:00|2|n[1-2]
job 8|SUSPENDED|main|1:00:00|1|n3
job 9|RUNNING|main|1:00:00|2|n[2-3]
job 10|PENDING|main|1:00:00|1|
"""


def test_jobs_are_told_by_node_that_leaves() -> None:
    assert jobs_of_leaving(live(SAID), ["n1"]) == {"n2": ["7", "9"], "n3": ["8", "9"]}


def test_nodes_that_stay_keep_their_jobs() -> None:
    assert jobs_of_leaving(live(SAID), ["n1", "n2", "n3", "n4"]) == {}


def test_an_idle_node_may_leave() -> None:
    assert jobs_of_leaving(live("node n1\nnode n9\njob 7|RUNNING|main|1:00|1|n1\n"), ["n1"]) == {}


def test_a_controller_without_slurm_has_no_nodes() -> None:
    assert jobs_of_leaving(live(""), ["n1"]) == {}
    assert jobs_of_leaving(live("job 7|RUNNING|main|1:00|1|n1\n"), []) == {}


QUEUED = """\
node n1
partition main
partition old
job 7|RUNNING|main|1:00|1|n1
job 8|PENDING|old|1:00|1|
job 9|PENDING|main,old|1:00|1|
"""


def test_jobs_are_told_by_partition_that_leaves() -> None:
    assert jobs_of_lost_partitions(live(QUEUED), ["main"]) == {"old": ["8", "9"]}


def test_partitions_that_stay_or_are_empty_keep_nothing_back() -> None:
    assert jobs_of_lost_partitions(live(QUEUED), ["main", "old", "new"]) == {}
    assert (
        jobs_of_lost_partitions(live("partition main\npartition old\njob 7|RUNNING|main|1:00|1|n1\n"), ["main"]) == {}
    )


def test_partitions_that_could_not_be_read_are_no_reason() -> None:
    assert jobs_of_lost_partitions(live(QUEUED), []) == {}
