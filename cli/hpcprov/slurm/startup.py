"""What slurmd takes from Slurm's files only when it starts. `scontrol reconfigure` brings it all the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hpcprov.slurm.settings import key_lines
from hpcprov.slurm.values import record

# slurm.conf(5) names PluginDir, GresTypes, SelectType, SwitchType, CoreSpecPlugin and AuthType. Of the others slurmd
# goes on with what it loaded: the reconfigured slurm.conf says one plugin, /proc/<slurmd>/maps another.
OPTIONS = (
    "AcctGatherEnergyType",
    "AcctGatherFilesystemType",
    "AcctGatherInterconnectType",
    "AcctGatherProfileType",
    "AuthAltTypes",
    "AuthType",
    "CommunicationParameters",
    "CoreSpecPlugin",
    "CredType",
    "GresTypes",
    "HashPlugin",
    "JobAcctGatherType",
    "JobContainerType",
    "NamespaceType",
    "NodeFeaturesPlugins",
    "PluginDir",
    "PrEpPlugins",
    "ProctrackType",
    "RoutePlugin",
    "SelectType",
    "SlurmdParameters",
    "SlurmdPidFile",
    "SlurmdPort",
    "SlurmdSpoolDir",
    "SlurmdUser",
    "SwitchType",
    "TaskPlugin",
    "TLSType",
    "TopologyPlugin",
)
# Of a NodeName line: what it says about the machine, not about how it is scheduled.
NODE_KEYS = (
    "BcastAddr",
    "Boards",
    "CoreSpecCount",
    "CoresPerSocket",
    "CPUs",
    "CPUSpecList",
    "Gres",
    "MemSpecLimit",
    "NodeAddr",
    "NodeHostname",
    "Port",
    "Procs",
    "RealMemory",
    "Sockets",
    "SocketsPerBoard",
    "ThreadsPerCore",
    "TmpDisk",
)


def of_all(options: Mapping[str, Any], cgroup_conf: str) -> str:
    """Lines that concern every node: the values of OPTIONS, and cgroup.conf."""
    return key_lines({name: options[name] for name in OPTIONS if name in options}) + cgroup_conf


def of_node(keys: Mapping[str, Any], gres_conf: str) -> str:
    """Lines that concern one node: its hardware out of node_keys(), and its lines of gres.conf."""
    return f"{record({name: keys[name] for name in NODE_KEYS if name in keys})}\n{gres_conf}"
