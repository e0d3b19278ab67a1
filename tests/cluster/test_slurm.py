"""Does Slurm answer, and do its nodes do work? A real job counts, not what sinfo says."""

import re

import pytest
from hpcprov.verify import causes, expect, judge
from hpcprov.verify.checks import fail, require

NOT_WORKING = ("DOWN", "DRAIN", "FAIL", "MAINT", "INVAL", "UNKNOWN", "NOT_RESPONDING", "POWERED_DOWN")
# Slurm's own words; after a restart of slurmctld they look as if root had said them.
SLURMS_FAULT = re.compile(
    r"(Kill task failed|(Prolog|Epilog) error|Node unexpectedly rebooted|Duplicate jobid|batch job complete failure)"
    r"( \[|$)"
)


@pytest.mark.groups("controller", "login", "compute")
def test_controller_answers(probe, part, cluster):
    """slurmctld answers from this host."""
    answer = part("ping")
    require(
        answer["ok"],
        expected="scontrol ping says UP",
        found=answer["said"] or "nothing",
        follows=causes.of_client(cluster, probe.host.name),
        cause="a firewall closes port 6817 of the controller, or its name is another machine's",
        fix=f"on {probe.host.name}: scontrol ping; on the controller: journalctl -u slurmctld -n 50",
    )


def test_submit(cluster):
    """Smoke user can submit jobs."""
    error = cluster.jobs.get("error")
    require(
        error is None,
        expected=f"{cluster.smoke_user} reaches the controller from {cluster.submit_host}",
        found=error,
        follows=causes.of_client(cluster, cluster.submit_host),
        cause="slurmctld is down, or Slurm is not set up on the host where users log in",
        fix=f"on {cluster.submit_host}: runuser -l {cluster.smoke_user} -c sinfo; "
        "on the controller: journalctl -u slurmctld -n 50",
    )


@pytest.mark.groups("controller", "database", "login", "compute")
def test_same_version(probe, part, cluster, repair):
    """Slurm has the same version on all hosts."""
    mine = part("slurm_version")
    require(
        mine,
        expected="Slurm is installed",
        found="no program of it",
        fix=repair("scheduler"),
    )
    reference = cluster.reference("slurm_version")
    theirs = reference.get("slurm_version")
    require(
        mine == theirs,
        expected=f"version {theirs} as on {reference.host.name}",
        found=mine,
        cause="the host was installed or upgraded at another time",
        fix=repair("scheduler"),
    )


@pytest.mark.groups("controller", "login", "compute")
def test_version_window(probe, part, cluster):
    """slurmdbd is not older than slurmctld, nor slurmctld than slurmd, by two releases at most."""
    mine = part("slurm_version")
    above = "controller" if probe.host.name != cluster.controller else "database"
    hosts = [host.name for host in cluster.site.group(above)]
    for name in hosts:
        theirs = cluster.probes[name].get("slurm_version") if name in cluster.probes else None
        if not mine or not theirs or name == probe.host.name:
            continue
        problem = judge.version_order(mine, theirs)
        require(
            problem is None,
            expected=f"not newer than {theirs} on {name}, and at most {judge.APART} releases older",
            found=problem,
            cause=f"upgraded in the wrong order: {judge.UPGRADE_ORDER}",
            fix=f"hpcprov deploy {cluster.site.path}",
        )


@pytest.mark.groups("compute")
def test_node_state(probe, node, cluster, repair):
    """Node is idle, mixed or allocated, without a reason against it."""
    state, reason = node["state"], node["reason"]
    if not reason and not state.endswith("*") and not any(word in state for word in NOT_WORKING):
        return
    cause, fix = _cause_and_fix(probe, node, cluster, repair)
    own_reason = "low " in reason.lower() or "gres/" in reason.lower()
    known = None if own_reason else causes.of_node(cluster, probe.host.name)
    fail(
        follows=None if "took it out of use" in cause else known,
        expected="IDLE, MIXED or ALLOCATED, without a reason",
        found=state + (f": {reason}" if reason else ""),
        cause=cause,
        fix=fix,
    )


def _cause_and_fix(probe, node, cluster, repair):
    """Who took the node out of use, and what brings it back."""
    state, reason = node["state"], node["reason"]
    resume = f"on {cluster.controller}: scontrol update nodename={probe.host.node_name} state=resume"
    restart = f"on {probe.host.name}: {expect.restart(probe.host, 'slurmd')}"
    set_by = re.search(r"\[([^@\]]+)@(\S+)\]$", reason)
    if "gres/" in reason.lower():
        return "the node has fewer GPUs or other devices than gres.conf promises", repair("scheduler")
    if "low " in reason.lower():
        return "the node has less than slurm.conf promises (compare with slurmd -C on it)", repair("scheduler")
    if "not responding" in reason.lower() or "NOT_RESPONDING" in state or state.endswith("*"):
        return "slurmd does not run there, or port 6818 is closed", restart
    if state.startswith("UNKNOWN"):
        return "slurmctld was started and the node has not registered since: slurmd does not run there", restart
    by_slurm = set_by and (set_by[1] == str(probe.host.vars.get("slurm_user", "slurm")) or SLURMS_FAULT.match(reason))
    if set_by and not by_slurm:
        return f"{set_by[1]} took it out of use at {set_by[2]}; a deploy leaves it so", resume
    return "Slurm itself, after a job or a health check failed there; find out why, then resume it", resume


@pytest.mark.groups("compute")
def test_job_runs(probe, node, cluster):
    """A real job runs on the node."""
    if node.get("busy"):
        pytest.skip("the node is full of other jobs")
    if "told" not in node and "error" not in node:
        pytest.skip(f"the node is {node['state']}")
    require(
        "told" in node,
        expected="a job of one task",
        found=node.get("error"),
        follows=causes.of_node(cluster, probe.host.name),
        cause="a firewall closes slurmd's port, or the node's name is another machine's"
        if "deaf" in node
        else "slurmd of the node could not start it",
        fix=f"hpcprov preflight {cluster.site.path}; it names the rule that closes the port"
        if "deaf" in node
        else f"srun -w {probe.host.node_name} hostname; on {probe.host.name}: journalctl -u slurmd -n 50",
    )
    require(
        node["told"]["hostname"].split(".")[0] == probe.host.node_name,
        expected=f"the job ran on {probe.host.node_name}",
        found=f"it ran on {node['told']['hostname']}",
        cause="two machines answer for one node name or address",
        fix="compare NodeAddr of the node (scontrol show node) with the site file",
    )


@pytest.mark.groups("compute")
def test_job_address(probe, told, repair):
    """Own name within a job is the address on the cluster network, which Gloo and MPI meet at."""
    require(
        told["address"] == probe.host.cluster_address,
        expected=f"{told['hostname']} is {probe.host.cluster_address}",
        found=told["address"] or "nothing",
        cause="a line such as '127.0.1.1 name' in /etc/hosts of the node; ranks would wait for each other for ever",
        fix=repair("base"),
    )


@pytest.mark.groups("compute")
def test_job_files(probe, part, told, repair):
    """A job may open as many files as the site wants."""
    wanted = str(probe.host.vars.get("base_nofile", 1048576))
    if told["nofile"] != wanted and part("container") is True and told["nofile"] == part("open_files_limit"):
        pytest.skip(f"the container itself may open {told['nofile']} files only")
    require(
        told["nofile"] == "unlimited" or int(told["nofile"]) >= int(wanted),
        expected=f"nofile {wanted}",
        found=told["nofile"],
        cause="slurmd was started with a lower limit, or the submitting shell's limit was propagated",
        fix=repair("scheduler"),
    )


@pytest.mark.groups("compute")
def test_job_user(told, jobs, cluster, repair):
    """Job runs as the user who submitted it."""
    require(
        told["uid"] == str(jobs["user_uid"]),
        expected=f"uid {jobs['user_uid']} ({cluster.smoke_user})",
        found=f"uid {told['uid']}",
        cause="the user's uid differs between hosts",
        fix=repair("base"),
    )


@pytest.mark.groups("compute")
def test_job_memlock(probe, part, told, repair):
    """Locked memory is unlimited within a job."""
    wanted = str(probe.host.vars.get("base_memlock", "unlimited"))
    if told["memlock"] != wanted and part("container") is True and told["memlock"] == part("locked_memory_limit"):
        pytest.skip(f"the container itself may lock {told['memlock']} KiB only")
    require(
        told["memlock"] == wanted,
        expected=f"memlock {wanted}",
        found=f"{told['memlock']} KiB",
        cause="slurmd was started with a lower limit, or the submitting shell's limit was propagated",
        fix=repair("scheduler"),
    )
