"""Do the daemons run, and will they after the next boot?"""

import pytest
from hpcprov.verify import expect
from hpcprov.verify.checks import fail, require

pytestmark = pytest.mark.groups("controller", "database", "login", "compute")


def chosen(states, names):
    """State of the first of these units that is installed."""
    return next(((name, states[name]) for name in names if states[name]["load"] == "loaded"), (names[0], None))


def test_active(probe, part, cluster):
    """Daemons run: munge, slurmctld, slurmdbd, slurmd, the database."""
    states = part("services")
    for purpose, names in expect.units(probe.host).items():
        unit, state = chosen(states, names)
        if state is None:
            fail(expected=f"{purpose} is installed", found="no such unit", fix=f"hpcprov deploy {cluster.site.path}")
        journal = " | ".join(line.strip() for line in state.get("journal", [])[-3:])
        require(
            state["active"] == "active",
            expected=f"{unit} runs",
            found=f"{state['active']} ({state['sub']})" + (f", its journal ends: {journal}" if journal else ""),
            fix=f"on {probe.host.name}: journalctl -u {unit} -n 50; {expect.restart(probe.host, unit)}",
        )


def test_enabled(probe, part):
    """Daemons start at boot."""
    states = part("services")
    for names in expect.units(probe.host).values():
        unit, state = chosen(states, names)
        require(
            state is None or state["enabled"] in ("enabled", "enabled-runtime", "static", "alias"),
            expected=f"{unit} is enabled",
            found=state and state["enabled"],
            cause="the node would be missing after its next reboot",
            fix=f"on {probe.host.name}: systemctl enable {unit}",
        )
