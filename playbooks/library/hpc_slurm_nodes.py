#!/usr/bin/python
"""Wait until Slurm's controller can use nodes, resume what our own configuration took out, name the others."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hpc_slurm_nodes
short_description: Wait until nodes are usable
description:
  - Runs on a controller and asks it until every node is idle or busy.
  - A node that hpcprov drained (its reason starts with C(hpcprov)), or that slurmctld drained because slurm.conf
    promised more than the node has, is resumed, as the configuration is right by now. When the cause is still there,
    slurmctld drains it again at once, and the node is reported.
  - A node that an admin drained or took down is named and left alone, whatever its reason says.
  - Any other node that Slurm took out of use is reported; resuming it would hide a fault.
options:
  nodes: {type: list, elements: str, required: true, description: Hosts; a node has the first label of its host's name.}
  timeout: {type: int, default: 120, description: Seconds to wait.}
  slurm_user: {type: str, default: slurm, description: The user that slurmctld runs as.}
author: [hpcprov]
"""

EXAMPLES = r"""
- name: registered | Nodes are usable
  hpc_slurm_nodes: {nodes: [node01, node02]}
  delegate_to: head
"""

RETURN = r"""
states: {description: State by node., type: dict, returned: always}
resumed: {description: Nodes that were resumed., type: list, returned: always}
unusable: {description: Why Slurm cannot use it, by host as it was given., type: dict, returned: always}
hpcprov_notice: {description: Nodes that an admin keeps out of use., type: list, returned: always}
"""

import re
import time

from ansible.module_utils.basic import AnsibleModule

USABLE = {"idle", "mixed", "mix", "allocated", "alloc", "completing", "comp", "planned", "plnd", "reserved", "resv"}
OUT_OF_USE = ("drained", "draining", "drain", "down", "fail", "failing", "maint", "inval")
# Our mark at the start of a reason.
OURS = "hpcprov"
# Slurm's own words, from _validate_node_specs in its node_mgr.c, when a node has less than its line promises.
PROMISED_TOO_MUCH = re.compile(
    r"Low (RealMemory|TmpDisk|CPUs|socket\*core)|gres/\S+ count (reported lower|too low|changed)", re.I
)
# Who set a reason is lost when slurmctld is restarted: then all are root's. These words, from the beginning to the end,
# no person writes.
SLURMS_PROMISE = re.compile(
    r"(((, )?(Low RealMemory \(reported:\d+ < [\d.]+% of configured:\d+\)|Low socket\*core\S*thread count|Low CPUs))+"
    r"|gres/\S+ count (reported lower|too low|changed).*)"
)
SLURMS_FAULT = re.compile(
    r"Not responding|Kill task failed|(Prolog|Epilog) error|Node unexpectedly rebooted|Duplicate jobid"
    r"|batch job complete failure"
)
# After a resume slurmctld asks the node what it has. A cause that is still there drains it again within this time.
SETTLING_SECONDS = 4.0


class Node:
    """One line of sinfo: state in lower case with its flags, the user and the reason of a drain."""

    def __init__(self, state, user, reason):
        self.state, self.user, self.reason = state.lower(), user, reason

    @property
    def usable(self):
        """True for a state in which a job can run; `idle*` is a node that does not answer."""
        return not self.state.endswith("*") and self.state.rstrip("+~#$@^-") in USABLE

    @property
    def has_reason(self):
        """True when somebody took it out of use and said why."""
        return self.state.rstrip("*~#$@^+-") in OUT_OF_USE and self.reason not in ("", "none")

    def said_by_slurm(self, slurm_user):
        """True when slurmctld itself set the reason."""
        if self.user in ("", "Unknown", slurm_user):
            return True
        told = (SLURMS_PROMISE.fullmatch(self.reason), SLURMS_FAULT.fullmatch(self.reason))
        return self.user == "root" and any(told)

    def by_person(self, slurm_user):
        """True when an admin keeps it out: the reason was set neither by slurmctld itself nor by us."""
        return self.has_reason and not self.said_by_slurm(slurm_user) and not self.reason.startswith(OURS)

    def by_us(self, slurm_user):
        """True when we are the cause: we drained it, or our slurm.conf promised too much."""
        if not self.has_reason:
            return False
        if self.reason.startswith(OURS):
            return True
        return self.said_by_slurm(slurm_user) and bool(PROMISED_TOO_MUCH.search(self.reason))

    def by_slurm(self, slurm_user):
        """True when slurmctld drained it for a fault of the node, which waiting does not mend."""
        drained = self.state.rstrip("*~#$@^+-") in ("drained", "draining", "drain", "fail", "failing")
        return self.has_reason and drained and not self.by_us(slurm_user) and not self.by_person(slurm_user)

    def __str__(self):
        return "%s: %s" % (self.state, self.reason) if self.reason not in ("", "none") else self.state


def parse_states(text):
    """`sinfo -N -h -o "%N|%T|%u|%E"` as {name: Node}."""
    nodes = {}
    for line in text.splitlines():
        fields = [field.strip() for field in line.split("|", 3)]
        if len(fields) == 4:
            nodes[fields[0]] = Node(*fields[1:])
    return nodes


class Registration:
    """Follows nodes until each is settled."""

    def __init__(self, module):
        self.module = module
        self.host_of = {host.split(".", 1)[0]: host for host in module.params["nodes"]}
        self.wanted = sorted(self.host_of)
        self.user = module.params["slurm_user"]
        self.resumed = {}  # node to the reason that it had
        self.resumed_at = -SETTLING_SECONDS
        self.error = ""

    def ask(self):
        """What the controller says now; nothing when it does not answer."""
        rc, out, err = self.module.run_command(["sinfo", "-N", "-h", "-o", "%N|%T|%u|%E", "-n", ",".join(self.wanted)])
        self.error = err.strip()
        return parse_states(out) if rc == 0 else {}

    def follow(self):
        """Poll until nothing is worth waiting for; the last answer."""
        deadline = time.monotonic() + self.module.params["timeout"]
        pause = 0.1
        while True:
            nodes = self.ask()
            self.resume(nodes)
            waiting = [name for name in self.wanted if not self.settled(nodes.get(name), name)]
            calm = self.calm()
            if (not waiting and calm) or time.monotonic() > deadline:
                return nodes
            time.sleep(pause)
            pause = min(pause * 1.5, 1.0)

    def resume(self, nodes):
        """Put our own drains back to work, each once."""
        ours = [name for name in self.wanted if name in nodes and nodes[name].by_us(self.user)]
        ours = [name for name in ours if name not in self.resumed]
        if not ours:
            return
        rc, _, err = self.module.run_command(["scontrol", "update", "nodename=%s" % ",".join(ours), "state=resume"])
        self.resumed.update({name: str(nodes[name]) for name in ours})
        self.resumed_at = time.monotonic()
        if rc != 0:
            self.error = err.strip()

    def calm(self):
        """True when a resume, if there was one, is long enough ago to be believed."""
        return time.monotonic() - self.resumed_at >= SETTLING_SECONDS

    def settled(self, node, name):
        """True when waiting longer would change nothing."""
        if node is None:
            return False
        again = node.by_us(self.user) and name in self.resumed and self.calm()
        return node.usable or node.by_person(self.user) or node.by_slurm(self.user) or again

    def unusable(self, nodes):
        """Why a node cannot be used, by name. What an admin keeps out is none of our business."""
        why = {}
        for name in self.wanted:
            node = nodes.get(name)
            if node is None:
                why[name] = "slurmctld does not know it" if nodes else self.error or "slurmctld does not answer"
            elif not node.usable and not node.by_person(self.user):
                why[name] = "%s%s" % (node, " (again, after it was resumed)" if name in self.resumed else "")
        return why


def main():
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "nodes": {"type": "list", "elements": "str", "required": True},
            "timeout": {"type": "int", "default": 120},
            "slurm_user": {"type": "str", "default": "slurm"},
        },
        supports_check_mode=True,
    )
    if module.check_mode or not module.params["nodes"]:
        module.exit_json(changed=False, states={}, resumed=[], unusable={}, hpcprov_notice=[])
    registration = Registration(module)
    nodes = registration.follow()
    unusable = registration.unusable(nodes)
    kept_out = [name for name in registration.wanted if name in nodes and nodes[name].by_person(registration.user)]
    notices = ["%s is kept out of use by %s (%s)" % (name, nodes[name].user, nodes[name]) for name in kept_out]
    notices += [
        "%s was resumed; it was %s" % (name, before)
        for name, before in sorted(registration.resumed.items())
        if name not in unusable
    ]
    module.exit_json(
        changed=bool(registration.resumed),
        states={name: node.state for name, node in nodes.items()},
        resumed=sorted(set(registration.resumed) - set(unusable)),
        unusable={registration.host_of[name]: why for name, why in unusable.items()},
        hpcprov_notice=notices,
    )


if __name__ == "__main__":
    main()
