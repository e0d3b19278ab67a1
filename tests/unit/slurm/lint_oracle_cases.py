"""Configurations that lint and slurmctld both judge."""

from __future__ import annotations

from dataclasses import dataclass, field

NODES = "NodeName=c[1-2] NodeAddr=127.0.0.[11-12] CPUs=2 RealMemory=100\n"
PARTITION = "PartitionName=p Nodes=c[1-2] Default=YES\n"


@dataclass(frozen=True)
class Case:
    """Lines of slurm.conf and files beside it. `rule` is what lint must say, none if the case is right."""

    name: str
    rule: str | None = None
    extra: str = ""
    nodes: str = NODES
    partition: str = PARTITION
    files: dict[str, str] = field(default_factory=dict)
    without: str | None = None
    seconds: float = 20


TREE = "TopologyPlugin=topology/tree\n"
CASES = [
    Case("plain"),
    Case("continued, quoted, any case", None, 'KILLWAIT = 30 # c\nPrologFlags="Contain"\nTreeWidth=\\\n  20\n'),
    Case("unknown key", "unknown-key", "Foo=1\n"),
    Case(
        "misspelt key of a node", "unknown-key", nodes="NodeName=c[1-2] NodeAddr=127.0.0.[11-12] CPU=2 RealMemory=100\n"
    ),
    Case("key of a partition at the top", "unknown-key", "MaxTime=5\n"),
    Case("no key=value", "syntax", "Foo\n"),
    Case("no value", "syntax", "TreeWidth=\n"),
    Case("value with a blank", "syntax", "SlurmctldParameters=foo bar\n"),
    Case("two settings on a line", "one-setting-a-line", "MaxJobCount=10 KillWait=3\n"),
    Case("word for a number", "value", "MaxJobCount=abc\n"),
    Case("number too large", "value", "SlurmctldTimeout=70000\n"),
    Case("word for yes", "value", "DisableRootJobs=maybe\n"),
    Case(
        "SLM-01 memory with a fraction",
        "value",
        nodes="NodeName=c[1-2] NodeAddr=127.0.0.[11-12] CPUs=2 RealMemory=3819.5\n",
    ),
    Case("no such plugin", "choice", "SchedulerType=sched/nonesuch\n"),
    Case("SLM-22 old keys are still read", None, "FastSchedule=1\nSelectType=select/cons_res\n"),
    Case("SLM-22 ControlMachine beside SlurmctldHost", "controller", "ControlMachine=x\n"),
    Case("no controller", "controller", without="SlurmctldHost"),
    Case("no cluster name", "cluster-name", without="ClusterName"),
    Case("SLM-13 no nodes", "no-nodes", nodes="", partition="PartitionName=p Nodes=ALL\n"),
    Case("only a default partition", "no-nodes", partition="PartitionName=DEFAULT MaxTime=5\n"),
    Case("SLM-11 node twice", "node-twice", nodes=NODES + "NodeName=c1 NodeAddr=127.0.0.1 CPUs=2 RealMemory=100\n"),
    Case("Ansible range", "hostlist", nodes="NodeName=c[1:2] NodeAddr=127.0.0.1 CPUs=2 RealMemory=100\n"),
    Case(
        "SLM-06 arithmetic",
        "cpus",
        nodes="NodeName=c[1-2] NodeAddr=127.0.0.[11-12] CPUs=7 Sockets=1 CoresPerSocket=2 RealMemory=100\n",
    ),
    Case(
        "cores, not threads",
        None,
        nodes="NodeName=c[1-2] NodeAddr=127.0.0.[11-12] CPUs=2 Sockets=1 CoresPerSocket=2 ThreadsPerCore=2\n",
    ),
    Case(
        "DEFAULT persists",
        None,
        nodes="NodeName=DEFAULT CPUs=2 RealMemory=100\n"
        "NodeName=c1 NodeAddr=127.0.0.1\nNodeName=c2 NodeAddr=127.0.0.2\n",
    ),
    *(
        Case(
            f"{numbers} leaves the sockets to Slurm",
            None,
            nodes=f"NodeName=c[1-2] NodeAddr=127.0.0.11 {numbers} RealMemory=9\n",
        )
        for numbers in ("CPUs=4 ThreadsPerCore=1", "CPUs=4 CoresPerSocket=2", "CPUs=4 Boards=2", "CPUs=8 Boards=2")
    ),
    *(
        Case(
            f"{numbers} fits no number of sockets",
            "cpus",
            nodes=f"NodeName=c[1-2] NodeAddr=127.0.0.11 {numbers} RealMemory=9\n",
        )
        for numbers in ("CPUs=5 CoresPerSocket=2", "CPUs=4 Sockets=2", "CPUs=3 CoresPerSocket=4")
    ),
    Case("parameter that went", "old-value", "TaskPluginParam=Sched\n"),
    Case("SLM-15 unknown node", "partition-nodes", partition="PartitionName=p Nodes=c[1-3] Default=YES\n"),
    Case("SLM-15 node of another case", "partition-nodes", partition="PartitionName=p Nodes=C1 Default=YES\n"),
    Case("node set", None, partition="NodeSet=s Nodes=c1\nPartitionName=p Nodes=s,c2 Default=YES\n"),
    Case("node set unknown", "partition-nodes", partition="PartitionName=p Nodes=s Default=YES\n"),
    Case("SLM-17 partition twice", "partition-twice", partition=PARTITION + "PartitionName=p MaxTime=5\n"),
    Case("SLM-12 empty partition, quoted", None, partition=PARTITION + 'PartitionName=q Nodes=""\n'),
    Case("limits without accounting", "accounting-missing", "AccountingStorageEnforce=limits\n"),
    Case("quote not closed", "quote", 'PrologFlags="Contain\n'),
    Case(
        "addresses that do not match",
        "node-address",
        nodes="NodeName=c[1-3] NodeAddr=127.0.0.[11-12] CPUs=2 RealMemory=100\n",
    ),
    Case("one address for all", None, nodes="NodeName=c[1-2] NodeAddr=127.0.0.11 CPUs=2 RealMemory=100\n"),
    Case("time", "partition-value", partition="PartitionName=p Nodes=ALL Default=YES MaxTime=UNLIMITEDX\n"),
    Case("partition state", "partition-value", partition="PartitionName=p Nodes=ALL Default=YES State=OPEN\n"),
    # slurmctld waits a minute for the file, and says so at once.
    Case("topology without its file", "topology-missing", TREE, seconds=2),
    Case(
        "tree",
        None,
        TREE,
        files={"topology.conf": "SwitchName=a Nodes=c1\nSwitchName=b Nodes=c2\nSwitchName=s Switches=a,b\n"},
    ),
    Case("SLM-25 two roots", None, TREE, files={"topology.conf": "SwitchName=a Nodes=c1\nSwitchName=b Nodes=c2\n"}),
    Case(
        "unknown switch",
        "topology-switches",
        TREE,
        files={"topology.conf": "SwitchName=a Nodes=c[1-2]\nSwitchName=b Switches=a,z\n"},
    ),
    Case(
        "switches in a circle",
        "topology-switches",
        TREE,
        files={"topology.conf": "SwitchName=a Switches=b\nSwitchName=b Switches=a\n"},
    ),
    Case(
        "switch twice",
        "topology-twice",
        TREE,
        files={"topology.conf": "SwitchName=a Nodes=c1\nSwitchName=a Nodes=c2\n"},
    ),
    Case(
        "nodes and switches",
        "topology-switches",
        TREE,
        files={"topology.conf": "SwitchName=b Nodes=c2\nSwitchName=a Nodes=c1 Switches=b\n"},
    ),
    Case("unknown node on a switch", "topology-nodes", TREE, files={"topology.conf": "SwitchName=a Nodes=c[1-3]\n"}),
]
