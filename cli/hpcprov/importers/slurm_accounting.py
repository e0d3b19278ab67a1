"""slurmdbd.conf."""

from __future__ import annotations

from collections.abc import Callable

from hpcprov.importers.draft import Draft, Value
from hpcprov.importers.notes import is_secret
from hpcprov.importers.slurm_options import plain_value
from hpcprov.site.model import is_address
from hpcprov.slurm.keys import Key, table
from hpcprov.slurm.lint.configuration import Configuration
from hpcprov.slurm.read import Setting
from hpcprov.slurm.values import kind_problem

_DBD_PLACED = ("LogFile", "PidFile", "PluginDir", "SlurmUser")
_DBD_SITE = {
    "DbdPort": "slurm_dbd_port",
    "StorageLoc": "slurm_dbd_storage_loc",
    "StorageUser": "slurm_dbd_storage_user",
}
_DBD_DEFAULTS: dict[str, str | int] = {"DbdPort": 6819, "StorageLoc": "slurm_acct_db", "StorageUser": "slurm"}
_MARIADB = {"StorageLoc": "mariadb_database", "StorageUser": "mariadb_user"}
_DBD_OURS = {"AuthType": "auth/munge", "StorageType": "accounting_storage/mysql", "DebugLevel": "info"}
_LOCAL = ("localhost", "127.0.0.1", "::1")
_MONTHS = {f"Purge{what}Months": f"Purge{what}After" for what in ("Event", "Job", "Step", "Suspend", "TXN", "Usage")}
_OLD_PURGE = {"JobPurge": "PurgeJobAfter", "StepPurge": "PurgeStepAfter", **_MONTHS}


def read_accounting(draft: Draft, configuration: Configuration) -> None:
    """The group database and slurm_dbd_config; never the password."""
    for line in configuration.lines("slurmdbd.conf"):
        for extra in line.settings[1:]:
            draft.notes.left(extra.place, extra.key, extra.value, "slurmdbd reads one setting a line")
        if line.settings:
            _accounting_option(draft, configuration, line.settings[0])


def _accounting_option(draft: Draft, configuration: Configuration, setting: Setting) -> None:
    key = table("slurmdbd.conf").find(setting.key)
    tell = (setting.place, setting.key, setting.value)
    if key is None:
        hint = table("slurmdbd.conf").suggestion(setting.key) or None
        draft.notes.left(*tell, "slurmdbd.conf has no such option", hint)
    elif is_secret(key.name):
        hint = "hpcprov makes a password of its own; to keep the old database, restore a dump of it"
        draft.notes.left(*tell, "a secret is not copied", hint)
    elif problem := kind_problem(key.type, setting.value):
        draft.notes.left(*tell, problem)
    elif key.name in _DBD_HOSTS:
        _DBD_HOSTS[key.name](draft, configuration, setting)
    elif key.name in _DBD_SITE:
        _database_variable(draft, key.name, setting)
    elif key.name in _OLD_PURGE:
        _old_purge(draft, setting, _OLD_PURGE[key.name])
    else:
        _plain_accounting(draft, key, setting)


def _plain_accounting(draft: Draft, key: Key, setting: Setting) -> None:
    tell = (setting.place, setting.key, setting.value)
    if key.name in _DBD_PLACED:
        draft.notes.changed(*tell, "hpcprov places it to fit the service unit")
    elif _DBD_OURS.get(key.name) == setting.value.lower():
        draft.notes.mapped(*tell, "hpcprov's own value")
    elif key.name == "StorageType":
        draft.notes.changed(*tell, "accounting_storage/mysql, which is the only one")
    elif key.last or key.defunct_since:
        draft.notes.changed(*tell, "dropped: Slurm took it away")
    elif draft.setting("slurm_dbd_config", key.name, plain_value(key, setting.value), setting.place):
        draft.notes.mapped(*tell, f"slurm_dbd_config: {key.name}")
    else:
        draft.notes.changed(*tell, "dropped: another line says it too")


def _database_variable(draft: Draft, name: str, setting: Setting) -> None:
    """A port or name that the roles have a variable for. MariaDB needs the same names as slurmdbd."""
    variable = _DBD_SITE[name]
    value = int(setting.value) if setting.value.isdecimal() else setting.value
    if value == _DBD_DEFAULTS[name]:
        draft.notes.mapped(setting.place, setting.key, setting.value, f"{variable}, which is so by default")
        return
    draft.set_site(variable, value, setting.value_place, setting.key)
    if name in _MARIADB:
        draft.variables.setdefault(_MARIADB[name], Value(value, setting.place))


def _storage_host(draft: Draft, configuration: Configuration, setting: Setting) -> None:
    host = configuration.option("slurmdbd.conf", "DbdHost")
    if setting.value in _LOCAL or (host and setting.value == host.value):
        draft.notes.mapped(setting.place, setting.key, setting.value, "MariaDB on the host of group database")
    else:
        draft.set_site("slurm_dbd_storage_host", setting.value, setting.value_place, setting.key)


def _database_host(draft: Draft, _: Configuration, setting: Setting) -> None:
    if setting.value in _LOCAL:
        draft.give_role(draft.with_role("controller")[:1], "database")
        draft.notes.mapped(setting.place, setting.key, setting.value, "group database: the controller itself")
    elif is_address(setting.value):
        draft.notes.left(setting.place, setting.key, setting.value, "is no host name", "put the host into database")
    else:
        host = draft.host(setting.value, setting.place)
        host.roles["database"] = None
        draft.notes.mapped(setting.place, setting.key, setting.value, f"host {host.name} of group database")


def _database_address(draft: Draft, configuration: Configuration, setting: Setting) -> None:
    name = configuration.option("slurmdbd.conf", "DbdHost")
    if is_address(setting.value) and setting.value not in _LOCAL and name and name.value not in _LOCAL:
        host = draft.host(name.value, name.place)
        draft.set_host(host, "cluster_address", setting.value, setting.value_place, setting.key)
    else:
        draft.notes.mapped(setting.place, setting.key, setting.value, "the host of group database")


def _old_purge(draft: Draft, setting: Setting, new: str) -> None:
    if not setting.value.isdecimal():
        draft.notes.left(setting.place, setting.key, setting.value, "is no number of months")
    elif setting.value == "0":
        draft.notes.changed(setting.place, setting.key, setting.value, "dropped: 0 purged nothing")
    elif draft.setting("slurm_dbd_config", new, f"{setting.value}months", setting.place):
        draft.notes.changed(
            setting.place, setting.key, setting.value, f"slurm_dbd_config: {new}: {setting.value}months"
        )
    else:
        draft.notes.changed(setting.place, setting.key, setting.value, f"dropped: {new} stands there too")


_DBD_HOSTS: dict[str, Callable[[Draft, Configuration, Setting], None]] = {
    "DbdHost": _database_host,
    "DbdBackupHost": _database_host,
    "DbdAddr": _database_address,
    "StorageHost": _storage_host,
}
