"""A whole deploy against one real SSH server on loopback, with tiny playbooks in place of the real ones."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hpcprov import converge, main, smoke, survey, verify
from hpcprov.phases import Phase
from hpcprov.plan.description import of_site
from hpcprov.remote import options
from hpcprov.results import SmokeResult, schema
from hpcprov.site import load_site
from hpcprov.verify import Failure, VerifyResult
from preflight.cluster_look import healthy_probe

from .ssh_server import SshServer

SITE = """\
all:
  vars:
    cluster_name: tiny
    cluster_network: 10.0.0.0/24
    nfs_backend: external
    nfs_mounts: [{{path: /shared}}]
    ansible_connection: local
    ansible_user: root
    ansible_port: {port}
    ansible_host: 127.0.0.1
    ansible_python_interpreter: "{{{{ ansible_playbook_python }}}}"
    ansible_ssh_private_key_file: {key}
    ansible_ssh_common_args: -o UserKnownHostsFile={known} -o GlobalKnownHostsFile=none
controller: {{hosts: {{head: {{cluster_address: 10.0.0.1}}}}}}
database: {{hosts: {{head: }}}}
login: {{hosts: {{head: }}}}
storage: {{hosts: {{head: }}}}
compute: {{hosts: {{head: }}}}
"""
GOOD = """\
- name: {phase} | Something
  hosts: compute
  gather_facts: false
  tasks: [{{name: Do, ansible.builtin.command: "true", changed_when: {changed}}}]
"""
BAD = """\
- name: {phase} | Something
  hosts: compute
  gather_facts: false
  tasks: [{{name: Do, ansible.builtin.fail: {{msg: the disk is full}}}}]
"""


class Cluster:
    """A site of one host, and what its parts will do."""

    def __init__(self, folder: Path, server: SshServer) -> None:
        self.home = folder
        self.server = server
        self.site = folder / "inventory" / "site.yaml"
        self.site.parent.mkdir()
        self.site.write_text(SITE.format(port=server.port, key=server.client_key_file, known=server.known_hosts))
        self.verify = VerifyResult(passed=3)
        self.smoke = SmokeResult(passed=True, job_id=7, accuracy=0.97, loss=[1.0, 0.1], ranks=2, nodes=["head"])
        self.calls: list[str] = []
        for phase in (phase for phase in Phase if phase.is_playbook):
            self.playbook(phase, GOOD)

    def playbook(self, phase: str, text: str) -> None:
        (self.home / f"{phase}.yml").write_text(
            text.format(phase=phase, changed="true" if phase == "base" else "false")
        )

    def measured(self, *, cpus: int) -> None:
        """The site file says what the node has; Slurm's files lie in a folder of this test."""
        text = SITE.format(port=self.server.port, key=self.server.client_key_file, known=self.server.known_hosts)
        node = f"{{slurm_node: {{CPUs: {cpus}, RealMemory: 1000}}}}"
        text = text.replace("compute: {hosts: {head: }}", f"compute: {{hosts: {{head: {node}}}}}")
        self.site.write_text(text.replace("  vars:\n", f"  vars:\n    slurm_conf_dir: {self.home}/controller\n"))

    def deployed(self) -> dict[str, Any]:
        """What the last deploy kept."""
        path = self.site.parent / ".hpcprov" / "tiny" / "deployed.json"
        document: dict[str, Any] = json.loads(path.read_text())
        return document

    def deploy(self, *arguments: str, command: str = "deploy") -> int:
        return main.main([command, str(self.site), *arguments])

    def result(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.home / "runs" / "latest" / "result.json").read_text())
        jsonschema.validate(document, schema())
        return document


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setattr(options, "CONFIG_FILES", ())
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    server = SshServer(tmp_path)
    server.preflight = lambda: healthy_probe("head", "10.0.0.1")
    cluster = Cluster(tmp_path, server)

    def run_verify(*_: Any, report: Callable[[str], None], **__: Any) -> VerifyResult:
        cluster.calls.append("verify")
        report("  ok    munge (head)")
        return cluster.verify

    def run_smoke(_site: Any, on_line: Callable[[str], None]) -> SmokeResult:
        cluster.calls.append("smoke")
        on_line("epoch 1 loss 1.0")
        return cluster.smoke

    monkeypatch.setattr(converge, "playbook", lambda phase: tmp_path / f"{phase}.yml")
    monkeypatch.setattr(verify, "run", run_verify)
    monkeypatch.setattr(smoke, "run", run_smoke)
    monkeypatch.setattr(survey, "versions_and_partitions", lambda _: ({"Slurm": "22.05.8"}, ["main: 1 node"]))
    monkeypatch.setattr("hpcprov.steps._fetch_wheels", lambda *_: None)
    yield cluster
    server.close()


@pytest.fixture
def errors(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], str]]:
    """What was said to the person. The consoles are made anew, on the streams of this test."""
    from hpcprov import console

    console.err.cache_clear()
    console.out.cache_clear()
    yield lambda: capfd.readouterr().err
    console.err.cache_clear()
    console.out.cache_clear()


def test_whole_deploy_proves_the_cluster(cluster: Cluster, errors: Callable[[], str]) -> None:
    assert cluster.deploy() == 0
    result = cluster.result()
    assert (result["verdict"], result["exit_code"], result["proven"]) == ("passed", 0, True)
    assert [phase["name"] for phase in result["phases"]] == [
        "validate", "preflight", "base", "storage", "accounting", "scheduler", "mpi", "frameworks", "verify", "smoke",
    ]  # fmt: skip
    assert {phase["status"] for phase in result["phases"]} == {"done"}
    assert result["hosts"]["head"]["ok"] == 7 and result["hosts"]["head"]["changed"] == 1
    assert result["smoke"]["accuracy"] == 0.97
    assert cluster.calls == ["verify", "smoke"]

    said = errors()
    assert "tiny works: job 7 trained across 1 node." in said
    assert "test accuracy 0.970" in said and "Slurm  22.05.8" in said and "main: 1 node" in said
    assert f"Results: {cluster.home}/runs/20" in said
    page = Path(said.rpartition("Report: ")[2].strip())
    assert page == (cluster.home / "runs/latest").resolve() / "report.html"
    assert "tiny works: job 7 trained across 1 node." in page.read_text()
    assert 'name="smoke"' in (page.parent / "junit.xml").read_text()
    lines = [line for line in said.splitlines() if line.startswith("base ") and " s  " in line]
    assert len(lines) == 1 and lines[0].endswith("changed: head 1")
    log = (cluster.home / "runs/latest/run.log").read_text()
    assert "PLAY RECAP" in log and "epoch 1 loss 1.0" in log and "ok    munge (head)" in log


def test_json_is_all_that_stands_on_stdout(cluster: Cluster, capfd: pytest.CaptureFixture[str]) -> None:
    assert cluster.deploy("--json", "--to", "preflight") == 0
    assert json.loads(capfd.readouterr().out)["phases"][-1]["name"] == "preflight"


def test_without_smoke_nothing_is_proven(cluster: Cluster, errors: Callable[[], str]) -> None:
    assert cluster.deploy("--no-smoke", "--from", "frameworks") == 0
    result = cluster.result()
    assert (result["verdict"], result["proven"], result["smoke"]) == ("passed", False, None)
    assert "is converged, not proven" in errors()
    assert cluster.calls == ["verify"]


def test_a_report_that_cannot_be_written_is_seen_and_leaves_the_run_good(
    cluster: Cluster, errors: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Path:
        raise TypeError("no such colour")

    monkeypatch.setattr("hpcprov.report.write", broken)
    assert cluster.deploy("--to", "preflight") == 0
    assert cluster.result()["verdict"] == "passed"
    said = errors()
    assert "report: not written: TypeError: no such colour" in said
    assert "Report:" not in said
    assert "no such colour" in (cluster.home / "runs/latest/run.log").read_text()


def test_check_changes_and_proves_nothing(cluster: Cluster, errors: Callable[[], str]) -> None:
    assert cluster.deploy("--check", "--from", "frameworks") == 0
    assert cluster.calls == []
    assert cluster.result()["check"] is True
    assert "tiny: nothing would change." in errors()  # commands are skipped in check mode


def test_check_and_diff_show_what_would_change(cluster: Cluster, errors: Callable[[], str]) -> None:
    file = cluster.home / "motd"
    file.write_text("old\n")
    cluster.playbook(
        "base",
        "- name: Base | Something\n  hosts: compute\n  gather_facts: false\n"
        f'  tasks: [{{{{name: Do, ansible.builtin.copy: {{{{dest: {file}, content: "new\\n"}}}}}}}}]\n',
    )
    assert cluster.deploy("--check", "--diff", "--from", "base", "--to", "base") == 0
    said = errors()
    assert "\n  head: Do\n" in said
    assert f"--- {file}\n" in said and "\n    -old\n    +new\n" in said
    assert cluster.deploy("--check", "--from", "base", "--to", "base") == 0
    said = errors()
    assert "\n  head: Do\n" in said and "+new" not in said
    assert file.read_text() == "old\n"


def test_failed_role(cluster: Cluster, errors: Callable[[], str]) -> None:
    cluster.playbook("scheduler", BAD)
    assert cluster.deploy("--from", "scheduler", "--to", "mpi") == 5
    result = cluster.result()
    assert (result["verdict"], result["exit_code"]) == ("failed", 5)
    last = result["phases"][-1]
    assert (last["name"], last["status"]) == ("scheduler", "failed")
    assert last["spans"][0][0] >= result["phases"][0]["seconds"] and last["seconds"] > 0
    (failure,) = result["failures"]
    assert (failure["phase"], failure["host"], failure["task"], failure["reason"]) == (
        "scheduler", "head", "Do", "the disk is full",
    )  # fmt: skip
    said = errors()
    assert "Error: head: the disk is full" in said
    assert f"hpcprov deploy {cluster.site} --from scheduler" in said
    assert "run.log" in said
    assert cluster.calls == []


def test_failed_check_stops_before_the_job(cluster: Cluster, errors: Callable[[], str]) -> None:
    cluster.verify = VerifyResult(
        passed=2, failed=1, failures=[Failure("head", "munge", "clocks differ by 400 s", fix="chronyc makestep")]
    )
    assert cluster.deploy("--from", "frameworks") == 6
    result = cluster.result()
    (failure,) = result["verify"]["failures"]
    assert (failure["host"], failure["check"], failure["reason"]) == ("head", "munge", "clocks differ by 400 s")
    assert failure["fix"] == "chronyc makestep"
    assert "Error: head: munge: clocks differ by 400 s" in errors()
    assert cluster.calls == ["verify"]


def test_checks_that_reach_nobody_are_an_error_about_hosts(cluster: Cluster, errors: Callable[[], str]) -> None:
    cluster.verify = VerifyResult(skipped=9, unreachable={"head": "Connection refused"})
    assert cluster.deploy("--from", "verify") == 4
    (failure,) = cluster.result()["failures"]
    assert (failure["phase"], failure["host"], failure["reason"]) == ("verify", "head", "Connection refused")
    assert "head: Connection refused" in errors()


def test_failed_job(cluster: Cluster, errors: Callable[[], str]) -> None:
    cluster.smoke = SmokeResult(passed=False, reason="test accuracy 0.510 is below 0.95", accuracy=0.51)
    assert cluster.deploy(command="smoke") == 6
    result = cluster.result()
    assert (result["proven"], result["smoke"]["accuracy"]) == (False, 0.51)
    said = errors()
    assert "the training job did not pass: test accuracy 0.510 is below 0.95" in said
    assert f"when it is mended: hpcprov smoke {cluster.site}\n" in said
    assert cluster.calls == ["smoke"]


def test_unreachable_host(cluster: Cluster, errors: Callable[[], str]) -> None:
    text = cluster.site.read_text()
    cluster.site.write_text(
        "\n".join("    ansible_port: 1" if "ansible_port" in line else line for line in text.splitlines())
    )
    assert cluster.deploy() == 4
    assert cluster.result()["failures"][0]["phase"] == "preflight"
    assert "1 of 1 hosts cannot be converged" in errors()


def test_results_name_each_unreachable_host(cluster: Cluster, errors: Callable[[], str]) -> None:
    text = cluster.site.read_text().replace(
        "compute: {hosts: {head: }}",
        "compute: {hosts: {head: , n1: {ansible_host: 127.0.0.2, cluster_address: 10.0.0.2}, "
        "n2: {ansible_host: 127.0.0.3, cluster_address: 10.0.0.3}}}",
    )
    cluster.site.write_text(text)
    assert cluster.deploy() == 4
    failures = cluster.result()["failures"]
    assert [(failure["phase"], failure["host"]) for failure in failures] == [("preflight", "n1"), ("preflight", "n2")]
    assert all(failure["reason"].startswith("SSH does not work") for failure in failures)


def test_what_preflight_finds_stops_the_deploy_or_is_told(cluster: Cluster, errors: Callable[[], str]) -> None:
    healthy = healthy_probe("head", "10.0.0.1")
    taken = 'LISTEN 0 5 0.0.0.0:6818 0.0.0.0:* users:(("python3",pid=4242,fd=3))'
    cluster.server.preflight = lambda: healthy.replace("@@ listening\n", f"@@ listening\n{taken}\n")
    assert cluster.deploy() == 4
    result = cluster.result()
    assert [(item["host"], item["rule"], item["level"]) for item in result["preflight"]["findings"]] == [
        ("head", "port", "error")
    ]
    assert [phase["name"] for phase in result["phases"]] == ["validate", "preflight"]
    assert (result["failures"][0]["host"], result["failures"][0]["phase"]) == ("head", "preflight")
    said = errors()
    assert "port 6818, which slurmd needs, is taken by python3 (process 4242)" in said
    assert "kill 4242" in said

    locked = "812 /var/lib/dpkg/lock-frontend apt-get upgrade"
    cluster.server.preflight = lambda: healthy.replace("@@ package-locks\n", f"@@ package-locks\n{locked}\n")
    assert cluster.deploy("--to", "preflight") == 0
    assert cluster.result()["preflight"]["findings"][0]["level"] == "warning"
    said = errors()
    assert "process 812 (apt-get upgrade) holds /var/lib/dpkg/lock-frontend" in said
    assert "1 host, 1 warning" in said


def test_hosts_outside_the_limit_are_named_so(
    cluster: Cluster, errors: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    text = cluster.site.read_text().replace(
        "compute: {hosts: {head: }}",
        "compute: {hosts: {head: , n1: {ansible_host: 127.0.0.2, cluster_address: 10.0.0.2}}}",
    )
    cluster.site.write_text(text)
    assert cluster.deploy("--to", "preflight", "--limit", "head") == 0
    said = errors()
    assert any(" n1 " in line and line.endswith(" (outside --limit)") for line in said.splitlines())
    assert "Go in with" not in said  # these hosts are no lab


def test_invalid_site(cluster: Cluster, errors: Callable[[], str]) -> None:
    cluster.site.write_text("compute:\n  host: {a: }\n")
    assert cluster.deploy() == 3
    result = cluster.result()
    assert (result["exit_code"], result["cluster"], result["phases"]) == (3, None, [])


def test_missing_site_leaves_nothing(tmp_path: Path, errors: Callable[[], str]) -> None:
    assert main.main(["deploy", str(tmp_path / "no.yaml")]) == 3
    assert list(tmp_path.iterdir()) == []


def test_interrupt_tells_what_is_done_and_how_to_go_on(
    cluster: Cluster, errors: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(verify, "run", interrupted)
    assert cluster.deploy("--from", "frameworks") == 130
    result = cluster.result()
    assert (result["verdict"], result["exit_code"]) == ("failed", 130)
    assert result["phases"][-1]["status"] == "interrupted"
    said = errors()
    assert "Stopped. Done: validate, preflight, frameworks." in said
    assert f"hpcprov deploy {cluster.site} --from verify" in said
    page = Path(said.rpartition("Report: ")[2].strip()).read_text()
    assert "stopped by the user. Done: validate, preflight, frameworks." in page


def test_interrupted_smoke_goes_on_with_smoke(
    cluster: Cluster, errors: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(smoke, "run", interrupted)
    assert cluster.deploy(command="smoke") == 130
    assert f"Go on with: hpcprov smoke {cluster.site}\n" in errors()


def test_second_deploy_leaves_the_results_of_the_first_alone(cluster: Cluster, errors: Callable[[], str]) -> None:
    from hpcprov.lock import site_lock

    with site_lock(cluster.site.parent / ".hpcprov" / "tiny"):
        assert cluster.deploy() == 2
    assert "another run works on this site" in errors()
    assert not (cluster.home / "runs").exists()


def test_usage(cluster: Cluster, errors: Callable[[], str]) -> None:
    assert cluster.deploy("--from", "bass") == 2
    assert "there is no phase 'bass'" in errors()
    assert cluster.deploy("--limit", "node99") == 2
    assert "no host of the site matches" in errors()
    assert cluster.deploy("--nonsense") == 2


def busy(cluster: Cluster) -> None:
    """The controller has a job on its node, which had two cores when it was deployed."""
    folder = cluster.home / "controller"
    folder.mkdir()
    for name, said in (("sinfo", "head"), ("squeue", "7|RUNNING|batch|1:00:00|1|head")):
        (folder / name).write_text(f"#!/bin/sh\ncase $* in *%R*) echo batch;; *) echo '{said}';; esac\n")
        (folder / name).chmod(0o755)
    cluster.server.path = f"{folder}:/usr/bin:/bin"
    cluster.measured(cpus=2)
    for name, text in of_site(load_site(cluster.site)).files.items():
        (folder / name).write_text(text)


def test_a_deploy_keeps_what_it_did_and_the_next_has_nothing_to_tell(
    cluster: Cluster, errors: Callable[[], str]
) -> None:
    cluster.measured(cpus=2)
    assert cluster.deploy("--no-smoke") == 0
    assert "first deploy: 1 host, everything is new" in errors()
    assert cluster.deployed()["parts"]["hosts"]["head"]["address"] == "10.0.0.1"
    assert cluster.deploy("--no-smoke") == 0
    assert "plan" not in errors() and "Nodes:" not in errors()
    cluster.measured(cpus=1)
    assert cluster.deploy("--check") == 0
    assert "  Nodes: head CPUs 2 → 1 [needs drained nodes]\n" in errors()
    assert "CPUs=2" in cluster.deployed()["files"]["slurm.conf"]  # a check keeps nothing


def test_a_run_records_the_phases_that_it_finished_on_everything(cluster: Cluster, errors: Callable[[], str]) -> None:
    cluster.measured(cpus=2)
    cluster.playbook("scheduler", BAD)
    assert cluster.deploy("--no-smoke") == 5
    kept = cluster.deployed()
    assert kept["files"] == {} and {"users", "exports", "accounts"} <= set(kept["parts"])
    assert "frameworks" not in kept["parts"]
    cluster.playbook("scheduler", GOOD)
    assert cluster.deploy("--from", "scheduler", "--to", "scheduler", "--tags", "slurmd") in (0, 5)
    assert cluster.deployed() == kept
    assert cluster.deploy("--from", "scheduler", "--to", "scheduler") == 0
    assert "CPUs=2" in cluster.deployed()["files"]["slurm.conf"]


def test_work_is_not_lost_where_nobody_can_be_asked(
    cluster: Cluster, errors: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    busy(cluster)
    cluster.measured(cpus=1)
    assert cluster.deploy() == 2
    said = errors()
    assert "Error: this deploy would lose work, and there is no terminal to ask on; nothing was changed" in said
    assert "  job 7 (head) would end: jobs on a node whose cores change in number end, or are requeued\n" in said
    assert "or lose it: the same command with --yes" in said
    result = cluster.result()
    assert (result["exit_code"], [phase["name"] for phase in result["phases"]]) == (2, ["validate"])
    assert cluster.calls == []
    assert cluster.deploy("--check") == 0
    assert "job 7 (head) ends" in errors()
    assert cluster.deploy("--yes", "--no-smoke") == 0
    assert cluster.deploy("--from", "mpi", "--no-smoke") == 0  # slurm.conf is not written there


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("Yes\n", 0), ("n\n", 130), ("\n", 130), ("", 130)])
def test_somebody_is_asked_before_work_is_lost(
    cluster: Cluster, errors: Callable[[], str], monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    busy(cluster)
    cluster.measured(cpus=1)
    monkeypatch.setattr("hpcprov.consent._somebody_is_there", lambda: True)
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    assert cluster.deploy("--no-smoke") == code
    said = errors()
    assert "This deploy would lose work:\n  job 7 (head) would end" in said
    assert ("Nothing was changed." in said) == (code == 130)
    assert cluster.calls == (["verify"] if code == 0 else [])


def test_plan_as_json_is_all_that_stands_on_stdout(cluster: Cluster, capfd: pytest.CaptureFixture[str]) -> None:
    busy(cluster)
    cluster.measured(cpus=1)
    assert main.main(["plan", str(cluster.site), "--json"]) == 0
    plan = json.loads(capfd.readouterr().out)
    assert plan["controller"] == {"host": "head", "answers": True, "running": 1, "pending": 0}
    (node,) = [change for change in plan["changes"] if change["part"] == "nodes"]
    assert (node["name"], node["action"], node["effect"]) == ("head", "changed", "needs drained nodes")
    cores = next(detail for detail in node["details"] if detail["key"] == "CPUs")
    assert (cores["from"], cores["to"]) == ("2", "1")
    assert len(plan["asks"]) == 1
    assert not (cluster.home / "runs").exists()  # it leaves nothing behind
