"""What others on the cluster could read or replace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from hpcprov.errors import Finding
from hpcprov.slurm import limits
from hpcprov.slurm.lint.configuration import Configuration
from hpcprov.slurm.lint.registry import rule
from hpcprov.slurm.owned import SHARED_DIRECTORIES

_WORLD = ("/tmp", "/var/tmp", "/dev/shm")


@rule("password")
def passwords(configuration: Configuration) -> Iterator[Finding]:
    """slurm.conf is read by every user, so a password in it is known to all."""
    for name in limits.SECRETS:
        for setting in configuration.options("slurm.conf", name):
            if setting.value.startswith("/"):
                continue  # the socket of a second munged
            message = f"{name} is a password, and every user can read slurm.conf"
            hint = "put StoragePass into slurmdbd.conf (mode 0600) and remove it here; then change the password"
            yield setting.place.finding("password", message, hint=hint)


@rule("state-directory")
def state(configuration: Configuration) -> Iterator[Finding]:
    """Who can write where slurmctld keeps its state can run jobs as anybody; and a reboot empties /tmp."""
    for name in ("StateSaveLocation", "SlurmdSpoolDir"):
        setting = configuration.option("slurm.conf", name)
        if setting is None:
            if name == "StateSaveLocation" and configuration.is_whole and configuration.node_list_is_complete:
                message = "StateSaveLocation is not set; the default is /var/spool, which slurmctld cannot write to"
                hint = "write StateSaveLocation=/var/lib/slurm/slurmctld, owned by SlurmUser, mode 0700"
                yield configuration.place("slurm.conf").finding("state-directory", message, level="warning", hint=hint)
            continue
        if setting.value.rstrip("/") in SHARED_DIRECTORIES:
            message = f"{name}={setting.value}: other programs keep their files there too"
            hint = f"write {name}=/var/lib/slurm/{'slurmctld' if name.startswith('State') else 'slurmd'}"
            yield setting.value_place.finding("state-directory", message, level="warning", hint=hint)
        if any(PurePosixPath(setting.value).is_relative_to(folder) for folder in _WORLD):
            message = f"{name}={setting.value}: everybody can write there, and a reboot may empty it"
            hint = f"write {name}=/var/lib/slurm/{'slurmctld' if name.startswith('State') else 'slurmd'}"
            yield setting.value_place.finding("state-directory", message, hint=hint)


@rule("no-authentication")
def authentication(configuration: Configuration) -> Iterator[Finding]:
    """auth/none believes everybody who says to be root."""
    for name in ("AuthType", "CredType"):
        setting = configuration.option("slurm.conf", name)
        if setting is not None and setting.value.lower().endswith("/none"):
            message = f"{setting.value}: whoever reaches the port can be any user"
            hint = f"write {name}={name[:4].lower()}/munge"
            yield setting.value_place.finding("no-authentication", message, level="warning", hint=hint)


@rule("slurm-user-root")
def root(configuration: Configuration) -> Iterator[Finding]:
    """slurmctld needs no root rights; a flaw in it would give them away."""
    setting = configuration.option("slurm.conf", "SlurmUser")
    if setting is not None and setting.value in ("root", "0"):
        message = "slurmctld would run as root"
        hint = "write SlurmUser=slurm"
        yield setting.value_place.finding("slurm-user-root", message, level="warning", hint=hint)
