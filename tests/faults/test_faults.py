"""Each fault of the catalogue: brought in, named by one command with host and cause, mended, and all green again."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from catalogue import FAULTS
from e2e_lab import HOSTS, said
from fault import Fault, Fix, Hpcprov, Row, messages
from faults_lab import FaultsLab
from hpcprov.errors import HpcprovError

pytestmark = pytest.mark.xdist_group("faults")


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.replace(" ", "-"))
def test_fault(lab: FaultsLab, rows: dict[str, Row], fault: Fault) -> None:
    row = rows[fault.name] = Row(fault)
    started = time.monotonic()
    site = lab.site.read_text()
    try:
        judge(lab, row)
        mend(lab, row)
    except BaseException as error:
        row.error = f"{type(error).__name__}: {error}"
        raise
    finally:
        row.seconds = time.monotonic() - started
        if not row.green:
            lab.site.write_text(site)
            recover(lab, fault)


def judge(lab: FaultsLab, row: Row) -> None:
    """One command has to name the host and the cause."""
    fault = row.fault
    lab.log(f"## {fault.name}")
    lab.naming = None
    for step in fault.inject:
        step.run(lab)
    done, row.verdict_seconds = lab.command(*fault.command)
    row.exit_code = done.returncode
    output = done.stdout + done.stderr
    told = messages(output, HOSTS)
    row.named_host = any(message.tells(fault.host, ()) for message in told)
    naming = [message for message in told if message.tells(fault.host, fault.cause)]
    row.named_cause = bool(naming)
    row.accused = sorted({message.host for message in told if not message.follows} - {"", fault.host, *fault.also})
    shown = said(done)
    assert "Traceback" not in output, shown
    assert done.returncode == fault.exit_code, shown
    assert row.named_host, f"{fault.host} is not named: {shown}"
    assert row.named_cause, f"{fault.cause} is not said about {fault.host}: {shown}"
    assert not row.accused, f"{row.accused} are accused, too: {shown}"
    lab.naming = naming[0]


def mend(lab: FaultsLab, row: Row) -> None:
    """Repaired as the message says, everything has to be green again."""
    for step in row.fault.repair:
        step.run(lab)
    kinds = [type(step) for step in row.fault.repair]
    row.repaired_by = "its fix line" if Fix in kinds else "hpcprov" if Hpcprov in kinds else "hand"
    for step in row.fault.restore:
        step.run(lab)
    done, _ = lab.command("verify", "{site}")
    assert done.returncode == 0, f"not green after the repair: {said(done)}"
    row.green = True


def recover(lab: FaultsLab, fault: Fault) -> None:
    """After a failed test the next fault finds a whole cluster, or its own test says why not."""
    for step in [*fault.repair, *fault.restore]:
        with suppress(AssertionError, HpcprovError):
            step.run(lab)
    if lab.command("verify", "{site}")[0].returncode:
        lab.command("deploy", "{site}", "--no-smoke", "--no-verify")
