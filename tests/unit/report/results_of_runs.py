"""Results of runs that went each its own way, as hpcprov leaves them."""

from __future__ import annotations

from collections.abc import Callable

from hpcprov.results import (
    CheckCounts,
    FailureResult,
    HostResult,
    PhaseResult,
    PhaseStatus,
    PreflightFinding,
    PreflightSummary,
    Result,
    SmokeResult,
    VerifyFailure,
    VerifySummary,
)

OS = "Debian GNU/Linux 12 (bookworm)"
GROUPS = {
    "head": ["controller", "database", "login"],
    "store": ["storage"],
    "node01": ["compute"],
    "node02": ["compute"],
}
TIMES = {
    "validate": 0.1, "lab": 2.1, "preflight": 0.3, "base": 38.3, "storage": 2.6, "accounting": 5.8, "scheduler": 4.6,
    "mpi": 0.8, "frameworks": 17.7, "verify": 3.8, "smoke": 14.3,
}  # fmt: skip


def phases(until: str = "smoke", status: PhaseStatus = "done") -> list[PhaseResult]:
    """The phases up to one, which ended with `status`."""
    found: list[PhaseResult] = []
    now = 0.0
    for name, seconds in TIMES.items():
        ended: PhaseStatus = status if name == until else "done"
        spans = [(now, now + seconds)]
        if name == "smoke":
            spans = [(now - 5.3, now - 3.8), (now, now + seconds - 1.5)]
        now = spans[-1][1] + (1.5 if name == "frameworks" else 0)
        found.append(PhaseResult(name=name, seconds=seconds, status=ended, spans=spans))
        if name == until:
            break
    return found


def start(**changes: object) -> Result:
    """A run of the lab that has just started."""
    known: dict[str, object] = {
        "site": "/srv/cluster/inventory/site.yaml",
        "cluster": "physics",
        "command": ["hpcprov", "deploy", "inventory/site.yaml"],
        "hpcprov": "0.1.0",
        "started": "2026-12-01T12:19:41+00:00",
        "hosts": {name: HostResult(groups=groups, os=OS) for name, groups in GROUPS.items()},
    }
    return Result.model_validate(known | changes)


def passed() -> Result:
    """Everything done, and a job trained."""
    return start(
        verdict="passed",
        exit_code=0,
        proven=True,
        seconds=90.6,
        phases=phases(),
        hosts={
            name: HostResult(ok=41 + len(groups), changed=12, started=["munge", "slurmd"], groups=groups, os=OS)
            for name, groups in GROUPS.items()
        },
        verify=VerifySummary(
            passed=76, skipped=7,
            checks=[
                CheckCounts(check="Munge credentials are accepted both ways", passed=4),
                CheckCounts(check="Clock agrees with the controller", passed=4),
                CheckCounts(check="NFS share is the same everywhere", passed=3, skipped=1),
                CheckCounts(check="GPUs are seen by Slurm", skipped=2),
                CheckCounts(check="A job runs on every compute node", passed=1),
                *(CheckCounts(check=f"Service {name} runs and starts at boot", passed=2) for name in "abcdefgh"),
            ],
        ),
        smoke=SmokeResult(
            passed=True, job_id=3, accuracy=0.9722, loss=[1.7104, 0.6021, 0.3012, 0.2101, 0.1402, 0.1094],
            accuracies=[0.7111, 0.8722, 0.9139, 0.9444, 0.9583, 0.9722], ranks=2, nodes=["node01", "node02"],
            samples_per_second=1918.0, framework="PyTorch 2.13.0+cpu",
        ),
        notices=["Jobs are not confined to their cores and memory by cgroups (node[01-02]: a container)"],
        versions={"Slurm": "22.05.8", "Open MPI": "4.1.4", "pytorch": "2.13.0+cpu"},
        partitions=["main: 2 nodes (node[01-02]), time limit 1-00:00:00, default"],
        nfs_backend="kernel",
    )  # fmt: skip


def not_proven() -> Result:
    """Converged and verified, with --no-smoke."""
    return passed().model_copy(
        update={"proven": False, "smoke": None, "phases": phases("verify"), "seconds": 76.3}, deep=True
    )


def failed_verify() -> Result:
    """Converged, but two checks do not hold; one of them on both nodes."""
    reason = "unmunge on head says: Invalid credential"
    failures = [
        VerifyFailure(host="node02", check="Munge credentials are accepted both ways", reason=reason),
        VerifyFailure(host="node01", check="Clock agrees with the controller", reason="node01 is 900 s ahead"),
        VerifyFailure(host="node02", check="Clock agrees with the controller", reason="node02 is 900 s ahead"),
        VerifyFailure(host="site", check="A job runs on every compute node", reason="srun: 1 of 2 nodes answered"),
    ]
    told = f"{failures[0].check}: {reason} (and 3 more)"
    return not_proven().model_copy(
        update={
            "verdict": "failed", "exit_code": 6, "phases": phases("verify", "failed"),
            "verify": VerifySummary(
                passed=68, failed=4, skipped=9, failures=failures,
                checks=[
                    CheckCounts(check="Munge key has its mode and owner", passed=4),
                    CheckCounts(check=failures[0].check, passed=3, failed=1),
                    CheckCounts(check=failures[1].check, passed=2, failed=2),
                    CheckCounts(check=failures[3].check, failed=1),
                ],
            ),
            "failures": [FailureResult(phase="verify", host="node02", reason=told)],
        },
        deep=True,
    )  # fmt: skip


def failed_in_full() -> Result:
    """A check with expected, found, cause and fix."""
    result = failed_verify()
    check = VerifyFailure(
        host="node02", check="Munge key has its mode and owner", reason="mode is 0644",
        expected="0400 munge:munge", found="0644 munge:munge",
        cause="somebody opened it for all; munged refuses such a key",
        fix="chmod 0400 /etc/munge/munge.key && systemctl restart munge",
    )  # fmt: skip
    result.verify = VerifySummary(passed=75, failed=1, skipped=7, failures=[check])
    return result


def failed_converge() -> Result:
    """slurmctld does not start on head."""
    hosts = {name: HostResult(ok=28, changed=9, groups=groups, os=OS) for name, groups in GROUPS.items()}
    hosts["head"] = HostResult(ok=33, changed=11, failed=1, started=["munge", "mariadb"], groups=GROUPS["head"], os=OS)
    journal = [f"Dec 01 12:20:{second:02d} head slurmctld[812]: slurmctld starting" for second in range(40)]
    journal += ["Dec 01 12:20:41 head slurmctld[812]: fatal: Unable to process configuration file"]
    failure = FailureResult(
        phase="scheduler", host="head", role="slurmctld", task="Controller is started and answers",
        reason="slurmctld is not active: it ended with exit code 1", journal=journal, fix="journalctl -u slurmctld",
    )  # fmt: skip
    return start(
        exit_code=5, seconds=54.9, phases=phases("scheduler", "failed"), hosts=hosts, failures=[failure],
        nfs_backend="ganesha", versions={"Slurm": "22.05.8"},
    )  # fmt: skip


def interrupted() -> Result:
    """Ctrl-C in base."""
    return start(
        exit_code=130, seconds=12.7, phases=phases("base", "interrupted"),
        failures=[FailureResult(phase="base", host=None, reason="stopped by the user")],
    )  # fmt: skip


def killed() -> Result:
    """What lies there while a run works, or after it was killed."""
    return start(phases=phases("storage"))


def unreachable() -> Result:
    """node02 is switched off."""
    hosts = {name: HostResult(groups=groups) for name, groups in GROUPS.items()}
    reason = "no route to host: 10.1.1.2 port 22"
    return start(
        exit_code=4, seconds=11.0, phases=phases("preflight", "failed"), hosts=hosts,
        failures=[FailureResult(phase="preflight", host="node02", reason=reason, fix="ssh 10.1.1.2")],
    )  # fmt: skip


def without_a_node() -> Result:
    """node02 is switched off, and the others did everything."""
    result = passed()
    result.verdict, result.exit_code = "failed", 4
    result.hosts["node02"] = HostResult(groups=["compute"])
    result.failures = unreachable().failures
    finding = PreflightFinding(host="node02", rule="unreachable", level="error", message="does not answer")
    result.preflight = PreflightSummary(findings=[finding])
    return result


def unfit() -> Result:
    """Preflight found errors on two hosts, and a warning."""
    result = unreachable()
    skew = "its clock is 7.2 s behind the control host"
    findings = [
        PreflightFinding(host=host, rule="clock", level="error", message=skew, cause="no time service runs there",
                         fix="systemctl start chrony")
        for host in ("node01", "node02")
    ]  # fmt: skip
    findings += [
        PreflightFinding(
            host="store", rule="unreachable", level="error", message="does not answer", fix="switch it on"
        ),
        PreflightFinding(host="head", rule="memory", level="warning", message="has 1.9 GiB of memory"),
    ]
    result.preflight = PreflightSummary(findings=findings)
    result.failures = [FailureResult(phase="preflight", host=host, reason=skew) for host in ("node01", "node02")]
    return result


def invalid_site() -> Result:
    """The site file could not be read: no cluster, no hosts, no phases."""
    return start(
        cluster=None, hosts={}, exit_code=3, seconds=0.1,
        failures=[FailureResult(phase=None, host=None, reason="2 errors in site.yaml\nsite.yaml:3:5: x: y")],
    )  # fmt: skip


def large(bad: int = 5) -> Result:
    """4,000 compute nodes, of which some could not be configured."""
    result = passed()
    result.verdict, result.exit_code, result.proven, result.smoke, result.verify = "failed", 5, False, None, None
    result.phases = phases("scheduler", "failed")
    for number in range(4000):
        name = f"node{number:04d}"
        broken = number % 797 == 3 if bad == 5 else number < bad
        result.hosts[name] = HostResult(
            ok=41 + number % 3, changed=number % 7 and 12, failed=broken, restarted=["slurmd"] if number % 7 else [],
            groups=["compute"], os=OS,
        )  # fmt: skip
        if broken:
            result.failures.append(
                FailureResult(phase="scheduler", host=name, role="slurmd", task="Node daemon runs",
                              reason=f"{name}: slurmd is not active", journal=[f"{name} slurmd: no munge socket"])
            )  # fmt: skip
    return result


HOSTILE = "<script>alert('x')</script>&\"><img src=x onerror=alert(1)>"


def hostile() -> Result:
    """Markup and control characters wherever a host or an admin can put text, and names without end."""
    result = failed_converge()
    result.cluster = HOSTILE
    result.site = f"/srv/{HOSTILE}/{'very-long-' * 40}.yaml"
    result.command = ["hpcprov", "deploy", result.site]
    result.started = HOSTILE
    long = "node-" + "x" * 250
    result.hosts[long] = HostResult(ok=1, groups=[HOSTILE], os=HOSTILE, started=[HOSTILE])
    result.hosts[HOSTILE] = HostResult(failed=1)
    result.failures.append(
        FailureResult(
            phase="scheduler", host=long, role=HOSTILE, task="T" * 600,
            reason=HOSTILE + "\x00\x1b[31m\ud800" + "y" * 9000, journal=[HOSTILE, "\x07" + "z" * 400], fix=HOSTILE,
        )
    )  # fmt: skip
    result.verify = VerifySummary(failed=1, failures=[VerifyFailure(host=HOSTILE, check=HOSTILE, reason=HOSTILE)])
    result.smoke = SmokeResult(passed=False, reason=HOSTILE, loss=[2.3], nodes=[HOSTILE], framework=HOSTILE)
    result.notices = [HOSTILE]
    result.versions = {HOSTILE: HOSTILE}
    result.partitions = [HOSTILE]
    result.nfs_backend = HOSTILE
    return result


def only_looked() -> Result:
    """--to preflight."""
    return start(verdict="passed", exit_code=0, seconds=2.6, phases=phases("preflight"))


def checked() -> Result:
    """--check: what would change."""
    return not_proven().model_copy(update={"check": True, "verify": None, "phases": phases("frameworks")}, deep=True)


RUNS: dict[str, Callable[[], Result]] = {
    run.__name__: run
    for run in (
        passed, not_proven, checked, failed_verify, failed_in_full, failed_converge, interrupted, killed, unreachable,
        unfit, without_a_node, invalid_site, only_looked, large, hostile,
    )
}  # fmt: skip
