"""What a deploy would do, and whether it may do it unasked.

Three modules look at the jobs of a cluster before its configuration changes, each for one question:

- `plan` detects. It compares the site file with what was deployed (`state`) and with the controller (`live`), names
  the cost of each change (`effects`), and the jobs that it would touch (`jobs`). It changes nothing. What would be lost
  is in `Plan.losses`, and deploy asks about that, unless `--yes`.
- `hpcprov.leaving` acts on the one loss that waiting prevents: jobs on nodes and in partitions that leave. It gets the
  same words of the controller (`live`), drains such nodes, and stops the deploy with exit code 5. That loses nothing,
  so it is told, not asked; `--yes` does not get around it. With `slurm_drop_busy_nodes: true` it stands back: these
  jobs would end, they are losses, and deploy asks.
- The module `hpc_slurm_leaving` asks again on the controller, right before slurm.conf is written there, because jobs
  start meanwhile and playbooks run without this command.

A change that is `refused` is told and not asked about either: whoever refuses it (a role, slurmctld) loses nothing.
"""
