"""Runs on a host as root: prints, as one JSON object, what a deploy left there.

Left out is what is new in each container or changes by itself: host keys, machine id, caches that are rebuilt from
other files, counters of Slurm, and times.
"""

import hashlib
import json
import os
import re
import subprocess
from pathlib import Path

TREES = (
    "/etc", "/root", "/opt", "/usr/local", "/usr/share/lmod", "/var/lib/hpcprov", "/var/lib/slurm", "/var/lib/munge",
    "/var/spool/cron", "/srv", "/home", "/shared",
)  # fmt: skip
OWN = re.compile(
    # made anew for each container
    r"^/etc/(ssh/ssh_host_|machine-id|resolv.conf|hostname|mtab|\.pwd\.lock|\.updated)"
    # rebuilt from other files, in an order or with times of their own
    r"|^/etc/ld.so.cache|^/etc/(passwd|group|shadow|gshadow|subuid|subgid)-$|^/etc/shadow$|^/etc/ssl/certs/java"
    r"|^/etc/mailcap|/__pycache__(/|$)"
    # times of the wheel files, which uv notes, and the list that has the hash of that note
    r"|\.dist-info/(uv_cache\.json|RECORD)$"
    # Slurm's and munge's own state
    r"|^/var/lib/slurm/(slurmctld|slurmd)/.|^/var/lib/munge/.|^/root/\.(bash_history|cache|ssh)"
    # what jobs and checks write
    r"|^/shared/(smoke/runs/.|home/[^/]+/.)"
)


def files():
    """Owner, mode and content of each file, by path."""
    found = {}
    for tree in TREES:
        for folder, folders, names in os.walk(tree):
            for name in [*folders, *names]:
                path = Path(folder, name)
                if OWN.search(str(path)):
                    continue
                info = path.lstat()
                about = f"{info.st_mode & 0o7777:o} {info.st_uid}:{info.st_gid}"
                if path.is_symlink():
                    about = f"link to {path.readlink()}"
                elif path.is_dir():
                    about += " directory"
                elif path.is_file():
                    about += f" {hashlib.sha256(path.read_bytes()).hexdigest()[:16]}"
                found[f"file {path}"] = about
    return found


def run(command):
    """Output of a shell command."""
    return subprocess.run(command, shell=True, capture_output=True, text=True, check=False).stdout


def lines(title, command, without=r"(?!)"):
    """Sorted lines of a command's output, without what moves."""
    text = [re.sub(without, "", line).rstrip() for line in run(command).splitlines()]
    return {title: sorted(line for line in text if line)}


def system():
    """Packages, users and services."""
    units = "systemctl list-unit-files --no-legend --no-pager --type=service,socket,timer,mount"
    running = "systemctl list-units --no-legend --no-pager --type=service --state=active,failed"
    ours = "munge|slurm|maria|ssh|chrony|ganesha|nfs"
    overlay = r",?(lowerdir|upperdir|workdir)=\S+"
    return {
        **lines("packages", "dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\n'"),
        **lines("holds", "apt-mark showhold"),
        **lines("users", "getent passwd"),
        **lines("groups", "getent group"),
        **lines("locked accounts", "cut -d: -f1,2 /etc/shadow"),
        **lines("at boot", units + " | awk '{print $1, $2}'"),
        **lines("running", running + f" | sed 's/^[^a-z]*//' | awk '{{print $1, $3, $4}}' | grep -E '{ours}'"),
        **lines("mounts", "findmnt -rno TARGET,FSTYPE,OPTIONS -t nfs,nfs4,xfs,ext4,overlay", overlay),
        **lines("leftovers in /tmp", "ls -A /tmp /var/tmp | grep -i -E 'ansible|hpcprov'"),
    }


def slurm():
    """Slurm's own view."""
    moving = r"(BootTime|LastBusyTime|SlurmdStartTime|CPULoad|FreeMem|CurrentWatts|AveWatts|Uptime|OS)=.*$"
    own = "^(Configuration data|BOOT_TIME|NEXT_JOB_ID|Slurmctld.host)"
    if not run("command -v scontrol"):
        return {}
    return {
        **lines("slurm nodes", "scontrol show node", moving),
        **lines("slurm partitions", "scontrol show partition"),
        **lines("slurm config", f"scontrol show config | grep -v -E '{own}'"),
    }


def accounting():
    """The database as Slurm shows it."""
    fields = {
        "cluster": "cluster,controlport,classification",
        "account": "account,descr,org",
        "user": "user,defaultaccount,admin",
        "qos": "name,priority,maxwall,maxtrespu",
        "assoc": "cluster,account,user,partition,share,qos",
    }
    state = {}
    for what, names in fields.items() if run("command -v sacctmgr") else ():
        state.update(lines(f"slurm {what}", f"sacctmgr -nP show {what} format={names}"))
    return state


print("STATE" + json.dumps({**files(), **system(), **slurm(), **accounting()}))
