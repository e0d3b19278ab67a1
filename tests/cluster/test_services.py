"""Do the daemons run, and will they after the next boot?"""

import pytest
from hpcprov.verify import causes, expect
from hpcprov.verify.checks import fail, require

pytestmark = pytest.mark.groups("controller", "database", "login", "compute")
AT_BOOT = ("enabled", "enabled-runtime", "static", "alias", "indirect", "generated")


def _why_stopped(state):
    if state["load"] == "masked":
        return "it was masked: nothing can start it, neither a command nor a reboot"
    if state["active"] == "failed":
        return "it crashed or could not start, its journal says why"
    return "somebody stopped it, or what it needs was stopped"


def chosen(states, names):
    """State of the first of these units that is installed; a masked one is."""
    return next(
        ((name, states[name]) for name in names if states[name]["load"] in ("loaded", "masked")), (names[0], None)
    )


def bring_back(probe, unit, state):
    """The command that starts a unit, whatever keeps it from it."""
    masked = f"systemctl unmask {unit} && systemctl enable {unit} && " if state["load"] == "masked" else ""
    return f"on {probe.host.name}: {masked}{expect.restart(probe.host, unit)}"


def test_active(probe, part, cluster):
    """Daemons run: munge, slurmctld, slurmdbd, slurmd, the database."""
    states = part("services")
    for purpose, names in expect.units(probe.host).items():
        unit, state = chosen(states, names)
        if state is None:
            fail(expected=f"{purpose} is installed", found="no such unit", fix=f"hpcprov deploy {cluster.site.path}")
        key = causes.bad_key(probe) if unit == "munge" else None
        journal = " | ".join(line.strip() for line in state.get("journal", [])[-3:])
        require(
            state["active"] == "active",
            expected=f"{unit} runs",
            found=f"{state['active']} ({state['sub']})" + (f", its journal ends: {journal}" if journal else ""),
            follows=key and f"the munge key is {key}",
            cause=_why_stopped(state),
            fix=bring_back(probe, unit, state),
        )


def test_enabled(probe, part):
    """Daemons start at boot."""
    states = part("services")
    for names in expect.units(probe.host).values():
        unit, state = chosen(states, names)
        require(
            state is None or state["enabled"] in AT_BOOT,
            expected=f"{unit} is enabled",
            found=state and state["enabled"],
            cause="the node would be missing after its next reboot",
            fix=f"on {probe.host.name}: "
            + (f"systemctl unmask {unit} && " if state and state["load"] == "masked" else "")
            + f"systemctl enable {unit}",
        )


def test_ssh_enabled(probe, part):
    """SSH server starts at boot."""
    states = part("ssh")
    unit, state = chosen(states, ["ssh", "sshd"])
    if state is None:
        pytest.skip("its SSH server is no unit of its own")
    require(
        state["enabled"] in AT_BOOT or part("ssh_socket") in AT_BOOT,
        expected=f"{unit} is enabled",
        found=state["enabled"] or state["load"],
        cause="nobody could log in after its next reboot",
        fix=f"on {probe.host.name}: systemctl enable {unit}",
    )


def test_installed_program_runs(probe, part):
    """Daemons run the program that is installed, not the one from before an upgrade."""
    states = part("services")
    for names in expect.units(probe.host).values():
        unit, state = chosen(states, names)
        require(
            not (state and state["replaced"]),
            expected=f"{unit} was restarted after its upgrade",
            found="its program's file was replaced since it started",
            cause="a package was upgraded by hand or by unattended-upgrades, and nobody restarted the daemon",
            fix=f"on {probe.host.name}: systemctl restart {unit}",
        )
