#!/usr/bin/env python3
"""Submit the smoke job, follow it, and say whether it proved the cluster. Standard library only.

Runs as the ordinary smoke user on a host that can submit. Everything goes to standard output: the job's own lines
as they come, lines about the job with "smoke: " in front, and one JSON object as the very last line (also kept as
result.json in the run's directory). Exit code 0 only when the job trained and passed; a job that stays pending,
dies, hangs or is interrupted is cancelled and reported with its reason, `sinfo -R` and its last lines.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

POLL = 0.5
TAIL = 25
KEEP_RUNS = 5
# A result on a network file system may be seen late: directory attributes are cached for up to 30 s.
RESULT_WAIT = 40
WAITING = {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT"}
ALIVE = {"RUNNING", "COMPLETING", "SUSPENDED", "STAGE_OUT", "SIGNALING", "RESIZING", "STOPPED"}
# Pending reasons that do not go away by waiting.
HOPELESS = re.compile(
    r"BadConstraints|PartitionNodeLimit|PartitionTimeLimit|JobHeld|launch_failed_requeued_held"
    r"|InvalidAccount|InvalidQOS|JobLaunchFailure"
)


class GiveUpError(Exception):
    """The job is given up; the text is the reason."""


def say(text: str) -> None:
    print(f"smoke: {text}", flush=True)


def run(*command: str, timeout: int = 30) -> subprocess.CompletedProcess[str]:
    """A Slurm command that never raises: a controller that is away for a moment must not end the run."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"{command[0]}: no answer in {timeout} s")
    except FileNotFoundError:
        return subprocess.CompletedProcess(command, 127, "", f"{command[0]}: not installed here")


def parse_job(text: str) -> dict[str, str]:
    """The fields of `scontrol --oneliner show job`."""
    return dict(re.findall(r"(\w+)=(\S*)", text))


def sinfo_reasons() -> list[str]:
    """Why nodes are down or drained, without the heading."""
    lines = run("sinfo", "-R", "--noheader", "-o", "%20n %12t %E").stdout.splitlines()
    return [line.rstrip() for line in lines if line.strip()]


class Follower:
    """Prints what was appended to the job's output."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offset = 0
        self.rest = b""
        self.tail: list[str] = []
        self.changed = time.monotonic()

    def read(self) -> None:
        """Opened anew each time: NFS shows what other hosts wrote at open, not before."""
        try:
            with self.path.open("rb") as handle:
                handle.seek(self.offset)
                data = handle.read()
        except OSError:
            return
        if not data:
            return
        self.offset += len(data)
        self.changed = time.monotonic()
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            self.show(line)

    def flush(self) -> None:
        """The last line may have no end."""
        self.read()
        if self.rest:
            self.show(self.rest)
            self.rest = b""

    def show(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace")
        self.tail = [*self.tail, text][-TAIL:]
        print(text, flush=True)


class Smoke:
    """One run: a directory of its own, one job, one verdict."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.started = time.monotonic()
        self.pending_since = self.started
        self.job_id = ""
        self.state = "NOT_SUBMITTED"
        self.fields: dict[str, str] = {}
        self.directory = Path(options.runs) / time.strftime("%Y%m%dT%H%M%S")
        self.follower = Follower(self.directory / "job.log")

    def submit(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        os.chdir(self.directory)
        command = ["sbatch", "--parsable", f"--chdir={self.directory}", f"--output={self.follower.path}"]
        answer = run(*command, str(self.options.job), timeout=60)
        if answer.returncode != 0:
            raise GiveUpError(f"sbatch refused the job: {(answer.stderr or answer.stdout).strip()}")
        self.job_id = answer.stdout.strip().split(";")[0]
        self.state = "PENDING"
        say(f"job {self.job_id} submitted, output in {self.follower.path}")

    def look(self) -> None:
        """Ask the controller; say it when the state or the reason is new."""
        answer = run("scontrol", "--oneliner", "show", "job", self.job_id)
        fields = parse_job(answer.stdout)
        if "JobState" not in fields:
            return
        before = (self.fields.get("JobState"), self.fields.get("Reason"))
        self.fields, self.state = fields, fields["JobState"]
        if before != (self.state, fields.get("Reason")):
            reason = fields.get("Reason", "None")
            where = fields.get("NodeList", "(null)")
            extra = f" ({reason})" if reason != "None" else f" on {where}" if where not in ("(null)", "") else ""
            say(f"job {self.job_id} is {self.state.lower()}{extra}")

    def judge(self) -> bool:
        """True when the job has ended. Raises GiveUpError when waiting longer makes no sense."""
        now = time.monotonic()
        reason = self.fields.get("Reason", "")
        if now - self.started > self.options.limit:
            raise GiveUpError(
                f"the job did not end within {self.options.limit} s, it is {self.state.lower()} ({reason})"
            )
        if self.state in WAITING:
            if HOPELESS.search(reason):
                raise GiveUpError(f"the job can never start: {reason}")
            if now - self.pending_since > self.options.pending_limit:
                raise GiveUpError(f"the job is still pending after {self.options.pending_limit} s: {reason}")
            self.follower.changed = now
            return False
        if self.state in ALIVE:
            if now - self.follower.changed > self.options.silence_limit:
                raise GiveUpError(f"the job hangs: no output for {self.options.silence_limit} s")
            return False
        return True

    def follow(self) -> None:
        while True:
            self.look()
            self.follower.read()
            if self.judge():
                break
            time.sleep(POLL)
        self.follower.flush()
        if self.state != "COMPLETED":
            code = self.fields.get("ExitCode", "unknown")
            raise GiveUpError(f"the job ended as {self.state.lower()} (exit code {code})")

    def cancel(self) -> None:
        if self.job_id:
            run("scancel", self.job_id)
            say(f"job {self.job_id} is cancelled")
            self.follower.flush()

    def training(self) -> dict[str, Any]:
        """What rank 0 wrote. Raises GiveUpError when it is missing or from another job."""
        path = self.directory / "train.json"
        deadline = time.monotonic() + RESULT_WAIT
        while True:
            # Listing the directory makes an NFS client ask the server again.
            if path in self.directory.iterdir():
                break
            if time.monotonic() > deadline:
                raise GiveUpError("the job ended without a result")
            time.sleep(POLL)
        result: dict[str, Any] = json.loads(path.read_text())
        if str(result.get("job_id")) != self.job_id:
            raise GiveUpError(f"the result is of job {result.get('job_id')}, not of {self.job_id}")
        if result.get("verdict") != "passed":
            raise GiveUpError("; ".join(result.get("failures", [])) or "the training did not pass")
        return result

    def partial(self) -> dict[str, Any]:
        """Figures of a job that trained but did not pass."""
        try:
            result: dict[str, Any] = json.loads((self.directory / "train.json").read_text())
        except (OSError, ValueError):
            return {}
        return result

    def report(self, reason: str | None, training: dict[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {
            **training,
            "verdict": "passed" if reason is None else "failed",
            "reason": reason,
            "job_id": int(self.job_id) if self.job_id.isdigit() else None,
            "state": self.state,
            "seconds": round(time.monotonic() - self.started, 1),
            "directory": str(self.directory),
        }
        if reason is not None:
            result["sinfo"] = sinfo_reasons()
            result["tail"] = self.follower.tail
        return result


def tell_failure(result: dict[str, Any]) -> None:
    say(f"FAILED: {result['reason']}")
    for line in result["sinfo"]:
        say(f"sinfo -R: {line}")
    if result["tail"]:
        say("last lines of the job:")
        for line in result["tail"]:
            say(f"  {line}")


def forget_old_runs(runs: Path) -> None:
    for old in sorted(path for path in runs.iterdir() if path.is_dir())[:-KEEP_RUNS]:
        shutil.rmtree(old, ignore_errors=True)


def interrupted(number: int, _frame: Any) -> None:
    raise GiveUpError(f"interrupted by {signal.Signals(number).name}")


def smoke(options: argparse.Namespace) -> int:
    this = Smoke(options)
    reason: str | None = None
    training: dict[str, Any] = {}
    try:
        this.submit()
        this.follow()
        training = this.training()
    except (GiveUpError, BrokenPipeError) as stop:
        reason = str(stop) or "nobody reads the output any more"
        training = this.partial()
        if this.state in WAITING | ALIVE:
            this.cancel()
    result = this.report(reason, training)
    if reason is not None:
        tell_failure(result)
    if this.directory.is_dir():
        (this.directory / "result.json").write_text(json.dumps(result, indent=2) + "\n")
        forget_old_runs(this.directory.parent)
    print(json.dumps(result), flush=True)
    return 0 if reason is None else 1


def main() -> int:
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", type=Path, default=here / "job.sbatch")
    parser.add_argument("--runs", type=Path, default=here / "runs")
    parser.add_argument("--limit", type=int, default=600, help="seconds for everything")
    parser.add_argument("--pending-limit", type=int, default=180, help="seconds to wait for nodes")
    parser.add_argument("--silence-limit", type=int, default=150, help="seconds without output")
    options = parser.parse_args()
    if os.geteuid() == 0:
        parser.error("run this as the smoke user, not as root")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, interrupted)
    return smoke(options)


if __name__ == "__main__":
    sys.exit(main())
