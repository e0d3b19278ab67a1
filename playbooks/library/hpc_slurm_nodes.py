#!/usr/bin/python
"""Wait until Slurm's controller can use nodes, or say why it cannot."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hpc_slurm_nodes
short_description: Wait until nodes are usable
description:
  - Runs on a controller and asks it until every node is idle or busy. A node that an admin drained or took down
    counts as settled; it is named, and left alone.
options:
  nodes: {type: list, elements: str, required: true, description: Node names.}
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
hpcprov_notice: {description: Nodes that an admin keeps out of use., type: list, returned: always}
"""

import time

from ansible.module_utils.basic import AnsibleModule

USABLE = {"idle", "mixed", "mix", "allocated", "alloc", "completing", "comp", "planned", "plnd", "reserved", "resv"}


def parse_states(text):
    """`sinfo -N -h -o "%N|%T|%u|%E"` as {node: (state, user, reason)}; flags such as * and ~ stay on the state."""
    states = {}
    for line in text.splitlines():
        fields = line.split("|", 3)
        if len(fields) == 4:
            states[fields[0].strip()] = tuple(field.strip() for field in fields[1:])
    return states


def usable(state):
    """True for a state in which a job can run; `idle*` is a node that does not answer."""
    return state.lower() in USABLE or (state.lower().rstrip("+~#$@^-") in USABLE and not state.endswith("*"))


def by_admin(state, reason, user, slurm_user):
    """True when a person keeps the node out of use: a drain or a down whose reason was not set by slurmctld itself."""
    base = state.lower().rstrip("*~#$@^")
    if base not in ("drained", "draining", "drain", "down", "maint"):
        return False
    return reason not in ("", "none") and user not in ("", "Unknown", slurm_user)


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
    if module.check_mode:
        module.exit_json(changed=False, states={}, hpcprov_notice=[])
    wanted = set(module.params["nodes"])
    deadline = time.time() + module.params["timeout"]
    pause = 0.1
    while True:
        rc, out, err = module.run_command(["sinfo", "-N", "-h", "-o", "%N|%T|%u|%E", "-n", ",".join(sorted(wanted))])
        states = parse_states(out) if rc == 0 else {}
        kept_out = {
            node
            for node, (state, user, reason) in states.items()
            if by_admin(state, reason, user, module.params["slurm_user"])
        }
        bad = sorted(node for node in wanted - kept_out if node not in states or not usable(states[node][0]))
        if not bad:
            notice = ["%s is %s: %s" % (node, states[node][0], states[node][2]) for node in sorted(kept_out & wanted)]
            plain = {node: state for node, (state, _, _) in states.items()}
            module.exit_json(changed=False, states=plain, hpcprov_notice=notice)
        if time.time() > deadline:
            fail(module, bad, states, err)
        time.sleep(pause)
        pause = min(pause * 1.5, 1.0)


def fail(module, bad, states, err):
    """End with the state and reason of each node that is not usable, and the controller's last lines."""
    details = [
        "%s is %s%s" % (node, states[node][0], " (%s)" % states[node][2] if states[node][2] != "none" else "")
        if node in states
        else "%s is not known to slurmctld" % node
        for node in bad
    ]
    _, journal, _ = module.run_command(["journalctl", "-u", "slurmctld", "-n", "25", "--no-pager", "-o", "short-iso"])
    module.fail_json(msg="; ".join(details) or err.strip(), journal=journal.splitlines(), nodes=bad)


if __name__ == "__main__":
    main()
