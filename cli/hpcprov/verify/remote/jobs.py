"""Runs on the submit host as the smoke user: real jobs, because `sinfo` calls a node idle that cannot run one.

One job over all nodes first; only where it did not reach a node, that node is tried alone, which gives its own reason.
Then one allocation of two nodes compiles and runs an MPI and an OpenMP program, and accounting is asked about it.
Everything is interactive (`srun`, `salloc`): the answers come back over the network and need no shared path, and
whatever ends this script ends the jobs with it.
"""

from __future__ import annotations

import concurrent.futures
import functools
import json
import os
import re
import socket
import subprocess
import sys
import time
from typing import Any

NAME = "hpcprov-verify"
GRANT_LIMIT = 30  # seconds to wait for resources; a full cluster must not hang verify
RUN_LIMIT = 60  # seconds for one step; loaded machines are slow, and nothing healthy waits for it
ACCOUNTING_LIMIT = 20
CONNECT_LIMIT = 5  # seconds, for a packet and its answer
RETRY_AFTER = 2.0
# A job that ended while slurmd was away keeps its node until slurmctld asks again: KillWait, twice MessageTimeout and
# the minute between two rounds.
COMPLETING_LIMIT = 180
REGISTER_LIMIT = 30  # until nodes have spoken to a controller that was just started
# Flags behind a state (IDLE+DRAIN, DOWN*) that keep Slurm from starting a job there.
UNUSABLE = ("DOWN", "DRAIN", "FAIL", "MAINT", "NOT_RESPONDING", "POWER", "REBOOT", "INVAL", "UNKNOWN", "FUTURE")

# What a client says without giving a reason.
DULL = (
    "Force Terminated",
    "Relinquishing",
    "Granted",
    "Pending job",
    "queued and waiting",
    "has been allocated",
    "Job step aborted",
)
TELL = (
    'own=$(getent ahostsv4 "$(hostname)" | head -n 1 | cut -d " " -f 1); '
    'echo "NODE|$SLURMD_NODENAME|$(hostname)|$(id -u)|$(ulimit -l)|$(ulimit -Hn)|$SLURM_JOB_ID|$(nproc)|$own"'
)

MPI_SOURCE = r"""
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
/* The addresses of this process's own TCP connections to other machines. */
static void peers(int rank) {
  static unsigned long own[4096];
  int count = 0, found;
  char path[300], target[64], line[512];
  struct dirent *entry;
  DIR *open_files = opendir("/proc/self/fd");
  FILE *table = fopen("/proc/self/net/tcp", "r");
  while (open_files && (entry = readdir(open_files)) && count < 4096) {
    snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0) continue;
    target[length] = 0;
    if (sscanf(target, "socket:[%lu]", &own[count]) == 1) count++;
  }
  while (table && fgets(line, sizeof line, table)) {
    unsigned here, there, state;
    unsigned long inode;
    found = sscanf(line, " %*d: %x:%*x %x:%*x %x %*s %*s %*s %*s %*s %lu", &here, &there, &state, &inode);
    if (found != 4 || state != 1 || (there & 255) == 127) continue;
    for (int i = 0; i < count; i++)
      if (own[i] == inode)
        printf("PEER|%d|%u.%u.%u.%u|%u.%u.%u.%u\n", rank, here & 255, here >> 8 & 255, here >> 16 & 255, here >> 24,
               there & 255, there >> 8 & 255, there >> 16 & 255, there >> 24);
  }
}
int main(int argc, char **argv) {
  int rank, size, mine, sum, length;
  char name[MPI_MAX_PROCESSOR_NAME];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(name, &length);
  mine = rank + 1;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("RANK|%d|%d|%d|%s\n", rank, size, sum, name);
  peers(rank);
  MPI_Finalize();
  return 0;
}
"""
OPENMP_SOURCE = r"""
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
  long id[1024] = {0};
  int threads = 0, distinct = 0;
  #pragma omp parallel
  {
    id[omp_get_thread_num() % 1024] = syscall(SYS_gettid);
    #pragma omp single
    threads = omp_get_num_threads();
  }
  for (int i = 0; i < threads; i++) {
    int seen = 0;
    for (int k = 0; k < i; k++) seen |= id[k] == id[i];
    distinct += !seen;
  }
  printf("THREADS|%s|%d|%d\n", getenv("SLURMD_NODENAME"), threads, distinct);
  return 0;
}
"""
# Each node compiles for itself: needs no shared path, and proves the compilers of both.
COMPILE = """
mkdir -p "$SCRATCH" && cd "$SCRATCH" || exit 1
printf '%s' "$MPI_SOURCE" > mpi.c; printf '%s' "$OPENMP_SOURCE" > openmp.c
mpicc -o mpi mpi.c & one=$!
cc -fopenmp -o openmp openmp.c && echo "COMPILED|openmp|$SLURMD_NODENAME"
wait $one && echo "COMPILED|mpi|$SLURMD_NODENAME"
"""
ALLOCATED = """
step() { tag=$1; shift; { timeout -k 5 $LIMIT srun -N$N -n$N --ntasks-per-node=1 "$@"; echo "ENDED|$?"; } 2>&1 \\
  </dev/null | sed "s/^/$tag|/"; }
echo "JOB|$SLURM_JOB_ID"
step BUILD --mpi=none sh -c "$COMPILE"
step MPI --mpi=$MPI_TYPE "$SCRATCH/mpi"
export OMP_NUM_THREADS=$CPUS
step OPENMP --cpus-per-task=$CPUS --mpi=none sh -c '"$SCRATCH/openmp"; rm -rf "$SCRATCH"'
"""


def command(words: list[str], limit: int, **extra: str) -> tuple[int, str, str]:
    """Exit code, output and errors. On time-out the client gets SIGTERM first, so that it cancels its job."""
    env = dict(os.environ, LC_ALL="C", SLURM_MPI_TYPE="none", **extra)
    pipe = subprocess.PIPE
    try:
        child = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=env, cwd="/tmp", text=True
        )
    except OSError as error:
        return 127, "", f"{words[0]}: {error.strerror}"
    try:
        out, err = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        child.terminate()
        try:
            out, err = child.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
        return 124, out, f"{err}\nno answer within {limit} s"
    return child.returncode, out, err


def reason(text: str) -> str:
    """The errors of a Slurm client in one line, without its program name and what says nothing."""
    lines = [re.sub(r"^(srun|salloc|slurmstepd): (error: )?", "", line) for line in text.splitlines() if line.strip()]
    told = [line for line in lines if not any(word in line for word in DULL)]
    return "; ".join(dict.fromkeys(told or lines))[:400]


def parse_nodes(text: str) -> dict[str, dict[str, Any]]:
    """`scontrol show node --oneliner`: state, reason, partitions and CPUs by node."""
    nodes = {}
    for line in text.splitlines():
        pairs = dict(re.findall(r"(\w+)=(\S*)", line))
        told = re.search(r"\bReason=(.*?)(?= \w+=|$)", line)
        if "NodeName" in pairs:
            nodes[pairs["NodeName"]] = {
                "state": pairs.get("State", "UNKNOWN"),
                "reason": told.group(1).strip() if told else "",
                "partitions": [name for name in pairs.get("Partitions", "").split(",") if name],
                "cpus": int(pairs.get("CPUTot", "1")),
                "memory": int(pairs.get("RealMemory", "1")),
                "cores": int(pairs.get("Sockets", "0")) * int(pairs.get("CoresPerSocket", "0")),
                "address": pairs.get("NodeAddr", pairs["NodeName"]),
                "port": int(pairs["Port"]) if "Port" in pairs else None,
                "slurm": pairs.get("Version", ""),
            }
    return nodes


def is_usable(state: str) -> bool:
    """Slurm would start a job there, if there is room."""
    return not state.endswith("*") and not any(word in state for word in UNUSABLE)


def is_full(state: str) -> bool:
    """Other jobs run there, so that ours may have found no room."""
    return state.startswith(("ALLOC", "MIX"))


def parse_told(text: str) -> dict[str, dict[str, Any]]:
    """What the job said on each node."""
    told = {}
    for line in text.splitlines():
        fields = line.split("|")
        if fields[0] == "NODE" and len(fields) == 9:
            told[fields[1]] = {
                "hostname": fields[2], "uid": fields[3], "memlock": fields[4], "nofile": fields[5], "job": fields[6],
                "cpus": fields[7], "address": fields[8],
            }  # fmt: skip
    return told


def by_partition(nodes: dict[str, dict[str, Any]], preferred: str) -> dict[str, list[str]]:
    """Nodes grouped under one of their partitions, the preferred (default) one where they are in it."""
    groups: dict[str, list[str]] = {}
    for name, node in nodes.items():
        if node["partitions"]:
            part = preferred if preferred in node["partitions"] else node["partitions"][0]
            groups.setdefault(part, []).append(name)
    return groups


def tell(partition: str, names: list[str]) -> tuple[dict[str, dict[str, Any]], str]:
    """One job over these nodes; what they said, and what Slurm said."""
    count = str(len(names))
    words = ["srun", f"--job-name={NAME}", "-p", partition, "-w", ",".join(names), "-N", count, "-n", count,
             "--ntasks-per-node=1", "-c1", "--mem=32M", "-t2", f"--immediate={GRANT_LIMIT}", "--mpi=none",
             "--kill-on-bad-exit=0", "--wait=10", "-D", "/tmp", "sh", "-c", TELL]  # fmt: skip
    _, out, err = command(words, RUN_LIMIT)
    return parse_told(out), reason(err)


@functools.lru_cache(maxsize=None)  # noqa: UP033 (nodes may have Python 3.8)
def default_partition() -> str:
    """The partition marked with a star."""
    marked = re.search(r"^(\S+)\*$", command(["sinfo", "-h", "-o", "%P"], GRANT_LIMIT)[1], re.M)
    return marked.group(1) if marked else ""


def seen_now(name: str) -> dict[str, Any]:
    """The node as Slurm sees it now: one that is idle with a dead slurmd turns to down when a job is tried."""
    return parse_nodes(command(["scontrol", "show", "node", name, "--oneliner"], GRANT_LIMIT)[1]).get(name, {})


def change(before: str, now: dict[str, Any]) -> str:
    """What Slurm has noticed meanwhile, empty where that is nothing."""
    if not now or now["state"] == before:
        return ""
    reason = f" ({now['reason']})" if now["reason"] else ""
    return f"; Slurm called the node {before} before and now {now['state']}{reason}"


def connect_error(address: str, port: int) -> str:
    """Why slurmd of a node cannot be reached from here, empty when it can. A kernel accepts also under load."""
    error = ""
    for pause in (0.0, RETRY_AFTER):  # a slurmd that is just being restarted comes back
        time.sleep(pause)
        try:
            with socket.create_connection((address, port), timeout=CONNECT_LIMIT):
                return ""
        except socket.timeout:  # noqa: UP041 (another class before Python 3.10)
            return f"slurmd's port {port} does not answer"
        except OSError as problem:
            error = f"slurmd's port {port} at {address}: {problem.strerror or problem}"
    return error


def slurmd_port() -> int:
    """The port of all slurmd, as the controller has it."""
    out = command(["scontrol", "show", "config"], GRANT_LIMIT)[1]
    told = re.search(r"^SlurmdPort\s*=\s*(\d+)", out, re.M)
    return int(told.group(1)) if told else 6818


def without_deaf(nodes: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The nodes whose slurmd can be reached. Of the others `error` tells why: a job sent there would wait a minute."""
    port = slurmd_port()
    with concurrent.futures.ThreadPoolExecutor(max_workers=64) as pool:
        errors = pool.map(lambda node: connect_error(node["address"], node["port"] or port), nodes.values())
        for node, error in zip(nodes.values(), errors):  # noqa: B905 (nodes may have Python 3.8)
            if error:
                node["error"] = node["deaf"] = error
    return {name: node for name, node in nodes.items() if "deaf" not in node}


def about(name: str, error: str) -> str:
    """The part of what srun said that names the node, all of it where none does."""
    parts = [part for part in error.split("; ") if re.search(rf"\b{re.escape(name)}\b", part)]
    return "; ".join(parts) or error


def has_broken(name: str, node: dict[str, Any], error: str) -> bool:
    """By our job Slurm found out that the node does not respond: a job for it alone would only wait."""
    now = seen_now(name)
    if not now or is_usable(now["state"]):
        return False
    node["error"] = f"{about(name, error) or 'the job said nothing'}{change(node['state'], now)}"
    return True


def job_on_every_node(nodes: dict[str, dict[str, Any]]) -> None:
    """Add to each usable node what a job said there (`told`), or why none ran (`error`, `busy`)."""
    usable = without_deaf({name: node for name, node in nodes.items() if is_usable(node["state"])})
    groups = by_partition(usable, default_partition())
    with concurrent.futures.ThreadPoolExecutor(max_workers=16) as pool:
        refused = {}
        for part, (told, error) in zip(groups, pool.map(lambda item: tell(*item), groups.items())):  # noqa: B905
            refused[part] = error
            for name, said in told.items():
                usable[name]["told"] = said
        missed = [(part, name) for part, names in groups.items() for name in names if "told" not in usable[name]]
        missed = [(part, name) for part, name in missed if not has_broken(name, usable[name], refused[part])]
        alone = list(pool.map(lambda item: tell(item[0], [item[1]]), missed))
        for (_, name), (told, error) in zip(missed, alone):  # noqa: B905 (nodes may have Python 3.8)
            if name in told:
                usable[name]["told"] = told[name]
            elif is_full(usable[name]["state"]) and re.search(r"[Ii]mmediate|busy|timed out", error):
                usable[name]["busy"] = True
            else:
                usable[name]["error"] = (
                    f"{error or 'the job said nothing'}{change(usable[name]['state'], seen_now(name))}"
                )


def fields_after(text: str, *prefix: str) -> list[list[str]]:
    """The fields of the lines that start with these fields."""
    rows = (line.split("|") for line in text.splitlines())
    return [row[len(prefix) :] for row in rows if row[: len(prefix)] == list(prefix)]


def free_text(text: str, part: str) -> str:
    """What a step said besides its marked lines: errors."""
    marks = ("RANK", "PEER", "THREADS", "COMPILED", "ENDED")
    if ["124"] in fields_after(text, part, "ENDED"):
        return f"no answer within {RUN_LIMIT} s"
    rows = [row for row in fields_after(text, part) if row and row[0] not in marks]
    return reason("\n".join("|".join(row) for row in rows))


def parallel_programs(nodes: dict[str, dict[str, Any]], mpi_type: str) -> dict[str, Any]:
    """Compile and run MPI and OpenMP on two nodes (one, on a one-node site) that have proven to run jobs."""
    proven = {name: node for name, node in nodes.items() if "told" in node}
    groups = sorted(by_partition(proven, default_partition()).items(), key=lambda item: -len(item[1]))
    if not groups:
        return {"error": "no node runs jobs"}
    partition, names = groups[0][0], groups[0][1][:2]
    cpus = min([2, *(proven[name]["cpus"] for name in names)])
    count = str(len(names))
    words = ["salloc", f"--job-name={NAME}", "-p", partition, "-w", ",".join(names), "-N", count, "-n", count,
             "--ntasks-per-node=1", f"-c{cpus}", "--mem=256M", "-t5", f"--immediate={GRANT_LIMIT}",
             "sh", "-c", ALLOCATED]  # fmt: skip
    code, out, err = command(
        words, 4 * RUN_LIMIT, N=count, CPUS=str(cpus), LIMIT=str(RUN_LIMIT), COMPILE=COMPILE, MPI_SOURCE=MPI_SOURCE,
        OPENMP_SOURCE=OPENMP_SOURCE, SCRATCH=f"/tmp/{NAME}-{os.getpid()}", MPI_TYPE=mpi_type,
    )  # fmt: skip
    job = fields_after(out, "JOB")
    if not job:
        return {"nodes": names, "error": reason(err) or f"salloc ended with {code}"}
    compiled = {kind: [row[0] for row in fields_after(out, "BUILD", "COMPILED", kind)] for kind in ("mpi", "openmp")}
    return {
        "nodes": names,
        "job": job[0][0],
        "cpus": cpus,
        "compiled": compiled,
        "build_said": free_text(out, "BUILD"),
        "ranks": fields_after(out, "MPI", "RANK"),
        "peers": fields_after(out, "MPI", "PEER"),
        "mpi_said": free_text(out, "MPI") or reason(err),
        "threads": fields_after(out, "OPENMP", "THREADS"),
        "openmp_said": free_text(out, "OPENMP"),
    }


def accounted(job: str) -> dict[str, Any]:
    """The job's record in the accounting database; slurmctld sends it some seconds late when it is busy."""
    deadline = time.monotonic() + ACCOUNTING_LIMIT
    words = ["sacct", "-X", "-n", "-P", "-j", job, "-o", "jobid,state,user,cluster,nodelist"]
    while True:
        code, out, err = command(words, GRANT_LIMIT)
        row = out.strip().splitlines()[0].split("|") if out.strip() else []
        if len(row) == 5 and row[1] not in ("PENDING", "RUNNING"):
            return {"state": row[1], "user": row[2], "cluster": row[3], "nodes": row[4]}
        if time.monotonic() > deadline or "storage is disabled" in err:
            said = reason(err) or (f"state {row[1]}" if len(row) == 5 else "no record")
            return {"error": f"{said} after {ACCOUNTING_LIMIT} s" if code == 0 else said}
        time.sleep(0.3)


def is_completing(state: str) -> bool:
    """Nothing runs there, and still no job may start: the end of an earlier one is not confirmed yet."""
    return state.startswith("IDLE") and "COMPLETING" in state and is_usable(state)


def patience(state: str) -> int:
    """Seconds for which it is worth waiting that a node leaves this state by itself."""
    if is_completing(state):
        return COMPLETING_LIMIT
    return REGISTER_LIMIT if state.startswith("UNKNOWN") else 0


def settled_nodes(names: list[str]) -> tuple[int, str, str]:
    """What `scontrol show node` says once none of these nodes is about to become free, or the limit is over."""
    started = time.monotonic()
    while True:
        code, out, err = command(["scontrol", "show", "node", "--oneliner"], 30)
        nodes = parse_nodes(out)
        limit = max((patience(nodes[name]["state"]) for name in names if name in nodes), default=0)
        if code or time.monotonic() - started >= limit:
            return code, out, err
        time.sleep(1)


def submit(parameters: dict[str, Any]) -> dict[str, Any]:
    """All of it."""
    code, out, err = settled_nodes(parameters["nodes"])
    if code:
        return {"error": reason(err + out) or f"scontrol ended with {code}", "user_uid": os.getuid()}
    nodes = parse_nodes(out)
    chosen = {name: nodes[name] for name in parameters["nodes"] if name in nodes}
    answer: dict[str, Any] = {"nodes": chosen, "user_uid": os.getuid()}
    if parameters["run"]:
        job_on_every_node(chosen)
    if parameters["parallel"]:
        answer["parallel"] = parallel_programs(chosen, parameters["mpi_type"])
        answer["accounting"] = accounted(answer["parallel"]["job"]) if "job" in answer["parallel"] else None
    return answer


def main(parameters: dict[str, Any]) -> None:
    """Print one JSON line."""
    sys.stdout.write("HPCPROV " + json.dumps(submit(parameters)) + "\n")
