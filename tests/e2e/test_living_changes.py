"""Changes to a cluster at work: jobs live on, what was not touched is not restarted, and what was changed holds."""

from __future__ import annotations

import re
import signal
import time

import pytest
from living import QUICK, SCHEDULER, Joined, Living, changed, restarted

pytestmark = pytest.mark.xdist_group("e2e")

NODES = ("node01", "node02", "node03")


def test_a_new_node_joins_and_the_others_are_left_alone(living: Living, joined: Joined) -> None:
    """IDM-01. The job of the fixture lived; verify, which runs a job on each node, passed."""
    assert joined.result["verify"]["failed"] == 0
    assert changed(joined.before, joined.after) == ["head slurmctld", "node03 munge", "node03 slurmd"]
    assert restarted(joined.result) == {"head": ["slurmctld"]}
    assert joined.after["head slurmctld"] < joined.after["node03 slurmd"], "slurmd came before slurmctld knew the node"
    # Old slurmds forward messages to the new one and know it.
    together = "srun -N2 -w node01,node03 --mpi=none hostname"
    assert sorted(living.inside("head", f"cd /tmp && sudo -u hpcsmoke {together}").split()) == ["node01", "node03"]


def test_keys_of_slurm_conf_are_in_force_everywhere(living: Living, joined: Joined) -> None:
    """IDM-11. Limits need no restart of slurmd. What it reads only at its start needs one: without it scontrol shows
    the new plugin while slurmd works with the old one, which its memory tells."""
    limits = ("KillWait: 47", "SlurmdTimeout: 247", "SchedulerParameters: bf_interval=47")
    with living.job_lives("-N2", program="srun sleep 900"):
        before = living.started("head", *NODES)
        with living.site_says(living.with_config(*limits)):
            result = living.deploy(*SCHEDULER)
        assert restarted(result) == {"head": ["slurmctld"]}
        assert changed(before, living.started("head", *NODES)) == ["head slurmctld"]
        shown = living.inside("head", "scontrol show config")
        for value in ("KillWait                = 47 sec", "SlurmdTimeout           = 247 sec", "bf_interval=47"):
            assert value in shown
        for node in NODES:
            cached = living.inside(node, "cat /run/slurm/conf/slurm.conf").splitlines()
            assert {"KillWait=47", "SlurmdTimeout=247", "SchedulerParameters=bf_interval=47"} <= set(cached), node

        assert {plugin(living, node) for node in NODES} == {"linuxproc"}
        before = living.started("head", *NODES)
        with living.site_says(living.with_config("ProctrackType: proctrack/pgid")):
            result = living.deploy(*SCHEDULER)
        assert restarted(result) == {"head": ["slurmctld"], **{node: ["slurmd"] for node in NODES}}
        after = living.started("head", *NODES)
        assert changed(before, after) == ["head slurmctld", *(f"{node} slurmd" for node in NODES)]
        assert {plugin(living, node) for node in NODES} == {"pgid"}
        assert "= proctrack/pgid" in living.inside("head", "scontrol show config")
        living.healthy(*NODES)

        living.deploy(*SCHEDULER)
        assert {plugin(living, node) for node in NODES} == {"linuxproc"}
        assert "KillWait                = 30 sec" in living.inside("head", "scontrol show config")


def plugin(living: Living, node: str) -> str:
    """The process tracking that slurmd has loaded."""
    maps = "cat /proc/$(systemctl show -P MainPID slurmd)/maps"
    return living.inside(node, f"{maps} | grep -o 'proctrack_[a-z]*' | sort -u").removeprefix("proctrack_")


def test_a_partition_changes_under_its_jobs_and_none_is_lost(living: Living) -> None:
    """slurmctld ends all jobs of a partition that is gone, and forgets none of one that merely shrank."""
    two = living.edited(
        '{ name: main, nodes: compute, default: true, max_time: "1-00:00:00" }',
        '{ name: main, nodes: node01, default: true, max_time: "00:30:00" }\n'
        '      - { name: extra, nodes: compute, max_time: "01:00:00" }',
    )
    gone = two.replace("name: extra", "name: other")
    with living.job_lives("-w", "node02", "-t", "60") as job:
        with living.site_says(two):
            living.deploy(*SCHEDULER)
            shown = living.inside("head", "scontrol show partition")
            assert "PartitionName=extra" in shown
            assert "MaxTime=00:30:00" in shown
            with living.job_lives("-p", "extra", "-w", "node02"):
                pending = living.submit("-p", "extra", "--hold")
                living.site.write_text(gone)
                refused = living.deploy(*SCHEDULER, expect=5)
                assert "partition extra, which the site file no longer has" in refused["said"]
                assert f"job {pending}" in refused["said"] or f", {pending}" in refused["said"]
                assert "nothing was changed" in refused["said"]
                assert "JobState=PENDING" in living.job(pending)
                living.inside("head", f"scancel {pending}")
            living.wait("extra is empty", lambda: not living.inside("head", "squeue -h -p extra"))
        result = living.deploy(*SCHEDULER)
        assert "PartitionName=extra" not in living.inside("head", "scontrol show partition")
        assert restarted(result) == {"head": ["slurmctld"]}
        assert "JobState=RUNNING" in living.job(job)


def test_an_upgraded_daemon_is_restarted_and_no_other(living: Living, joined: Joined) -> None:
    """IDM-08. The package is upgraded where services may not be started, as image builders and cautious sites do.

    IDM-07: verify tells a version that is not that of the others. CLI-10: the node misses a package too, and somebody
    holds its package lock when the deploy comes to that.
    """
    living.inside("node03", UPGRADE)
    living.inside("node03", OLDER)
    told = living.verify(expect=6)
    assert re.search(r"node03.*its program's file was replaced", told, re.S), told
    assert re.search(r"version 22\.05\S+ as on head.{0,20}found:? +22\.05\.1", told, re.S), told
    living.inside("node03", "rm /usr/local/sbin/slurmd")
    before = living.started("head", *NODES)
    with living.job_lives("-w", "node03"):
        living.inside("node03", HOLD_LOCK)
        deploy = living.start_deploy(*QUICK)
        deploy.reaches(r"node03: .*holds /var/lib/dpkg/lock-frontend")
        deploy.reaches_in_log("apt | Packages are installed")
        time.sleep(2)
        living.inside("node03", "systemctl stop held-lock")
        deploy.ends(0)
        result = living.lab.result()
        assert restarted(result) == {"node03": ["slurmd"]}
        assert changed(before, living.started("head", *NODES)) == ["node03 slurmd"]
        assert "(deleted)" not in living.inside("node03", "readlink /proc/$(systemctl show -P MainPID slurmd)/exe")
    versions = living.inside("node03", "dpkg-query -W -f '${Version} ${Status}\\n' slurmd libpmix-dev").splitlines()
    assert re.fullmatch(r"\S+\+hpcprov1 install ok installed", versions[1]), versions
    assert versions[0].endswith("install ok installed"), versions


UPGRADE = r"""
set -e
cd "$(mktemp -d)"
apt-get -q update > log
apt-get -q download slurmd >> log
dpkg-deb -R slurmd_*.deb tree
sed -i '/^Version:/s/$/+hpcprov1/' tree/DEBIAN/control
dpkg-deb -b tree new.deb >> log
printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d
chmod +x /usr/sbin/policy-rc.d
dpkg -i new.deb >> log 2>&1
rm /usr/sbin/policy-rc.d
dpkg -r --force-depends libpmix-dev >> log 2>&1
readlink /proc/$(systemctl show -P MainPID slurmd)/exe | grep deleted
"""
OLDER = r"""
printf '#!/bin/sh\necho slurm 22.05.1\n' > /usr/local/sbin/slurmd
chmod +x /usr/local/sbin/slurmd
"""
HOLD_LOCK = r"""
cat > /run/held-lock.py <<'END'
import fcntl, pathlib, time
held = open("/var/lib/dpkg/lock-frontend", "w")
fcntl.lockf(held, fcntl.LOCK_EX)
pathlib.Path("/run/held-lock").touch()
time.sleep(3600)
END
systemd-run --unit=held-lock --collect /usr/bin/python3 /run/held-lock.py
for try in $(seq 100); do [ -e /run/held-lock ] && exit 0; sleep 0.1; done
exit 1
"""


def test_a_node_comes_back_from_a_reboot_by_itself(living: Living) -> None:
    """IDM-05: no deploy, and nobody resumes it."""
    with living.job_lives("-w", "node01"):
        living.podman.run("restart", "--time=10", living.container("node02"))
        living.wait(
            "slurmd is there again", lambda: living.try_inside("node02", "systemctl is-active slurmd") == "active"
        )
        living.healthy("node02")
        living.verify()


def test_what_a_killed_verify_has_left_is_taken_away_by_the_next(living: Living) -> None:
    def tokens() -> str:
        return living.inside("head", "find /shared -maxdepth 2 -name '.hpcprov-verify-*'")

    for _ in range(5):  # it may be quicker than we look
        verify = living.start_verify()
        while not tokens() and verify.process.poll() is None:
            pass
        if verify.process.poll() is None:
            verify.signal(signal.SIGKILL)
        verify.process.wait()
        if tokens():
            break
    assert tokens(), "no verify was caught in the middle"
    living.verify()
    assert tokens() == ""
