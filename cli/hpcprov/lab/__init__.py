"""The local lab: systemd containers that stand in for the hosts of a site and are reached over SSH like those."""

from hpcprov.lab.lab import down, reach, shared_storage, status, up, whose
from hpcprov.lab.nodes import NodeStatus
from hpcprov.lab.plan import is_lab, ssh_command
from hpcprov.lab.preflight import Problem, preflight

__all__ = [
    "NodeStatus", "Problem", "down", "is_lab", "preflight", "reach", "shared_storage", "ssh_command", "status", "up",
    "whose",
]  # fmt: skip
