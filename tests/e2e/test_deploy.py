"""The main job, from bare containers to a trained network, and what must hold when it is run again."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from e2e_lab import HOSTS, ROOT, Deployment, Lab, make_site, said

pytestmark = pytest.mark.xdist_group("e2e")

PLAYBOOKS = sorted(path.name for path in (ROOT / "playbooks").glob("*.yml") if path.name != "site.yml")


# CLI-04, DL-01, DL-05, DL-14: ranks on two nodes without a GPU found each other
def test_first_deploy_trains_across_both_nodes(deployed: Deployment) -> None:
    smoke = deployed.result["smoke"]
    assert deployed.result["verdict"] == "passed"
    assert deployed.result["exit_code"] == 0
    assert smoke["accuracy"] >= 0.95
    assert smoke["loss"][-1] < smoke["loss"][0]
    assert smoke["ranks"] == 2
    assert sorted(smoke["nodes"]) == ["node01", "node02"]
    assert smoke["samples_per_second"] > 0


def test_first_deploy_verified_every_check(deployed: Deployment) -> None:
    verify = deployed.result["verify"]
    assert verify["failed"] == 0, verify
    assert verify["passed"] >= 30


def test_result_names_every_host_and_phase(deployed: Deployment) -> None:
    assert set(deployed.result["hosts"]) == set(HOSTS)
    for host, counts in deployed.result["hosts"].items():
        assert counts["failed"] == counts["unreachable"] == 0, host
    phases = {phase["name"]: phase for phase in deployed.result["phases"]}
    for name in ("base", "storage", "accounting", "scheduler", "mpi", "frameworks", "verify", "smoke"):
        assert phases[name]["status"] == "done", phases
        assert phases[name]["seconds"] > 0


# NFS-04: what stands in for NFS is told
def test_closing_table_says_what_was_built(deployed: Deployment) -> None:
    text = deployed.done.stdout + deployed.done.stderr
    for word in ("node01", "node02", "main", "22.05", "accuracy", "samples", "volume", "runs/"):
        assert word in text, f"{word} is missing in\n{text}"


def test_report_tells_the_verdict_and_draws_each_epoch(deployed: Deployment) -> None:
    text = deployed.done.stdout + deployed.done.stderr
    page = Path(text.rpartition("Report: ")[2].split()[0])
    report = page.read_text()
    smoke = deployed.result["smoke"]
    assert f"job {smoke['job_id']} trained across 2 nodes" in report
    assert len(smoke["accuracies"]) == len(smoke["loss"]) and smoke["accuracies"][-1] == smoke["accuracy"]
    assert report.count('class="dot"') == 2 * len(smoke["loss"])
    cases = (page.parent / "junit.xml").read_text()
    assert 'testsuite name="verify"' in cases and "<failure" not in cases


def test_daemons_started_once_in_order_and_on_their_configuration(lab: Lab, deployed: Deployment) -> None:
    """DBD-01, DBD-04, DBD-08, IDM-07: no package started its daemon, and nobody had to wait for or to correct another.

    Slurm wants slurmdbd before slurmctld before slurmd. DBD-02: slurmdbd finds nothing to warn of in the database.
    """
    daemons = {"head": ["munge", "mariadb", "slurmdbd", "slurmctld"], "node01": ["munge", "slurmd"]}
    starts = []
    for host, units in daemons.items():
        for unit in units:
            journal = lab.node(host, f"journalctl -u {unit} -o cat --no-pager")
            assert len(re.findall(r"^Started ", journal, re.M)) == 1, f"{host} {unit}\n{journal}"
            assert not re.search(r"^Failed|Main process exited", journal, re.M), f"{host} {unit}\n{journal}"
            if unit.startswith("slurm"):
                starts.append(int(lab.node(host, f"systemctl show -P ActiveEnterTimestampMonotonic {unit}")))
    assert starts == sorted(starts)
    log = lab.node("head", "cat /var/log/slurm/slurmctld.log")
    assert "Registering slurmctld at port 6817 with slurmdbd" in log
    assert not re.search("no TRES|CLUSTER ID MISMATCH|Connection refused", log), log
    log = lab.node("head", "cat /var/log/slurm/slurmdbd.log")
    assert not re.search("innodb|error|fatal", log, re.IGNORECASE), log


def test_nobody_else_may_write_what_the_deploy_made(lab: Lab, deployed: Deployment) -> None:
    """SEC-06, SEC-05, SLM-37: nothing is open to everybody, and the daemons' directories are their own."""
    places = "/etc /opt /usr /var/lib /var/log /var/spool /run /shared"
    for host in HOSTS:
        writable = f"find {places} -xdev '(' -type f -o -type d ')' -perm -0002 ! -perm -1000 2>/dev/null || true"
        assert lab.node(host, writable) == "", host
    assert lab.node("head", "stat -c '%U %a' /var/lib/slurm/slurmctld") == "slurm 755"
    assert lab.node("node01", "stat -c '%U %a' /var/lib/slurm/slurmd") == "root 755"
    shown = lab.node("head", "scontrol show config")
    assert re.search(r"StateSaveLocation\s+= /var/lib/slurm/slurmctld\n", shown)
    assert re.search(r"SlurmdSpoolDir\s+= /var/lib/slurm/slurmd\n", shown)


def test_lab_stays_below_six_gib(deployed: Deployment) -> None:
    assert 200 < deployed.peak_mib < 6 * 1024


# IDM-04, IDM-11
def test_second_deploy_changes_nothing_and_a_job_survives(lab: Lab, deployed: Deployment) -> None:
    submitted = lab.node("head", "sudo -u hpcsmoke sh -c 'cd /tmp && sbatch --parsable -N2 --wrap \"srun sleep 600\"'")
    job = submitted.splitlines()[-1]
    before = wait_for_job(lab, job, "RUNNING")
    start = time.monotonic()
    done = lab.hpcprov("deploy", str(lab.site), "--no-smoke", "--no-verify")
    seconds = time.monotonic() - start
    assert done.returncode == 0, said(done)
    for host, counts in lab.result()["hosts"].items():
        assert counts["changed"] == 0, f"{host}\n{said(done)}"
        assert counts["restarted"] == [], host
    after = job_state(lab, job)
    lab.node("head", f"scancel {job}")
    assert after == before, "the job did not live through the deploy"
    print(f"no-change deploy without verify and smoke: {seconds:.0f} s")


# CLI-09
@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_each_playbook_runs_alone_and_changes_nothing(lab: Lab, deployed: Deployment, playbook: str) -> None:
    done = lab.playbook(playbook)
    assert done.returncode == 0, said(done)
    assert "failed=0" in done.stdout or "PLAY RECAP" in done.stdout
    changed = re.findall(r"changed=(\d+)", done.stdout)
    assert set(changed) <= {"0"}, said(done)


def test_no_secret_is_shown_even_at_full_verbosity(lab: Lab, deployed: Deployment) -> None:
    password = (lab.state / "secrets" / "database_password").read_text().strip()
    key = (lab.state / "secrets" / "munge.key").read_bytes()
    # A changed key and password file make the roles write both again, which is when a diff could show them.
    lab.node("head", "rm /etc/munge/munge.key; echo changed >> /etc/slurm/slurmdbd.conf")
    done = lab.hpcprov("deploy", str(lab.site), "--no-smoke", "--no-verify", "--diff", "-vvv")
    assert done.returncode == 0, said(done)
    for path in (lab.home / "runs").resolve().rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert password.encode() not in data, path
            assert key[:32] not in data, path
    assert password not in done.stdout + done.stderr
    for host in HOSTS:
        journal = lab.node(host, "journalctl --no-pager")
        assert password not in journal, f"the database password stands in the journal of {host}"
    for name in ("database_password", "munge.key"):
        assert (lab.state / "secrets" / name).stat().st_mode & 0o777 == 0o600


def test_check_mode_predicts_and_touches_nothing(lab: Lab, deployed: Deployment) -> None:
    lab.node("node01", "echo '# edited' >> /etc/security/limits.d/90-hpcprov.conf")
    before = lab.node("node01", "sha256sum /etc/security/limits.d/90-hpcprov.conf")
    done = lab.hpcprov("deploy", str(lab.site), "--check", "--diff", "--to", "base")
    assert done.returncode == 0, said(done)
    assert lab.result()["hosts"]["node01"]["changed"] == 1
    assert lab.result()["hosts"]["node02"]["changed"] == 0
    assert lab.node("node01", "sha256sum /etc/security/limits.d/90-hpcprov.conf") == before
    # CGR-09: many engines mount /etc/hosts into their containers, and a mount point cannot be replaced.
    lab.node("node01", "cp /etc/hosts /root/hosts && echo stale >> /root/hosts && mount --bind /root/hosts /etc/hosts")
    repaired = lab.hpcprov("deploy", str(lab.site), "--to", "base", "--limit", "node01")
    assert repaired.returncode == 0, said(repaired)
    assert "edited" not in lab.node("node01", "cat /etc/security/limits.d/90-hpcprov.conf")
    assert "stale" not in lab.node("node01", "cat /root/hosts")
    lab.node("node01", "cmp /etc/hosts /root/hosts && umount /etc/hosts && cmp /etc/hosts /root/hosts")


def test_a_value_that_slurm_refuses_replaces_nothing(lab: Lab, deployed: Deployment, tmp_path: Path) -> None:
    """Slurm's own client reads the new slurm.conf before it takes the place of the old one."""
    original = lab.site.read_text()
    lab.site.write_text(original.replace("config_overrides", "config_overrides\n      SwitchType: switch/nonsense"))
    before = lab.node("head", "sha256sum /etc/slurm/slurm.conf")
    try:
        done = lab.hpcprov("deploy", str(lab.site), "--from", "scheduler", "--to", "scheduler", "--yes")
    finally:
        lab.site.write_text(original)
    assert done.returncode == 5, said(done)
    assert "was left as it is" in done.stderr
    assert lab.node("head", "sha256sum /etc/slurm/slurm.conf") == before
    assert "idle" in lab.node("head", "sinfo -h")


# SLM-43
def test_a_value_that_only_slurmctld_refuses_is_taken_back(lab: Lab, deployed: Deployment) -> None:
    """The client accepts it, the daemon dies of it: the controller goes on with what worked, nodes are not touched."""
    original = lab.site.read_text()
    lab.site.write_text(original.replace("config_overrides", "config_overrides\n      JobSubmitPlugins: nonsense"))
    before = lab.node("head", "sha256sum /etc/slurm/slurm.conf")
    try:
        done = lab.hpcprov("deploy", str(lab.site), "--from", "scheduler", "--to", "scheduler")
    finally:
        lab.site.write_text(original)
    assert done.returncode == 5, said(done)
    assert "head: slurmctld: dies" in done.stderr
    assert "fatal: failed to initialize job_submit plugin" in done.stderr
    assert "worked is back in place, and slurmctld runs with it" in done.stderr
    assert lab.node("head", "sha256sum /etc/slurm/slurm.conf") == before
    assert "is UP" in lab.node("head", "scontrol ping")
    assert lab.result()["hosts"]["node01"]["changed"] == 0


# MUN-01
def test_rotated_munge_key_reaches_everyone_and_jobs_live(lab: Lab, deployed: Deployment) -> None:
    submitted = lab.node("head", "sudo -u hpcsmoke sh -c 'cd /tmp && sbatch --parsable -N2 --wrap \"srun sleep 600\"'")
    job = submitted.splitlines()[-1]
    before = wait_for_job(lab, job, "RUNNING")
    old = lab.node("node02", "sha256sum /etc/munge/munge.key")
    (lab.state / "secrets" / "munge.key").unlink()
    done = lab.hpcprov("deploy", str(lab.site), "--to", "base")
    assert done.returncode == 0, said(done)
    assert lab.node("node02", "sha256sum /etc/munge/munge.key") != old
    for node in ("node01", "node02"):
        assert lab.node(node, "systemctl is-active munge slurmd") == "active\nactive"
    verified = lab.hpcprov("verify", str(lab.site))
    assert verified.returncode == 0, said(verified)
    assert job_state(lab, job) == before
    lab.node("head", f"scancel {job}")


# NET-08
def test_limit_does_not_change_what_derives_from_the_whole_site(lab: Lab, deployed: Deployment) -> None:
    before = lab.node("head", "sha256sum /etc/slurm/slurm.conf /etc/hosts")
    done = lab.hpcprov("deploy", str(lab.site), "--no-smoke", "--no-verify", "--limit", "head,node01")
    assert done.returncode == 0, said(done)
    assert lab.node("head", "sha256sum /etc/slurm/slurm.conf /etc/hosts") == before


def test_a_stopped_daemon_is_named_with_its_host(lab: Lab, deployed: Deployment) -> None:
    lab.node("node02", "systemctl stop slurmd")
    done = lab.hpcprov("verify", str(lab.site))
    assert done.returncode == 6, said(done)
    assert "node02" in done.stdout + done.stderr
    assert "slurmd" in done.stdout + done.stderr
    repaired = lab.hpcprov("deploy", str(lab.site), "--from", "scheduler", "--no-smoke")
    assert repaired.returncode == 0, said(repaired)
    assert lab.result()["hosts"]["node02"]["changed"] == 1


def test_unreachable_host_is_named_before_anything_changes(lab: Lab, deployed: Deployment, tmp_path: Path) -> None:
    # The same site as a plain one (not a lab), with a controller that does not exist. Without a node it would go on.
    text = lab.site.read_text().replace("\n    lab:\n      release: bookworm\n", "\n")
    text = text.replace("{{ inventory_dir }}", str(lab.home))
    assert "lab:" not in text.split("vars:")[1].split("controller:")[0]
    site = tmp_path / "site.yaml"
    site.write_text(text.replace("head: { ansible_host: 10.89.92.11 }", "head: { ansible_host: 10.89.92.99 }"))
    before = lab.node("node01", "sha256sum /etc/hosts /etc/munge/munge.key")
    done = lab.hpcprov("deploy", str(site))
    assert done.returncode == 4, said(done)
    assert "head" in done.stderr
    result = json.loads((tmp_path / "runs" / "latest" / "result.json").read_text())
    assert result["exit_code"] == 4
    assert not [host for host, counts in result["hosts"].items() if counts["ok"] or counts["changed"]]
    assert lab.node("node01", "sha256sum /etc/hosts /etc/munge/munge.key") == before


def test_invalid_site_is_refused_with_its_line(lab: Lab, tmp_path: Path) -> None:
    site = tmp_path / "site.yaml"
    site.write_text(lab.site.read_text().replace("    node02:\n", "    node02:\n    node02:\n"))
    done = lab.hpcprov("deploy", str(site))
    assert done.returncode == 3, said(done)
    assert re.search(r"site\.yaml:\d+", done.stderr)


def test_two_labs_live_side_by_side(lab: Lab, deployed: Deployment, tmp_path: Path) -> None:
    other = make_site(tmp_path, "e2e-other", "10.89.93")
    try:
        up = lab.hpcprov("lab", "up", str(other))
        assert up.returncode == 0, said(up)
        states = json.loads(lab.hpcprov("lab", "status", str(other), "--json").stdout)
        assert len(states) == len(HOSTS)
        assert "idle" in lab.node("head", "sinfo -h")
    finally:
        down = lab.hpcprov("lab", "down", str(other))
    assert down.returncode == 0, said(down)
    assert "idle" in lab.node("head", "sinfo -h"), "removing one lab hurt the other"


def job_state(lab: Lab, job: str) -> str:
    """State, start time and restarts of a job."""
    shown = lab.node("head", f"scontrol show job {job}")
    return " ".join(re.findall(r"(?:JobState|StartTime|Restarts)=\S+", shown))


def wait_for_job(lab: Lab, job: str, state: str) -> str:
    """Poll until the job has the state."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        shown = job_state(lab, job)
        if f"JobState={state}" in shown:
            return shown
        time.sleep(0.5)
    raise AssertionError(f"job {job} did not become {state}: {job_state(lab, job)}")
