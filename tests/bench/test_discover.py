"""200 hosts take about as long as one: what a host waits for, they all wait for at the same time."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from hpcprov.discovery.connect import Target
from hpcprov.discovery.reach import Access
from hpcprov.discovery.survey import survey
from hpcprov.remote.options import Route

HOSTS = 200
SECONDS = 10.0  # of each host; a probe with nvidia-smi and ipmitool takes a few


def test_many_hosts_in_about_the_time_of_one(tmp_path: Path) -> None:
    script = Path(__file__).parent / "slow_hosts.py"
    with subprocess.Popen(
        [sys.executable, str(script), str(tmp_path), str(SECONDS)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as hosts:  # fmt: skip
        assert hosts.stdout is not None
        port, kind, key = hosts.stdout.readline().split()
        addresses = [f"127.0.{1 + number // 200}.{1 + number % 200}" for number in range(HOSTS)]
        known = tmp_path / "known"
        known.write_text("".join(f"[{address}]:{port} {kind} {key}\n" for address in addresses))
        key_file = str(tmp_path / "client_key")
        targets = [
            Target(address, Route(address, address, int(port), "root", key_file, [known], None))
            for address in addresses
        ]
        seconds = {}
        for count in (1, HOSTS):
            started = time.monotonic()
            result = survey(targets[:count], Access(), lambda _: False, lambda _: None)
            seconds[count] = time.monotonic() - started
            assert len(result.found) == count, result.failures
        assert hosts.stdin is not None
        hosts.stdin.close()
    print(f"discover: 1 host {seconds[1]:.1f} s, {HOSTS} hosts {seconds[HOSTS]:.1f} s; each waits {SECONDS:.0f} s")
    # One after another would be 200 times as long. The servers of all hosts run on this machine, too.
    assert seconds[HOSTS] < 4 * seconds[1]
