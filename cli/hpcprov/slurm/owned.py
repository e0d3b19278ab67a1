"""Options of slurm.conf that follow from the site: another value there would split the cluster in two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hpcprov.slurm.cluster import Daemons
from hpcprov.slurm.values import as_list

# Option: where the site says it. These are never free.
ELSEWHERE = {
    "NodeName": "slurm_node of the hosts",
    "PartitionName": "slurm_partitions",
    **dict.fromkeys(
        ("SlurmctldHost", "ControlMachine", "ControlAddr", "BackupController", "BackupAddr"),
        "group controller and the addresses of its hosts",
    ),
}
# Directories of the system, which must not become a daemon's own.
SHARED_DIRECTORIES = ("", "/etc", "/home", "/opt", "/run", "/srv", "/usr", "/var", "/var/lib", "/var/run", "/var/spool")
# Option: where the site says it. These may stand in slurm_config too, with the same value.
_FOLLOWS = {
    "ClusterName": "cluster_name",
    "AccountingStorageHost": "group database",
    "AccountingStorageType": "group database",
    "AccountingStoragePort": "slurm_dbd_port",
    "SlurmctldPort": "slurm_ctld_port",
    "SlurmUser": "slurm_user",
    "StateSaveLocation": "slurm_state_dir",
    "SlurmdSpoolDir": "slurm_spool_dir",
}


def site_values(name: str, databases: Sequence[str], daemons: Daemons) -> dict[str, Sequence[str]]:
    """What each option may be in a cluster of this name, with these database hosts (short names)."""
    return {
        "ClusterName": [name],
        "AccountingStorageHost": databases,
        "AccountingStorageType": ["accounting_storage/slurmdbd"],
        "AccountingStoragePort": [str(daemons.slurmdbd_port)],
        "SlurmctldPort": [str(daemons.slurmctld_port)],
        "SlurmUser": [daemons.user],
        "StateSaveLocation": [daemons.state_dir],
        "SlurmdSpoolDir": [daemons.spool_dir],
    }


def contradiction(option: str, value: Any, values: Mapping[str, Sequence[str]]) -> str | None:
    """Why slurm_config must not set `option` to `value`, if so, with the place to say it instead."""
    if option in ELSEWHERE:
        return f"{option} belongs into {ELSEWHERE[option]}"
    if option not in _FOLLOWS or not values[option]:
        return None
    written = [str(item) for item in as_list(value)]
    if written and all(_agrees(option, item, values[option]) for item in written):
        return None
    shown = f'"{", ".join(written)}"' if written else "nothing"
    return f'{option} follows from {_FOLLOWS[option]}, which says "{" or ".join(values[option])}", not {shown}'


def _agrees(option: str, written: str, values: Sequence[str]) -> bool:
    if option.endswith("Host"):
        written = written.split(".", 1)[0]
    first, dash, last = written.partition("-")
    if option == "SlurmctldPort" and dash and first.isdecimal() and last.isdecimal():
        # slurmctld may listen on a range; slurmd asks for its files at the port that the site names.
        return any(int(first) <= int(port) <= int(last) for port in values if port.isdecimal())
    return written.removesuffix("/") in values
