"""What a run leaves behind for programs: `result.json`, described in docs/results.md."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

PhaseStatus = Literal["done", "failed", "interrupted"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class PhaseResult(_Model):
    """One phase that was started."""

    name: str
    seconds: float = Field(ge=0)
    status: PhaseStatus
    spans: list[tuple[float, float]] = Field(
        default_factory=list,
        description="From and to, seconds since the run started. Smoke has two: its job is put in place before verify.",
    )


class HostResult(_Model):
    """Ansible's count of tasks on one host, and the services that did not keep running as they were."""

    ok: int = Field(default=0, ge=0)
    changed: int = Field(default=0, ge=0)
    failed: int = Field(default=0, ge=0)
    unreachable: int = Field(default=0, ge=0)
    restarted: list[str] = Field(default_factory=list, description="Services that ran before and were restarted.")
    started: list[str] = Field(default_factory=list, description="Services that did not run before.")
    groups: list[str] = Field(default_factory=list, description="What the host is for.")
    os: str | None = Field(default=None, description="As the host names it; None if it was not asked.")


class PreflightFinding(_Model):
    """What was found on one host before anything changed."""

    host: str
    rule: str = Field(description="Stable name, see docs/preflight.md.")
    level: Literal["error", "warning"]
    message: str
    cause: str = ""
    fix: str = Field(default="", description="What to do, on that host where it says `there`.")


class PreflightSummary(_Model):
    """What was found on the hosts before anything changed."""

    findings: list[PreflightFinding] = Field(default_factory=list)


class VerifyFailure(_Model):
    """A check that did not hold."""

    host: str
    check: str
    reason: str = Field(description="Expected, found and the likely cause in one sentence.")
    expected: str | None = None
    found: str | None = None
    cause: str | None = Field(default=None, description="The likely cause, or the failure that this one follows from.")
    fix: str | None = Field(default=None, description="The command that mends it, or shows more.")


class CheckCounts(_Model):
    """One check and on how many hosts it held."""

    check: str
    passed: int = Field(default=0, ge=0)
    failed: int = Field(default=0, ge=0)
    skipped: int = Field(default=0, ge=0)


class VerifySummary(_Model):
    """The checks of the cluster."""

    passed: int = Field(default=0, ge=0)
    failed: int = Field(default=0, ge=0)
    skipped: int = Field(default=0, ge=0)
    failures: list[VerifyFailure] = Field(default_factory=list)
    checks: list[CheckCounts] = Field(default_factory=list, description="Each check, in the order in which they ran.")


class SmokeResult(_Model):
    """The training job."""

    passed: bool
    reason: str | None = Field(default=None, description="Why it did not pass.")
    job_id: int | None = None
    accuracy: float | None = Field(default=None, ge=0, le=1, description="On the test images, 0 to 1.")
    loss: list[float] = Field(default_factory=list, description="Mean training loss of each epoch.")
    accuracies: list[float] = Field(default_factory=list, description="On the test images after each epoch, 0 to 1.")
    ranks: int | None = None
    nodes: list[str] = Field(default_factory=list)
    samples_per_second: float | None = Field(
        default=None, description="Training images per second, all ranks together."
    )
    framework: str | None = Field(default=None, description="Name and version, such as `torch 2.13.0+cpu`.")


class FailureResult(_Model):
    """Why the run did not pass."""

    phase: str | None
    host: str | None
    role: str | None = None
    task: str | None = None
    reason: str
    journal: list[str] = Field(default_factory=list)
    fix: str | None = Field(default=None, description="What mends it, or where to look next.")


class Result(_Model):
    """One run. It says "failed" until the very end, so that a run that was killed does not look like a good one."""

    verdict: Literal["passed", "failed"] = "failed"
    exit_code: int | None = Field(default=None, description="None while the run is not over.")
    proven: bool = Field(default=False, description="True only when the training job of this run passed.")
    site: str = Field(description="Absolute path of the site file.")
    cluster: str | None = None
    command: list[str] = Field(default_factory=list)
    hpcprov: str = Field(description="Version of hpcprov.")
    started: str = Field(description="ISO 8601 with the zone.")
    seconds: float = 0.0
    check: bool = Field(default=False, description="Nothing was changed, only asked.")
    phases: list[PhaseResult] = Field(default_factory=list)
    hosts: dict[str, HostResult] = Field(default_factory=dict)
    preflight: PreflightSummary | None = None
    verify: VerifySummary | None = None
    smoke: SmokeResult | None = None
    failures: list[FailureResult] = Field(default_factory=list)
    notices: list[str] = Field(default_factory=list, description="What roles want the admin to know.")
    versions: dict[str, str] = Field(default_factory=dict)
    partitions: list[str] = Field(default_factory=list, description="As Slurm has them, one line each.")
    nfs_backend: str | None = None

    def document(self) -> str:
        """The text of result.json."""
        return self.model_dump_json(indent=2) + "\n"


def schema() -> dict[str, Any]:
    """JSON schema of result.json, kept in docs/result.schema.json."""
    return Result.model_json_schema()
