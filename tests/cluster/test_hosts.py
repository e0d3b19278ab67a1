"""Can hosts be reached, and do they agree about time, names and users?"""

import pytest
from hpcprov.verify import expect
from hpcprov.verify.checks import fail, require

MAX_OFFSET = 1.0  # seconds; munge and logs suffer beyond


@pytest.mark.even_silent
def test_reachable(probe):
    """Host answers over SSH with a known host key."""
    require(
        probe.error is None,
        expected="a shell on the host",
        found=probe.error,
        cause="host down, wrong address in the site file, or a key that is not accepted",
        fix=f"ssh -v -p {probe.host.port or 22} {probe.host.user or 'root'}@{probe.host.address}",
    )


def test_clock(probe):
    """Clock agrees with the control host within a second."""
    low, high = probe.clock_bounds
    if low <= MAX_OFFSET and high >= -MAX_OFFSET:
        return
    offset = (low + high) / 2
    fail(
        expected=f"less than {MAX_OFFSET:.0f} s",
        found=f"{abs(offset):.1f} s {'ahead' if offset > 0 else 'behind'}",
        cause="no time server is reached",
        fix=f"on {probe.host.name}: chronyc makestep",
    )


def test_time_service(probe, part):
    """Clock is kept by a time service that starts at boot."""
    if part("container") is True:
        pytest.skip("a container has its machine's clock")
    wanted = expect.time_units(probe.host)
    if not wanted:
        pytest.skip("the site looks after time itself (base_manage_time: false)")
    states = part("services")
    require(
        any(states[name]["active"] == "active" and states[name].get("enabled") == "enabled" for name in wanted),
        expected="one of " + ", ".join(wanted) + " active and enabled",
        found="none",
        fix=f"on {probe.host.name}: systemctl enable --now chrony",
    )


def test_own_name(probe, part, repair):
    """Own name is the node name and resolves to the cluster address, not to loopback."""
    own = part("own_name")
    host = probe.host
    require(
        own["name"].split(".")[0] == host.node_name,
        expected=f"hostname {host.node_name}",
        found=own["name"],
        cause="the machine was renamed, or the site file names it differently",
        fix=f"on {host.name}: hostnamectl set-hostname {host.node_name}",
    )
    require(
        own["addresses"] == [host.cluster_address],
        expected=f"{own['name']} resolves to {host.cluster_address}",
        found=", ".join(own["addresses"]) or "nothing",
        cause="a line such as '127.0.1.1 name' in /etc/hosts; ranks of a job would connect to themselves",
        fix=repair("base"),
    )


def test_site_names(part, cluster, repair):
    """Names of all hosts resolve to their cluster addresses."""
    wrong = part("wrong_names")
    expected = expect.names(cluster.site)
    shown = [f"{name} is {', '.join(got) or 'unknown'}, not {expected[name]}" for name, got in wrong.items()]
    require(
        not wrong,
        expected=f"{len(expected)} names with their addresses",
        found="; ".join(shown[:5]) + (f"; and {len(shown) - 5} more" if len(shown) > 5 else ""),
        cause="/etc/hosts is not the site's",
        fix=repair("base"),
    )


def test_ids(probe, part, cluster, repair):
    """Users munge, slurm, the smoke user and the site's users have the same ids everywhere."""
    reference = cluster.reference("ids")
    mine, theirs = part("ids"), reference.get("ids")
    for user, entry in mine.items():
        if entry is None and theirs[user] is None:
            fail(expected=f"user {user} exists", found="missing", fix=repair("base"))
        require(
            entry == theirs[user],
            expected=f"{user} is {_ids(theirs[user])} as on {reference.host.name}",
            found=_ids(entry),
            cause="the user was made before hpcprov came, or by another package",
            fix=_give_ids(probe, user, entry, theirs[user]) or repair("base"),
        )


def _give_ids(probe, user, mine, wanted):
    """The commands that give a user the ids of the others. A user that is missing is the deploy's to make."""
    if not mine or not wanted:
        return ""
    commands = [f"groupmod -g {wanted['gid']} {user}"] if mine["gid"] != wanted["gid"] else []
    commands += [f"usermod -u {wanted['uid']} {user}"] if mine["uid"] != wanted["uid"] else []
    return f"on {probe.host.name}: {' && '.join(commands)}"


def _ids(entry):
    return f"uid {entry['uid']} gid {entry['gid']}" if entry else "missing"
