"""Runs on a host as root: everything that verify wants to know about it, in one round trip.

Started in three rounds. `seed`, on the controller and on hosts that serve a shared path: make a munge credential, leave
a token on each path. `probe`, on all hosts: read those, leave the own ones, look at everything else. `collect`, where
seeded: read what the others made, tidy up. So each pair is proven both ways with one round trip per host.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import os
import pwd
import re
import shlex
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hpcprov.verify.remote import configuration, disks, hardware
from hpcprov.verify.remote.host import COMMAND_LIMIT, command, last_line, owner_and_mode, read

IMPORT_LIMIT = 60
JUST_STARTED = 120  # seconds after its start during which slurmctld may still look for its slurmdbd
REGISTER_LIMIT = 30
PREFIX = ".hpcprov-verify-"


def in_container() -> bool:
    """True in a container of any kind."""
    return bool(read("/run/systemd/container").strip()) or Path("/run/.containerenv").exists()


def locked_memory_limit() -> str:
    """The hard limit of PID 1; in a container without CAP_SYS_RESOURCE nothing below can have more."""
    found = re.search(r"^Max locked memory\s+\S+\s+(\S+)", read("/proc/1/limits"), re.M)
    limit = found.group(1) if found else "unlimited"
    return limit if limit == "unlimited" else str(int(limit) // 1024)


def open_files_limit() -> str:
    """The hard limit of PID 1, see `locked_memory_limit`."""
    found = re.search(r"^Max open files\s+\S+\s+(\S+)", read("/proc/1/limits"), re.M)
    return found.group(1) if found else "unlimited"


# Services


def parse_units(text: str) -> dict[str, dict[str, str]]:
    """`systemctl show` of several units: blocks of key=value, by the name that was asked for."""
    units = {}
    for block in text.split("\n\n"):
        pairs = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        for name in pairs.get("Names", pairs.get("Id", "")).split():
            units[name] = {
                "pid": pairs.get("MainPID", "0"),
                "load": pairs.get("LoadState", ""),
                "active": pairs.get("ActiveState", ""),
                "sub": pairs.get("SubState", ""),
                "enabled": pairs.get("UnitFileState", ""),
            }
    return units


def is_replaced(pid: str) -> bool:
    """The program that this process runs is no longer the installed one: its file was replaced or removed."""
    try:
        return pid != "0" and os.readlink(f"/proc/{pid}/exe").endswith(" (deleted)")  # noqa: PTH115 (Python 3.8)
    except OSError:
        return False


def services(wanted: list[str]) -> dict[str, Any]:
    """State of the units, with the journal's last lines of those that do not run."""
    names = [name + ".service" for name in wanted]
    show = "--property=Id,Names,LoadState,ActiveState,SubState,UnitFileState,MainPID"
    code, out, err = command("systemctl", "show", show, *names)
    if code:
        return {"error": last_line(err) or f"systemctl ended with {code}"}
    units = parse_units(out)
    found: dict[str, Any] = {}
    for name in wanted:
        unit = found[name] = dict(units.get(name + ".service", {"load": "not-found", "active": "inactive"}))
        unit["replaced"] = is_replaced(str(unit.get("pid", "0")))
        if unit["load"] == "loaded" and unit["active"] != "active":
            lines = command("journalctl", "-u", name, "-n", "8", "--no-pager", "-o", "cat")[1].splitlines()
            unit["journal"] = lines
    return found


# Munge


def munge_encode() -> dict[str, Any]:
    """A fresh credential."""
    code, out, err = command("munge", "-n")
    return {"credential": out} if code == 0 else {"error": last_line(err)}


def munge_decode(credential: str) -> dict[str, Any]:
    """What `unmunge` says about a credential."""
    code, out, err = command("unmunge", stdin=credential)
    status = re.search(r"^STATUS:\s*(.+?)(?:\s*\(\d+\))?$", out, re.M)
    made_on = re.search(r"^ENCODE_HOST:\s*(\S+)", out, re.M)
    return {
        "ok": code == 0,
        "status": status.group(1) if status else last_line(err).replace("unmunge: Error: ", ""),
        "made_on": made_on.group(1) if made_on else "",
    }


def munge_key(run_id: str, path: str) -> dict[str, Any]:
    """Owner and mode of the key and its directory; a salted digest tells whether two hosts have the same key."""
    key = owner_and_mode(path)
    if key is None:
        return {"error": f"{path} is missing"}
    key["digest"] = hashlib.sha256(run_id.encode() + Path(path).read_bytes()).hexdigest()[:12]
    key["directory"] = owner_and_mode(str(Path(path).parent))
    return key


# Names and users


def resolve(name: str) -> list[str]:
    """IPv4 addresses of a name, as programs on this host get them."""
    try:
        found = socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)
    except OSError:
        return []
    return sorted({str(entry[4][0]) for entry in found})


def wrong_names(expected: dict[str, str]) -> dict[str, list[str]]:
    """The names of the site that do not resolve to exactly their address, with what they resolve to."""
    found = {name: resolve(name) for name in expected}
    return {name: got for name, got in found.items() if got != [expected[name]]}


def ids(users: list[str]) -> dict[str, Any]:
    """uid and gid per user, None for a user that is missing."""
    found: dict[str, Any] = {}
    for name in users:
        try:
            entry = pwd.getpwnam(name)
            found[name] = {"uid": entry.pw_uid, "gid": entry.pw_gid}
        except KeyError:
            found[name] = None
    return found


# Shared storage

SEED = """
cd "$1" 2>/dev/null || { echo "$1 is not there"; exit 1; }
for dir in "$1/smoke" "$1/$USER" "$HOME" "$1"; do
  case "$dir/" in "$1"/*) ;; *) continue;; esac
  [ -d "$dir" ] || continue
  [ -d "$dir/$2" ] || mkdir "$dir/$2" || continue
  echo "$2" > "$dir/$2/$3" && { echo "$dir"; exit 0; }
  rm -rf "$dir/$2"
done
exit 1
"""
EXCHANGE = """
cd "$1/$2" || exit 1
grep -qx "$2" "$4" || { echo "$1/$2/$4 is empty"; exit 1; }
head -c 65536 /dev/zero > "host-$3" && sync "host-$3" && echo "$2" > "host-$3"
"""
COLLECT = """
cd "$1/$2" && grep -lx "$2" host-*
"""


def as_user(user: str, script: str, *arguments: str) -> tuple[int, str, str]:
    """A shell script as an ordinary user."""
    home = pwd.getpwnam(user).pw_dir
    environment = [f"USER={user}", f"HOME={home}"]
    return command("runuser", "-u", user, "--", "env", *environment, "sh", "-c", script, "sh", *arguments)


def mount_of(path: str) -> dict[str, Any]:
    """The mount that holds `path`, from /proc/mounts (asking the file system itself could hang)."""
    best = {"mounted_at": "/", "source": "", "type": "", "options": ""}
    for line in read("/proc/mounts").splitlines():
        source, at, kind, options = line.split()[:4]
        at = at.replace("\\040", " ")
        if (path == at or path.startswith(at.rstrip("/") + "/")) and len(at) >= len(best["mounted_at"]):
            best = {"mounted_at": at, "source": source, "type": kind, "options": options}
    return best


def seed_path(path: str, p: dict[str, Any]) -> dict[str, Any]:
    """Leave a token for the other hosts in a directory that the smoke user may write, made by root where none is."""
    arguments = (p["smoke_user"], SEED, path, PREFIX + p["run_id"], p["host"])
    code, out, err = as_user(*arguments)
    if code and make_directory(f"{path}/{PREFIX}{p['run_id']}", p["smoke_user"]):
        code, out, err = as_user(*arguments)
    if code:
        command("rm", "-rf", f"{path}/{PREFIX}{p['run_id']}")
        return {"directory": None, "error": without_shell(worst_error(err) or last_line(out)), **mount_of(path)}
    return {"directory": last_line(out), **mount_of(path)}


def worst_error(text: str) -> str:
    """Of several tries the error that counts: a directory that is closed to the user is no news beside a full disk."""
    told = [line for line in text.strip().splitlines() if "Permission denied" not in line]
    return told[0] if told else last_line(text)


def make_directory(path: str, owner: str) -> bool:
    """A directory for `owner`; False where root may not (root_squash) or the parent is missing."""
    script = 'mkdir -m 0700 "$1" && { chown "$2" "$1" || { rmdir "$1"; exit 1; }; }'
    return command("sh", "-c", script, "sh", path, owner)[0] == 0


def exchange_path(path: str, seeded: dict[str, Any], p: dict[str, Any]) -> dict[str, Any]:
    """Read the token of the seeding host, leave an own file."""
    code, out, err = as_user(
        p["smoke_user"], EXCHANGE, seeded["directory"], PREFIX + p["run_id"], p["host"], seeded["host"]
    )
    said = without_shell(last_line(err) or last_line(out)) or f"ended with {code}"
    return {"error": said if code else None, **mount_of(path)}


def without_shell(text: str) -> str:
    """A shell's error without the shell's name and line."""
    return re.sub(r"^\S*sh: (?:line )?\d+: ", "", text)


def collect_path(seeded: dict[str, Any], p: dict[str, Any]) -> list[str]:
    """Hosts whose file arrived here. What this run and those that were killed have left is removed."""
    directory = seeded["directory"]
    out = as_user(p["smoke_user"], COLLECT, directory, PREFIX + p["run_id"])[1]
    left = [f"{directory}/{PREFIX}{run}" for run in (p["run_id"], *p["abandoned"])]
    # Root can remove an entry of a directory of its own, the user what root_squash keeps from root.
    as_user(p["smoke_user"], 'rm -rf "$@"', *left)
    command("rm", "-rf", *left)
    return [line[len("host-") :] for line in out.splitlines() if line.startswith("host-")]


# Slurm


def version(program: str) -> str | None:
    """Version of a Slurm program, None where it is not installed."""
    code, out, _ = command(program, "-V")
    match = re.search(r"(\d+\.\d+(?:\.\d+)?\S*)", out)
    return match.group(1) if code == 0 and match else None


def slurm_config() -> dict[str, Any]:
    """`scontrol show config` as a map."""
    code, out, err = command("scontrol", "show", "config")
    if code:
        return {"error": last_line(err) or last_line(out)}
    pairs = (line.split("=", 1) for line in out.splitlines() if "=" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def ping() -> dict[str, Any]:
    """Whether the controller answers from here."""
    code, out, err = command("scontrol", "ping")
    told = re.search(r"^.* is (?:UP|DOWN).*$", out, re.M)  # a banner of stars may stand around it
    return {"ok": code == 0 and " is UP" in out, "said": told.group() if told else last_line(err)}


def mpi_types() -> dict[str, Any]:
    """What `srun --mpi=list` offers (some versions print it as an error message)."""
    code, out, err = command("srun", "--mpi=list")
    listed = re.search(r"types are\W*(.*)", out + "\n" + err, re.S)
    words = re.findall(r"\b(?:none|pmi\w+|cray\w*|openmpi)\b", listed.group(1)) if listed else []
    return {"types": sorted(set(words)), "error": last_line(err) if code or not listed else None}


def pmix_library() -> dict[str, Any]:
    """Whether Slurm's PMIx plugin can load its library: it is loaded as the plugin would. `packaged` is False where we
    do not know where the plugin looks."""
    libraries = Path("/usr/lib")
    plugins = any(libraries.glob("*/slurm*/mpi_pmix*.so"))
    found = [*libraries.glob("*/pmix*/lib/libpmix.so"), *libraries.glob("*/libpmix.so")]
    return {
        "packaged": plugins,
        "library": str(found[0]) if found else None,
        "error": loading_error(str(found[0])) if found else None,
    }


def loading_error(library: str) -> str | None:
    """What the loader says about a shared library, None when it loads. In a process of its own: it may crash."""
    program = "import ctypes,sys\ntry: ctypes.CDLL(sys.argv[1])\nexcept OSError as e: sys.exit(str(e))"
    code, _, err = command(sys.executable, "-c", program, library)
    return (last_line(err) or f"loading it ended with {code}") if code else None


def registered_clusters(cluster: str) -> dict[str, Any]:
    """Clusters that slurmdbd knows: name to controller address and port.

    A controller that came up before its slurmdbd, as after a boot, registers when it tries again; it is waited for.
    """
    deadline = time.monotonic() + REGISTER_LIMIT
    while True:
        answer = listed_clusters()
        if answer.get("clusters", {}).get(cluster, {}).get("host") or time.monotonic() > deadline:
            return answer
        if seconds_since_start("slurmctld") > JUST_STARTED:
            return answer
        time.sleep(1)


def seconds_since_start(unit: str) -> float:
    """How long a service has been active; infinite for one that is not."""
    show = ("systemctl", "show", "--value", "-p", "ActiveState", "-p", "ActiveEnterTimestampMonotonic", unit)
    words = command(*show)[1].split()
    started = next((int(word) for word in words if word.isdecimal()), 0)
    return time.monotonic() - started / 1e6 if "active" in words and started else float("inf")


def listed_clusters() -> dict[str, Any]:
    """What sacctmgr says at this moment."""
    code, out, err = command("sacctmgr", "-nP", "show", "cluster", "format=cluster,controlhost,controlport")
    if code:
        return {"error": last_line(err) or last_line(out)}
    rows = (line.split("|") for line in out.splitlines())
    return {"clusters": {row[0]: {"host": row[1], "port": row[2]} for row in rows if len(row) >= 3}}


# Software environments


def login_shell(user: str, line: str, limit: int) -> tuple[int, str, str]:
    """A command as the user types it after logging in."""
    return command("runuser", "-l", user, "-s", "/bin/bash", "-c", line, limit=limit)


def modules(user: str) -> dict[str, Any]:
    """Whether the `module` command works, and what it offers."""
    code, out, err = login_shell(user, "module -t avail 2>&1", COMMAND_LIMIT)
    names = [line.strip() for line in out.splitlines() if line.strip() and not line.endswith(":")]
    return {"error": (last_line(err) or last_line(out)) if code else None, "offered": names}


def why_not_imported(err: str) -> str:
    """The reason among what Lmod or a traceback say; Lmod's ends at the first empty line, Python's is its last one."""
    if "Lmod has detected" in err:
        said = err[err.index("Lmod has detected") :].split("\n\n", maxsplit=1)[0].split("error:", 1)[-1]
        return " ".join(said.split())
    return last_line(err)


def import_framework(user: str, module: str, package: str) -> dict[str, Any]:
    """Load the environment's module and import the framework."""
    python = shlex.quote(f"import {package}; print('version', {package}.__version__)")
    code, out, err = login_shell(user, f"module load {shlex.quote(module)} && python3 -c {python}", IMPORT_LIMIT)
    match = re.search(r"^version (\S+)$", out, re.M)
    if code or not match:
        return {"error": why_not_imported(err) or last_line(out) or f"ended with {code}"}
    return {"error": None, "version": match.group(1)}


# Rounds


def seed(p: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Round one."""
    jobs: dict[str, Callable[[], Any]] = {"shared": lambda: {path: seed_path(path, p) for path in p["seed_paths"]}}
    if p["is_controller"]:
        jobs["munge"] = munge_encode
        jobs["config"] = slurm_config
        jobs["files"] = lambda: configuration.digests(p["conf_dir"])
        jobs["gres_conf"] = lambda: read(f"{p['conf_dir']}/gres.conf")
        jobs["ids"] = lambda: ids(p["users"])
        jobs["munge_key"] = lambda: munge_key(p["run_id"], p["munge_key"])
        jobs["slurm_version"] = lambda: version(p["daemon"])
    return jobs


def probe(p: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Round two."""
    user = p["smoke_user"]
    seeded = p["seeded"]
    jobs: dict[str, Callable[[], Any]] = {
        "services": lambda: services(p["units"]),
        "own_name": lambda: {"name": socket.gethostname(), "addresses": resolve(socket.gethostname())},
        "wrong_names": lambda: wrong_names(p["names"]),
        "ids": lambda: ids(p["users"]),
        "container": in_container,
        "locked_memory_limit": locked_memory_limit,
        "open_files_limit": open_files_limit,
        "nfsd": lambda: "nfsd" in read("/proc/filesystems"),
        "shared": lambda: {path: exchange_path(path, entry, p) for path, entry in seeded.items()},
        "paths": lambda: {path: configuration.with_parents(path) for path in p["paths"]},
        "disks": lambda: disks.local(p["disks"]),
        "boot_mounts": lambda: disks.boot_mounts(p["shared_paths"]),
        "ssh": lambda: services(["ssh", "sshd"]),
        "ssh_socket": lambda: command("systemctl", "is-enabled", "ssh.socket")[1],
    }
    if p["munge"]:
        jobs["munge"] = munge_encode
        jobs["munge_key"] = lambda: munge_key(p["run_id"], p["munge_key"])
        jobs["decoded"] = lambda: munge_decode(p["credential"]) if p["credential"] else None
    if p["daemon"]:
        jobs["slurm_version"] = lambda: version(p["daemon"])
        jobs["ping"] = ping
        jobs["mpi"] = mpi_types
        jobs["pmix"] = pmix_library
        jobs["configuration"] = lambda: configuration.of_host(p["conf_dir"], p["spool"], user)
        jobs["scontrol"] = slurm_config
    if p["spool"]:
        jobs["hardware"] = lambda: hardware.measured(p["devices"])
    if p["is_controller"]:
        jobs["accounting"] = lambda: registered_clusters(p["cluster"])
        jobs["state_cluster"] = lambda: configuration.state_cluster(p["state"])
    if p["modules"]:
        jobs["modules"] = lambda: modules(user)
    for name, (module, package) in p["frameworks"].items():
        jobs["import " + name] = lambda m=module, k=package: import_framework(user, m, k)  # type: ignore[misc]
    return jobs


def collect(p: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    """Round three."""
    jobs: dict[str, Callable[[], Any]] = {
        "arrived": lambda: {path: collect_path(entry, p) for path, entry in p["seeded"].items()}
    }
    jobs["decoded"] = lambda: {host: munge_decode(text) for host, text in p["credentials"].items()}
    return jobs


def run(parts: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """All parts side by side; one that breaks says so and leaves the others alone."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=8) as pool:
        futures = {name: pool.submit(part) for name, part in parts.items()}
        answer: dict[str, Any] = {}
        for name, future in futures.items():
            try:
                answer[name] = future.result()
            except Exception as error:  # whatever it is, the control host must hear it
                answer[name] = {"error": f"{type(error).__name__}: {error}"}
    return answer


def main(parameters: dict[str, Any]) -> None:
    """Print one JSON line; the times allow the control host to measure this host's clock."""
    started = time.time()
    answer = run({"seed": seed, "probe": probe, "collect": collect}[parameters["round"]](parameters))
    answer.update(started=started, finished=time.time())
    sys.stdout.write("HPCPROV " + json.dumps(answer) + "\n")
    sys.stdout.flush()
    os._exit(0)  # a child that hangs in the kernel must not keep us
