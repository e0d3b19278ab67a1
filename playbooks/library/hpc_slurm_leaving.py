#!/usr/bin/python
"""Keep a slurm.conf from ending jobs: nodes and partitions that it no longer names must be empty first."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hpc_slurm_leaving
short_description: Refuse to drop nodes and partitions that have jobs
description:
  - slurmctld ends the jobs of a node that its new slurm.conf does not name. This module runs on a controller before
    that file is written. Nodes that would be dropped and have jobs are drained, with a reason that starts with
    C(hpcprov), and the module fails; nothing is lost, and a later run goes on once the jobs are done.
  - It ends the jobs of a partition that is gone too, running and pending ones, as if a node had failed. The module
    fails then as well.
  - A controller that does not answer has nothing to tell; then nothing is checked.
options:
  nodes: {type: list, elements: str, required: true, description: Every node of the new slurm.conf.}
  partitions: {type: list, elements: str, required: true, description: Every partition of the new slurm.conf.}
  force: {type: bool, default: false, description: Let the jobs end.}
author: [hpcprov]
"""

EXAMPLES = r"""
- name: configure | No job is lost with a node that leaves
  hpc_slurm_leaving: {nodes: [node01, node02], partitions: [main]}
"""

RETURN = r"""
leaving: {description: Nodes that only the running controller has., type: list, returned: always}
jobs: {description: Running jobs by leaving node., type: dict, returned: always}
hpcprov_notice: {description: Which nodes leave the cluster., type: list, returned: always}
"""

from ansible.module_utils.basic import AnsibleModule

REASON = "hpcprov: leaves the cluster"


def names(text):
    """Words of a command that prints one name per line, each once, in their order."""
    return list(dict.fromkeys(text.split()))


def told(jobs):
    """Jobs by node as an admin reads them, the first few of many."""
    parts = ["%s: job %s" % (node, ", ".join(ids)) for node, ids in sorted(jobs.items())]
    return "; ".join(parts[:8]) + ("; and %d more nodes" % (len(parts) - 8) if len(parts) > 8 else "")


def keep_partitions(module):
    """Fail while jobs are in a partition that leaves."""
    rc, out, _ = module.run_command(["sinfo", "-a", "-h", "-o", "%R"])
    leaving = sorted(set(names(out)) - set(module.params["partitions"])) if rc == 0 else []
    if not leaving or module.params["force"]:
        return
    _, out, _ = module.run_command(
        ["squeue", "-a", "-h", "-o", "%A", "-p", ",".join(leaving), "-t", "pending,running,suspended"]
    )
    jobs = names(out)
    if jobs:
        module.fail_json(
            msg="the site file no longer has partition %s, in which %d jobs are (%s), and slurmctld would end them, "
            "pending ones too. Deploy again when they are done (squeue -p %s), or set slurm_drop_busy_nodes: true "
            "to end them" % (",".join(leaving), len(jobs), ", ".join(jobs[:8]), ",".join(leaving)),
            leaving=leaving,
            jobs={},
        )


def main():
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "nodes": {"type": "list", "elements": "str", "required": True},
            "partitions": {"type": "list", "elements": "str", "required": True},
            "force": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    keep_partitions(module)
    rc, out, _ = module.run_command(["sinfo", "-a", "-N", "-h", "-o", "%N"])
    leaving = sorted(set(names(out)) - set(module.params["nodes"])) if rc == 0 else []
    if not leaving:
        module.exit_json(changed=False, leaving=[], jobs={}, hpcprov_notice=[])
    jobs = {}
    for node in leaving:
        _, out, _ = module.run_command(["squeue", "-a", "-h", "-o", "%A", "-w", node, "-t", "running,suspended"])
        if names(out):
            jobs[node] = names(out)
    notice = ["%s left the cluster; slurmd may still run there" % ", ".join(leaving)]
    if not jobs or module.params["force"]:
        module.exit_json(changed=False, leaving=leaving, jobs=jobs, hpcprov_notice=notice)
    if not module.check_mode:
        update = ["scontrol", "update", "nodename=%s" % ",".join(sorted(jobs)), "state=drain", "reason=%s" % REASON]
        module.run_command(update)
    module.fail_json(
        msg="the site file no longer has nodes on which jobs run, and slurmctld would end them (%s). "
        "The nodes are drained now and take no new jobs. Deploy again when the jobs are done (squeue -w %s), "
        "or set slurm_drop_busy_nodes: true to end them" % (told(jobs), ",".join(sorted(jobs))),
        leaving=leaving,
        jobs=jobs,
    )


if __name__ == "__main__":
    main()
