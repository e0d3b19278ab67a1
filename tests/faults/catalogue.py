"""The faults: one entry each. A new fault is a new entry here."""

from __future__ import annotations

from fault import HOSTS_UNFIT, PREFLIGHT, EditSite, Fault, Fix, Hpcprov, Inside, On, PowerOff, Shows

SCHEDULER = ("deploy", "{site}", "--from", "scheduler", "--to", "scheduler")
LIBPMIX = "/usr/lib/x86_64-linux-gnu/pmix2/lib"

# Sessions and services of the node live 15 minutes ahead. Not sshd itself: its sandbox does not let libfaketime work.
SKEW = """
echo LD_PRELOAD=/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1 >> /etc/environment
echo FAKETIME=+900s >> /etc/environment
systemctl set-environment $(tail -n 2 /etc/environment)
systemctl restart munge slurmd
"""
TRUE_TIME = """
sed -i '/FAKETIME\\|LD_PRELOAD/d' /etc/environment
systemctl unset-environment FAKETIME LD_PRELOAD
systemctl restart munge slurmd
"""

# As when a memory module dies: slurm.conf says more than the node has, and slurmctld drains it.
PROMISE_MEMORY = """
sed -i '/^NodeName=node02/s/RealMemory=[0-9]*/RealMemory=9999999/' /etc/slurm/slurm.conf
scontrol reconfigure
for try in $(seq 50); do sinfo -hn node02 -o %E | grep -q RealMemory && exit 0; sleep 0.2; done
exit 1
"""
# The device of the share gets a name by which it can be mounted again.
UNMOUNT = """
rm -f /dev/share
mknod /dev/share b $(mountpoint -d /shared | tr : ' ') && umount --lazy /shared && ! mountpoint -q /shared
"""
# Most of it at once, the rest file by file, until not even a word goes in.
FILL = """
mkdir {folder}
fallocate -l $(df --output=avail -B1 {folder} | tail -n 1) {folder}/most
for file in $(seq 200); do
  cat /dev/zero > {folder}/$file
  sync
  sh -c 'echo word > {folder}/word-$0' $file || exit 0
done
exit 1
"""
CLOSE_PORT = """
nft add table inet fault
nft add chain inet fault closed '{ type filter hook input priority 0; }'
nft add rule inet fault closed tcp dport 6818 drop
"""

# A service that its own unit starts again after a crash is not dead for long.
STAY_DEAD = """
mkdir -p /run/systemd/system/{unit}.service.d
printf '[Service]\\nRestart=no\\n' > /run/systemd/system/{unit}.service.d/zz-fault.conf
systemctl daemon-reload
"""
MAY_RESTART = "rm -r /run/systemd/system/{unit}.service.d; systemctl daemon-reload"

# Root is refused the lock as anyone else, and the holder has a name.
HOLD_LOCK = """
rm -f /run/fault-lock.held
cat > /run/fault-lock.py <<'END'
import fcntl, time
held = open("/var/lib/dpkg/lock-frontend", "w")
fcntl.lockf(held, fcntl.LOCK_EX)
open("/run/fault-lock.held", "w")
time.sleep(3600)
END
systemd-run --unit=fault-lock --collect /usr/bin/python3 /run/fault-lock.py
for try in $(seq 100); do [ -e /run/fault-lock.held ] && exit 0; sleep 0.1; done
exit 1
"""

FAULTS = [
    Fault(
        name="munge key differs on one node",  # MUN-01
        host="node02",
        inject=[On("node02", "dd if=/dev/urandom of=/etc/munge/munge.key bs=1024 count=1 && systemctl restart munge")],
        cause=["Munge key is the same on all hosts", "another key"],
    ),
    Fault(
        name="munged down",
        host="node01",
        inject=[On("node01", "systemctl stop munge")],
        cause=["munge", "inactive"],
    ),
    Fault(
        name="munge key 0644",  # MUN-04
        host="node02",
        inject=[On("node02", "chmod 0644 /etc/munge/munge.key; ! systemctl restart munge")],
        cause=["munge:munge 0644", "munged refuses to start"],
    ),
    Fault(
        name="clock skew",  # MUN-06
        host="node01",
        inject=[On("node01", SKEW)],
        cause=["Clock agrees", "900", "ahead"],
        repair=[On("node01", TRUE_TIME)],
    ),
    Fault(
        name="slurmd stopped",
        host="node02",
        inject=[On("node02", "systemctl stop slurmd")],
        cause=["slurmd", "inactive"],
    ),
    Fault(
        name="slurmd disabled at boot",
        host="node01",
        inject=[On("node01", "systemctl disable slurmd")],
        cause=["slurmd", "enabled", "disabled", "next reboot"],
    ),
    Fault(
        name="slurmctld dead",
        host="head",
        inject=[On("head", STAY_DEAD.format(unit="slurmctld") + "systemctl kill --signal=KILL slurmctld")],
        cause=["slurmctld runs", "failed"],
        restore=[On("head", MAY_RESTART.format(unit="slurmctld"))],
    ),
    Fault(
        name="slurmdbd stopped",
        host="head",
        inject=[On("head", "systemctl stop slurmdbd")],
        cause=["slurmdbd runs", "inactive"],
    ),
    Fault(
        name="database down",
        host="head",
        inject=[On("head", "systemctl stop mariadb")],
        cause=["mariadb runs", "inactive"],
    ),
    Fault(
        name="RealMemory above the real value",  # SLM-01
        host="node02",
        inject=[On("head", PROMISE_MEMORY)],
        cause=["DRAIN", "Low RealMemory", "less than slurm.conf promises"],
    ),
    Fault(
        name="CPUs above the real value",
        host="node01",
        inject=[EditSite("CPUs: 2, RealMemory: 2000", "CPUs: 512, RealMemory: 2000")],
        command=SCHEDULER,
        exit_code=HOSTS_UNFIT,
        cause=["CPUs is 512 in the site file", "the host has 2", "drain"],
        repair=[EditSite("CPUs: 512, RealMemory: 2000", "CPUs: 2, RealMemory: 2000"), Hpcprov(SCHEDULER)],
    ),
    Fault(
        name="storage not mounted on one node",
        host="node01",
        inject=[On("node01", UNMOUNT)],
        cause=["/shared", "not mounted here"],
        repair=[On("node01", "mount -o nosuid,nodev /dev/share /shared")],
        restore=[On("node01", "rm /dev/share")],
    ),
    Fault(
        name="storage read-only",
        host="node02",
        inject=[On("node02", "mount -o remount,bind,ro /shared")],
        cause=["/shared", "Read-only", "mounted read-only"],
        repair=[On("node02", "mount -o remount,bind,rw /shared")],
    ),
    Fault(
        name="storage full",
        host="store",
        inject=[On("store", FILL.format(folder="/shared/fill"))],
        cause=["/shared", "No space", "full"],
        repair=[On("store", "rm -r /shared/fill")],
    ),
    Fault(
        name="own name resolves to loopback",  # NET-05
        host="node01",
        inject=[On("node01", "echo \"$(sed '1i 127.0.1.1 node01' /etc/hosts)\" > /etc/hosts")],
        cause=["node01 resolves to", "127.0.1.1"],
    ),
    Fault(
        name="hostname changed",  # NET-01
        host="node02",
        inject=[On("node02", "hostname renamed")],
        cause=["hostname node02", "renamed"],
    ),
    Fault(
        name="uid of the smoke user differs on one node",  # DL-12
        host="node01",
        inject=[On("node01", "usermod -u 64999 hpcsmoke")],
        cause=["hpcsmoke is uid 64100", "uid 64999"],
        restore=[On("node01", "usermod -u 64100 hpcsmoke")],
    ),
    Fault(
        name="port 6818 closed by nftables",  # NET-11
        host="node02",
        inject=[On("node02", CLOSE_PORT)],
        command=PREFLIGHT,
        exit_code=HOSTS_UNFIT,
        cause=["port 6818", "slurmd", "nft table inet fault", "drop"],
        restore=[On("node02", "nft delete table inet fault")],
    ),
    Fault(
        name="PMIx library missing",  # MPI-02
        host="node01",
        inject=[
            On("node01", "rm -f /usr/lib/x86_64-linux-gnu/libpmix.so /usr/lib/x86_64-linux-gnu/pmix*/lib/libpmix.so")
        ],
        cause=["PMIx library", "libpmix-dev is missing"],
    ),
    Fault(
        name="Python environment broken on the share",
        host="node01",
        inject=[On("store", "rm /shared/software/scikit-learn/current/lib/python3*/site-packages/sklearn/__init__.py")],
        cause=["scikit-learn", "sklearn"],
        also=["node02"],
    ),
    Fault(
        name="stale slurm.conf on a node",
        host="node02",
        inject=[On("node02", "printf 'ClusterName=old\\nSlurmctldHost=elsewhere\\n' > /etc/slurm/slurm.conf")],
        cause=["slurm.conf", "stale"],
        restore=[On("node02", "rm -f /etc/slurm/slurm.conf")],
    ),
    Fault(
        name="node taken down by hand",
        host="node01",
        inject=[On("head", "scontrol update nodename=node01 state=down reason='disk swap'")],
        cause=["DOWN", "disk swap", "root took it out of use"],
    ),
    Fault(
        name="node drained by hand",
        host="node02",
        inject=[On("head", "scontrol update nodename=node02 state=drain reason='fan is loud'")],
        cause=["DRAIN", "fan is loud", "root took it out of use"],
        # A deploy leaves it as it is: only the admin knows when the fan is mended. (A node that is down Slurm itself
        # brings back when it registers again, with ReturnToService=2.)
        repair=[Hpcprov(SCHEDULER), Shows("head", "sinfo -hn node02 -o '%T %E'", "drained fan is loud"), Fix()],
    ),
    Fault(
        name="package lock held",  # CLI-10
        host="node02",
        inject=[On("node02", HOLD_LOCK)],
        command=PREFLIGHT,
        exit_code=0,  # the deploy waits for it, so it is a warning
        cause=["/run/fault-lock.py", "holds /var/lib/dpkg/lock-frontend"],
        repair=[On("node02", "systemctl stop fault-lock")],
    ),
    Fault(
        name="node powered off",
        host="node01",
        inject=[PowerOff("node01")],
        cause=["SSH", "host down"],
        repair=[Hpcprov(("lab", "up", "{site}"))],
    ),
    Fault(
        name="root disk full",
        host="node02",
        inject=[Inside("node02", FILL.format(folder="/fill"))],
        command=PREFLIGHT,
        exit_code=HOSTS_UNFIT,
        cause=["/: 0 MiB of", "the file system is full"],
        repair=[Inside("node02", "rm -r /fill")],
    ),
]
