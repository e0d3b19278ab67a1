"""What Slurm's clients print, and what we make of it."""

import socket
import subprocess

import pytest
from hpcprov.verify.remote import jobs

NODES = (
    "NodeName=node01 Arch=x86_64 CoresPerSocket=1 Sockets=2 NodeAddr=node01.data Port=16818 "
    "CPUAlloc=0 CPUTot=2 CPULoad=0.10 State=IDLE RealMemory=2000 "
    "Partitions=main,debug Version=22.05.8 OS=Linux 6.18 #1 SMP\n"
    "NodeName=node02 CPUTot=4 State=DOWN*+DRAIN RealMemory=2500 Partitions=main "
    "Reason=Low RealMemory (reported:1 < 2) [slurm@2026-12-01T04:00:00] Comment=x\n"
)


def test_nodes_are_read_with_their_reason():
    nodes = jobs.parse_nodes(NODES)
    assert nodes["node01"] == {
        "state": "IDLE", "reason": "", "partitions": ["main", "debug"], "cpus": 2, "memory": 2000, "slurm": "22.05.8",
        "cores": 2, "address": "node01.data", "port": 16818,
    }  # fmt: skip
    assert nodes["node02"]["reason"] == "Low RealMemory (reported:1 < 2) [slurm@2026-12-01T04:00:00]"


@pytest.mark.parametrize(
    ("state", "usable"),
    [("IDLE", True), ("MIXED", True), ("ALLOCATED", True), ("COMPLETING", True), ("IDLE+COMPLETING", True),
     ("IDLE+DRAIN", False), ("DOWN", False), ("IDLE*", False), ("UNKNOWN", False), ("DOWN+NOT_RESPONDING", False),
     ("IDLE+POWERED_DOWN", False)],
)  # fmt: skip
def test_jobs_go_only_where_they_could_start(state, usable):
    assert jobs.is_usable(state) is usable


def test_each_node_is_asked_in_one_partition_the_default_where_it_can():
    nodes = {"a": {"partitions": ["long", "main"]}, "b": {"partitions": ["gpu"]}, "c": {"partitions": []}}
    assert jobs.by_partition(nodes, "main") == {"main": ["a"], "gpu": ["b"]}


def test_told_lines_are_read_and_others_ignored():
    told = jobs.parse_told("Welcome|x\nNODE|node01|node01|64100|unlimited|1024|7|2|10.0.0.1\n")
    assert told == {
        "node01": {
            "hostname": "node01", "uid": "64100", "memlock": "unlimited", "nofile": "1024", "job": "7", "cpus": "2",
            "address": "10.0.0.1",
        }
    }  # fmt: skip


def test_reason_drops_what_says_nothing():
    text = (
        "srun: job 5 queued and waiting for resources\n"
        "srun: error: Task launch for StepId=5.0 failed on node node02: Invalid job credential\n"
        "srun: error: Application launch failed: Invalid job credential\n"
        "srun: Job step aborted\n"
    )
    assert jobs.reason(text) == (
        "Task launch for StepId=5.0 failed on node node02: Invalid job credential; "
        "Application launch failed: Invalid job credential"
    )
    assert jobs.reason("salloc: Force Terminated job 3\n") == "Force Terminated job 3"


class Slurm:
    """Stands for `tell`: some nodes run jobs only alone, some never."""

    def __init__(self, good, alone=()):
        self.good, self.alone, self.asked = set(good), set(alone), []

    def __call__(self, partition, names):
        self.asked.append((partition, sorted(names)))
        able = self.good | (self.alone if len(names) == 1 else set())
        return {name: {"job": "1"} for name in names if name in able}, "" if able >= set(names) else "refused"


def node(state="IDLE"):
    return {"state": state, "partitions": ["main"], "cpus": 2, "address": "n", "port": None}


def run(monkeypatch, slurm, nodes):
    monkeypatch.setattr(jobs, "tell", slurm)
    monkeypatch.setattr(jobs, "connect_error", lambda *_: "")
    monkeypatch.setattr(jobs, "default_partition", lambda: "main")
    monkeypatch.setattr(jobs, "command", lambda *_: (0, "NodeName=c State=DOWN* Reason=Not responding [x]\n", ""))
    jobs.job_on_every_node(nodes)
    return nodes


def test_one_job_serves_all_healthy_nodes(monkeypatch):
    slurm = Slurm(["a", "b", "c"])
    nodes = run(monkeypatch, slurm, {name: node() for name in "abc"})
    assert slurm.asked == [("main", ["a", "b", "c"])]
    assert all("told" in entry for entry in nodes.values())


def test_only_missed_nodes_are_tried_alone_and_say_why(monkeypatch):
    slurm = Slurm(["a"], alone=["b"])
    nodes = run(monkeypatch, slurm, {"a": node(), "b": node(), "c": node(), "d": node("DOWN")})
    assert slurm.asked[1:] == [("main", ["b"])]  # Slurm calls c down since the first job
    assert "told" in nodes["b"]
    noticed = "refused; Slurm called the node IDLE before and now DOWN* (Not responding [x])"
    assert nodes["c"]["error"] == noticed
    assert "told" not in nodes["d"]
    assert "error" not in nodes["d"]


def test_a_node_hears_what_is_about_it():
    error = "Task launch for StepId=5.0 failed on node node02: Invalid job credential; Application launch failed: x"
    assert jobs.about("node02", error) == "Task launch for StepId=5.0 failed on node node02: Invalid job credential"
    assert jobs.about("node01", error) == error


def test_a_full_node_is_busy_and_not_broken(monkeypatch):
    monkeypatch.setattr(jobs, "connect_error", lambda *_: "")
    monkeypatch.setattr(jobs, "tell", lambda *_: ({}, "Unable to allocate resources: Immediate execution impossible"))
    monkeypatch.setattr(jobs, "default_partition", lambda: "main")
    monkeypatch.setattr(jobs, "command", lambda *_: (1, "", ""))
    nodes = {"a": node("ALLOCATED"), "b": node("IDLE")}
    jobs.job_on_every_node(nodes)
    assert nodes["a"].get("busy")
    assert nodes["b"]["error"]


def test_openmp_program_counts_distinct_threads(tmp_path):
    (tmp_path / "openmp.c").write_text(jobs.OPENMP_SOURCE)
    built = subprocess.run(
        ["cc", "-fopenmp", "-Wall", "-Werror", "-o", "openmp", "openmp.c"], cwd=tmp_path, check=False
    )
    if built.returncode:
        pytest.skip("no C compiler with OpenMP here")
    environment = {"OMP_NUM_THREADS": "2", "SLURMD_NODENAME": "node01"}
    done = subprocess.run(["./openmp"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "THREADS|node01|2|2\n"


def test_a_client_that_hangs_is_ended():
    code, _, err = jobs.command(["sleep", "30"], 1)
    assert (code, "no answer within 1 s" in err) == (124, True)


@pytest.mark.parametrize("state", ["IDLE+COMPLETING", "UNKNOWN"])
def test_a_node_that_becomes_free_is_waited_for(monkeypatch, state):
    states = iter([state, state, "IDLE"])
    monkeypatch.setattr(jobs, "command", lambda words, limit: (0, f"NodeName=n1 State={next(states)} CPUTot=2", ""))
    monkeypatch.setattr(jobs.time, "sleep", lambda seconds: None)
    assert "State=IDLE " in jobs.settled_nodes(["n1"])[1]


@pytest.mark.parametrize("state", ["MIXED+COMPLETING", "ALLOCATED", "IDLE+COMPLETING+DRAIN", "DOWN*", "IDLE"])
def test_a_node_that_is_busy_or_out_of_use_is_not_waited_for(state):
    assert jobs.patience(state) == 0


def test_no_job_is_sent_to_a_node_whose_slurmd_cannot_be_reached(monkeypatch):
    slurm = Slurm(["a"])
    monkeypatch.setattr(jobs, "tell", slurm)
    monkeypatch.setattr(jobs, "default_partition", lambda: "main")
    monkeypatch.setattr(jobs, "command", lambda *_: (0, "SlurmdPort              = 16818\n", ""))
    monkeypatch.setattr(jobs, "connect_error", lambda address, port: f"{address}:{port}" if address == "far" else "")
    nodes = {"a": node(), "b": {**node(), "address": "far"}}
    jobs.job_on_every_node(nodes)
    assert slurm.asked == [("main", ["a"])]
    assert nodes["b"]["error"] == nodes["b"]["deaf"] == "far:16818"


def test_a_port_that_nobody_listens_on_is_told_soon(monkeypatch):
    monkeypatch.setattr(jobs, "RETRY_AFTER", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert jobs.connect_error("127.0.0.1", port) == ""
    assert jobs.connect_error("127.0.0.1", port) == f"slurmd's port {port} at 127.0.0.1: Connection refused"
