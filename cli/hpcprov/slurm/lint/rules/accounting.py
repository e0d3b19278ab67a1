"""slurmdbd.conf, and who may read it."""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.errors import Finding
from hpcprov.slurm import limits
from hpcprov.slurm.lint.configuration import Configuration
from hpcprov.slurm.lint.registry import rule
from hpcprov.slurm.values import kind_problem

_NEEDED = {"DbdHost": "the host that slurmdbd runs on", "StorageType": "accounting_storage/mysql"}


@rule("dbd-missing")
def missing(configuration: Configuration) -> Iterator[Finding]:
    """slurmdbd does not start without its host and the kind of its storage."""
    if not configuration.has("slurmdbd.conf"):
        return
    for name, what in _NEEDED.items():
        if not configuration.option("slurmdbd.conf", name):
            place = configuration.place("slurmdbd.conf")
            yield place.finding("dbd-missing", f"{name} is missing", hint=f"write {name}= with {what}")


@rule("dbd-value")
def values(configuration: Configuration) -> Iterator[Finding]:
    """Ports and the type of the storage."""
    for name in ("DbdPort", "StoragePort"):
        setting = configuration.option("slurmdbd.conf", name)
        if setting is None or kind_problem("uint16", setting.value):
            continue  # told by the rule for values
        problem = limits.setting_problem(name, setting.value)
        if problem:
            hint = "leave it out for the default: 6819 for DbdPort, 3306 for StoragePort"
            yield setting.value_place.finding("dbd-value", f"{name}: {problem}", hint=hint)
    setting = configuration.option("slurmdbd.conf", "StorageType")
    if setting and setting.value.lower() != "accounting_storage/mysql":
        message = f'StorageType: "{setting.value}" is not accounting_storage/mysql'
        yield setting.value_place.finding("dbd-value", message, hint="slurmdbd has that one only; it is MariaDB's too")


@rule("dbd-mode")
def mode(configuration: Configuration) -> Iterator[Finding]:
    """slurmdbd.conf holds the database password; slurmdbd ends when others can read it."""
    bits = configuration.modes.get("slurmdbd.conf")
    if bits is not None and bits & 0o077 and configuration.option("slurmdbd.conf", "StoragePass"):
        path = configuration.paths["slurmdbd.conf"]
        yield configuration.place("slurmdbd.conf").finding(
            "dbd-mode",
            f"mode {bits:04o}: it holds a password, and slurmdbd takes 0600 only",
            level="warning",
            hint=f"chmod 600 {path}, owned by SlurmUser",
        )


@rule("accounting-missing")
def enforced_without_accounting(configuration: Configuration) -> Iterator[Finding]:
    """AccountingStorageEnforce needs accounting; slurmctld ends without it."""
    enforce = configuration.option("slurm.conf", "AccountingStorageEnforce")
    storage = configuration.option("slurm.conf", "AccountingStorageType")
    if enforce is None or enforce.value.lower() in ("none", "0") or not configuration.is_whole:
        return
    if storage is None or not storage.value.lower().endswith("/slurmdbd"):
        message = "AccountingStorageEnforce without accounting: slurmctld ends"
        hint = "write AccountingStorageType=accounting_storage/slurmdbd"
        yield enforce.place.finding("accounting-missing", message, hint=hint)
