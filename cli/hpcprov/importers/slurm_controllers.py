"""Controllers: SlurmctldHost, and the way they were written before."""

from __future__ import annotations

import re

from hpcprov.importers.draft import Draft, HostDraft
from hpcprov.site.model import is_address, short_name
from hpcprov.slurm.lint.configuration import Configuration
from hpcprov.slurm.read import Setting

# In lower case, as lines have them.
CONTROLLERS = ("slurmctldhost", "controlmachine", "controladdr", "backupcontroller", "backupaddr")
_HOST = re.compile(r"^([^()\s]+)(?:\(([^()]*)\))?$")


def read_controllers(draft: Draft, configuration: Configuration) -> None:
    """SlurmctldHost, and the way it was written before (SLM-22)."""
    for setting in configuration.options("slurm.conf", "SlurmctldHost"):
        match = _HOST.match(setting.value)
        if match is None:
            draft.notes.left(setting.place, setting.key, setting.value, "is no host", "write name(address)")
            continue
        _controller(draft, setting, match.group(1), match.group(2))
    new = configuration.options("slurm.conf", "SlurmctldHost")
    for name, address in (("ControlMachine", "ControlAddr"), ("BackupController", "BackupAddr")):
        machine, place = configuration.option("slurm.conf", name), configuration.option("slurm.conf", address)
        if machine is None:
            if place is not None:
                draft.notes.changed(place.place, place.key, place.value, f"dropped: there is no {name}")
            continue
        if new:
            for setting in (machine, place) if place else (machine,):
                draft.notes.changed(setting.place, setting.key, setting.value, "dropped: SlurmctldHost is set too")
            continue
        for machine_name in machine.value.split(","):
            host = _controller(draft, machine, machine_name.strip(), None, old=True)
            if place is not None and host is not None:
                _address(draft, host, place, place.value)
            elif place is not None:
                draft.notes.left(place.place, place.key, place.value, f"there is no host for it, see {name}")


def _controller(
    draft: Draft, setting: Setting, name: str, address: str | None, *, old: bool = False
) -> HostDraft | None:
    if is_address(name) or name == "localhost":
        hint = "put the controller into the group controller, by its host name"
        draft.notes.left(setting.place, setting.key, setting.value, f"{name} is no host name", hint)
        return None
    host = draft.host(name, setting.place)
    host.roles["controller"] = None
    tell = draft.notes.changed if old else draft.notes.mapped
    tell(setting.place, setting.key, setting.value, f"host {host.name} of group controller")
    if address:
        _address(draft, host, setting, address)
    return host


def _address(draft: Draft, host: HostDraft, setting: Setting, address: str) -> None:
    if is_address(address):
        draft.set_host(host, "cluster_address", address, setting.value_place, setting.key)
    elif short_name(address).lower() == host.name.lower():
        draft.host(address, setting.place)
        draft.notes.mapped(setting.place, setting.key, address, f"the name of {host.name}")
    else:
        draft.set_host(host, "ansible_host", address, setting.value_place, setting.key)
