"""Has each node what slurm.conf promises, and room to work?"""

import pytest
from hpcprov.verify import judge
from hpcprov.verify.checks import require


def test_local_disks(probe, part):
    """Local disks can be written to and have room."""
    for mounted_at, disk in part("disks").items():
        problem = judge.full(disk)
        require(
            problem is None,
            expected=f"room on {mounted_at}",
            found=problem,
            cause="the disk went read-only after an error" if disk["read_only"] else "the disk is full",
            fix=f"on {probe.host.name}: "
            + (
                f"dmesg | tail -n 50; mount -o remount,rw {mounted_at}"
                if disk["read_only"]
                else f"du -xh --max-depth=2 {mounted_at} | sort -h | tail -n 15; journalctl --vacuum-size=100M"
            ),
        )


@pytest.mark.groups("compute")
def test_hardware(probe, part, node, repair):
    """Node has the CPUs, cores and memory that slurm.conf promises (slurmd -C)."""
    facts = part("hardware")
    require(
        "text" in facts,
        expected="slurmd -C measures the node",
        found=facts.get("error"),
        fix=f"on {probe.host.name}: slurmd -C",
    )
    try:
        wrong = judge.over_promised(node, facts["text"])
    except ValueError as error:
        wrong = [str(error)]
    require(
        not wrong,
        expected="no more than slurmd -C measured",
        found="slurm.conf promises " + "; ".join(wrong),
        cause="less than slurm.conf promises is there: a part failed, or the site file says too much (slurm_node)",
        fix=repair("scheduler"),
    )


@pytest.mark.groups("compute")
def test_devices(probe, part, repair):
    """Devices that gres.conf promises (GPUs) are there."""
    missing = part("hardware")["missing"]
    require(
        not missing,
        expected="each File of gres.conf",
        found=f"no {', '.join(missing)}",
        cause="the driver is not loaded, a device failed, or gres.conf is another machine's",
        fix=f"on {probe.host.name}: nvidia-smi; ls -l /dev/nvidia*; then {repair('scheduler')}",
    )
