"""Who the cluster is and where its controller runs."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from hpcprov.errors import Finding
from hpcprov.slurm.lint.configuration import Configuration
from hpcprov.slurm.lint.registry import rule

_HOST = re.compile(r"^([^()\s]+)(?:\(([^()]*)\))?$")


@rule("cluster-name")
def cluster_name(configuration: Configuration) -> Iterator[Finding]:
    """slurmctld does not start without a ClusterName."""
    if not configuration.is_whole or configuration.option("slurm.conf", "ClusterName"):
        return
    yield configuration.place("slurm.conf").finding(
        "cluster-name", "ClusterName is missing", hint="write ClusterName=name, and never change it later"
    )


@rule("controller")
def controller(configuration: Configuration) -> Iterator[Finding]:
    """slurmctld runs on the host that SlurmctldHost names, and all others look for it there."""
    hosts = configuration.options("slurm.conf", "SlurmctldHost")
    old = configuration.option("slurm.conf", "ControlMachine")
    if configuration.is_whole and not hosts and not old:
        yield configuration.place("slurm.conf").finding(
            "controller", "no controller is named", hint="write SlurmctldHost=name(address)"
        )
    if hosts and old:
        message = "ControlMachine is ignored, since SlurmctldHost is set"
        yield old.place.finding("controller", message, hint="remove it")
    for setting in hosts or ([old] if old else []):
        match = _HOST.match(setting.value)
        if match is None:
            message = f'"{setting.value}" is no host'
            yield setting.value_place.finding("controller", message, hint="write name or name(address)")
            continue
        problem = _name_problem(match.group(1), match.group(2))
        if problem:
            hint = "write its short host name, as hostname -s says it, and the address in brackets"
            yield setting.value_place.finding("controller", problem, level="warning", hint=hint)


def _name_problem(name: str, address: str | None) -> str | None:
    if name == "localhost":
        return "localhost is every machine's own name; no other host would find the controller"
    try:
        ipaddress.ip_address(name)
    except ValueError:
        pass
    else:
        return f"{name} is an address; slurmctld compares it with its host name"
    if address:
        try:
            if ipaddress.ip_address(address).is_loopback:
                return f"{address} is every machine's own address; no other host would find the controller"
        except ValueError:
            return None
    return None
