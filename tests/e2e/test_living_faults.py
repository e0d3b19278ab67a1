"""A deploy that meets trouble: it ends as it should, hurts nobody else, and the next one needs to do only the rest."""

from __future__ import annotations

import re
import signal
import socket
import time

import pytest
from living import QUICK, SCHEDULER, Joined, Living

pytestmark = pytest.mark.xdist_group("e2e")

STOPS_WITHIN = 20.0  # seconds, on a machine that other tests keep busy


def test_nodes_that_die_are_left_behind_whole_and_the_key_is_never_half_new(living: Living, joined: Joined) -> None:
    """MUN-01, MUN-02. node03 is dead before a key rotation, node02 dies within it."""
    plain, secret = living.plain, living.lab.state / "secrets" / "munge.key"
    old = living.sha("node01")
    with living.job_lives("-w", "node01"):
        living.kill("node03")
        secret.unlink()
        deploy = living.start_deploy("--to", "scheduler", site=plain)
        deploy.reaches(r"^base ")
        living.kill("node02")
        told = deploy.ends(4)
        assert "going on without node03" in told
        assert "the other 3 hosts are done: base, storage, accounting, scheduler" in told
        keys = {host: living.sha(host) for host in ("head", "store", "node01")}
        assert len(set(keys.values())) == 1, keys
        assert old not in keys.values()
        assert living.inside("head", "cd /tmp && srun -w node01 hostname") == "node01"

        living.power_on("node02", "node03")
        assert living.sha("node02") == living.sha("node03") == old
        living.wait("node02 refuses", lambda: "Invalid credential" in decoded(living, "head", "node02"))
        assert "Success" in decoded(living, "head", "node01"), "munged goes on with the key that it read at its start"
        told = living.verify(expect=6)
        for host in ("node02", "node03"):
            assert re.search(rf"{host}.*[Mm]unge|[Mm]unge.*{host}", told), told

        result = living.deploy("--to", "scheduler", site=plain)
        assert {host for host, counts in result["hosts"].items() if counts["changed"]} == {"node02", "node03"}
        assert len({living.sha(host) for host in ("head", "store", "node01", "node02", "node03")}) == 1
        assert "Success" in decoded(living, "head", "node02")
        living.verify()


def decoded(living: Living, maker: str, reader: str) -> str:
    """What unmunge on one host says about a credential of another."""
    return living.try_inside(reader, f"echo '{living.inside(maker, 'munge -n')}' | unmunge 2>&1")


def test_without_its_controller_nothing_is_changed(living: Living) -> None:
    """IDM-05 for the controller too: it comes back from a reboot by itself, and knows its jobs."""
    secret = living.lab.state / "secrets" / "munge.key"
    key, on_node = secret.read_bytes(), living.sha("node01")
    with living.job_lives("-w", "node01"):
        living.shut_down("head")
        secret.unlink()
        try:
            refused = living.deploy(*QUICK, site=living.plain, expect=4)
        finally:
            secret.write_bytes(key)
            secret.chmod(0o600)
            living.power_on("head")
        assert "head" in refused["said"]
        assert not [host for host, counts in refused["hosts"].items() if counts["changed"] or counts["ok"]]
        assert living.sha("node01") == on_node
        living.wait("slurmctld answers", lambda: "is UP" in living.try_inside("head", "scontrol ping"))
        living.healthy("node01", "node02")
    # slurmctld was up before slurmdbd, and verify gives it the time to register.
    living.verify()


def test_ctrl_c_stops_and_says_how_to_go_on(living: Living) -> None:
    with living.job_lives("-N2", program="srun sleep 900"):
        # A host that does not answer any more must not keep an admin waiting.
        deploy = living.start_deploy(*SCHEDULER)
        deploy.reaches(r"^scheduler ")
        living.podman.run("pause", living.container("node02"))
        try:
            deploy.signal(signal.SIGINT)
            deploy.signal(signal.SIGINT)
            # A shell says 130 of a program that died of Ctrl-C, too.
            told = deploy.ends(130, -signal.SIGINT, seconds=STOPS_WITHIN)
            assert "Traceback" not in told
        finally:
            living.podman.run("unpause", living.container("node02"))

        with living.site_says(living.with_config("KillWait: 48")):
            deploy = living.start_deploy("--from", "accounting", *QUICK)
            deploy.reaches(r"^scheduler ")
            deploy.signal(signal.SIGINT)
            told = deploy.ends(130, seconds=60)
            assert "Stopped. Done: validate, lab, preflight, accounting." in told
            go_on = re.search(r"Go on with: hpcprov deploy (\S+) --from (\w+)", told)
            assert go_on, told
            assert go_on.groups() == (str(living.site), "scheduler")
            living.deploy("--from", "scheduler", "--to", "scheduler")
            assert "KillWait                = 48 sec" in living.inside("head", "scontrol show config")
            for node in ("node01", "node02"):
                assert "KillWait=48" in living.inside(node, "cat /run/slurm/conf/slurm.conf").splitlines()
        living.deploy(*SCHEDULER)
        assert "KillWait                = 30 sec" in living.inside("head", "scontrol show config")


def test_broken_connections_and_a_second_deploy_do_not_disturb(living: Living) -> None:
    """Every connection to a node dies several times; the same with ANSIBLE_SSH_RETRIES=0 ends red."""
    deploy = living.start_deploy("--to", "accounting", *QUICK)
    deploy.reaches(r"^base ")
    second = living.lab.hpcprov("deploy", str(living.site))
    assert second.returncode == 2
    for part in (f"process {deploy.process.pid}", socket.gethostname(), "since 20", f"deploy {living.site} --to"):
        assert part in second.stderr, second.stderr
    for _ in range(4):
        time.sleep(2)
        if deploy.process.poll() is None:
            living.podman.try_run("exec", living.container("node01"), "pkill", "-9", "-f", "sshd: root")
    deploy.ends(0)
    result = living.lab.result()
    assert result["verdict"] == "passed"
    assert str(deploy.process.pid) not in (living.lab.state / "deploy.lock").read_text()
