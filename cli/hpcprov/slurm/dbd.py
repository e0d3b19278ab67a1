"""slurmdbd.conf. It holds the database password: write it with mode 0600."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hpcprov.slurm.keys import release_of, table
from hpcprov.slurm.settings import checked, key_lines


def slurmdbd_conf(
    host: str,
    password: str,
    *,
    version: str | None = None,
    options: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> str:
    """slurmdbd.conf for the database host `host` (short name). `settings` of the site win over `options`.

    Raises SlurmConfigError for settings that slurmdbd does not know.
    """
    release = release_of(version)
    keys = table("slurmdbd.conf")
    ours: dict[str, Any] = {
        "AuthType": "auth/munge",
        "DbdHost": host,
        "DbdPort": 6819,
        "SlurmUser": "slurm",
        "LogFile": "/var/log/slurm/slurmdbd.log",
        "PidFile": "/run/slurmdbd/slurmdbd.pid" if release >= "23.11" else "/run/slurmdbd.pid",
        "DebugLevel": "info",
        "StorageType": "accounting_storage/mysql",
        "StorageHost": "localhost",
        "StorageUser": "slurm",
        "StoragePass": password,
        "StorageLoc": "slurm_acct_db",
        # Steps and events of two years, jobs for ever: what reports need, without a table that only grows.
        "PurgeEventAfter": "24months",
        "PurgeStepAfter": "24months",
        "PurgeSuspendAfter": "24months",
        **(options or {}),
    }
    known = {name: value for name, value in ours.items() if keys.knows(name, release)}
    return key_lines({**known, **checked(settings or {}, "slurmdbd.conf", release)})
