"""Role munge: a credential made on one host is good on the other, and only with the site's key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hpcprov.site import Site

HOSTS = ("head", "node01")
# A second daemon with a key of its own makes a credential.
SECOND_DAEMON = """
set -e
cd "$(mktemp -d)"
head -c 1024 /dev/urandom > key
chmod 400 key
chown -R munge: .
chmod 755 .
runuser -u munge -- munged --key-file="$PWD/key" --socket="$PWD/socket" --pid-file="$PWD/pid" --seed-file="$PWD/seed" \\
  --log-file="$PWD/log" </dev/null >/dev/null 2>&1
munge -n --socket="$PWD/socket"
kill "$(cat pid)"
"""


@pytest.mark.parametrize(("made_on", "decoded_on"), [HOSTS, HOSTS[::-1]])
def test_credential_travels_between_hosts(nodes: Callable[[str], Any], made_on: str, decoded_on: str) -> None:
    credential = nodes(made_on).check_output("runuser -u hpcsmoke -- munge -s 'from %s'" % made_on)  # noqa: UP031
    decoded = nodes(decoded_on).check_output("echo %s | unmunge", credential)
    assert "Success (0)" in decoded
    assert "hpcsmoke (64100)" in decoded
    assert decoded.splitlines()[-1] == f"from {made_on}"


def test_altered_credential_is_refused(nodes: Callable[[str], Any]) -> None:
    credential = nodes("head").check_output("munge -s x")
    position = credential.index(":") + 10
    altered = credential[:position] + ("A" if credential[position] != "A" else "B") + credential[position + 1 :]
    refused = nodes("node01").run("echo %s | unmunge", altered)
    assert refused.rc != 0


def test_credential_of_another_key_is_refused(nodes: Callable[[str], Any]) -> None:
    foreign = nodes("node01").check_output(SECOND_DAEMON)
    refused = nodes("head").run("echo %s | unmunge", foreign)
    assert refused.rc != 0
    assert "Invalid credential" in refused.stdout + refused.stderr


# MUN-03, MUN-04
def test_key_is_the_sites_and_nobody_elses_to_read(site: Site, node: Any) -> None:
    key = node.file("/etc/munge/munge.key")
    assert (key.user, key.group, key.mode) == ("munge", "munge", 0o400)
    assert key.content == (site.state_dir / "secrets" / "munge.key").read_bytes()
    assert node.file("/etc/munge").mode == 0o700


# MUN-11, MUN-07
def test_daemon_runs_as_the_fixed_user_and_starts_at_boot(node: Any) -> None:
    munge = node.service("munge")
    assert munge.is_running and munge.is_enabled
    assert node.check_output("stat -c %u /proc/$(pgrep -x munged)") == "64031"
