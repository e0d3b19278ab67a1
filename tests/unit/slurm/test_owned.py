"""What slurm_config may say about options that follow from the site."""

from __future__ import annotations

from typing import Any

import pytest
from hpcprov.slurm.cluster import Daemons
from hpcprov.slurm.keys import table
from hpcprov.slurm.owned import ELSEWHERE, contradiction, site_values

VALUES = site_values("test", ["db"], Daemons(slurmctld_port=7000))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("ClusterName", "test"),
        ("AccountingStorageHost", "db.example.org"),
        ("AccountingStorageType", "accounting_storage/slurmdbd"),
        ("SlurmctldPort", 7000),
        ("SlurmctldPort", "7000-7003"),
        ("StateSaveLocation", "/var/lib/slurm/slurmctld/"),
        ("KillWait", 60),
    ],
)
def test_the_same_may_be_said_twice(option: str, value: Any) -> None:
    assert contradiction(option, value, VALUES) is None


@pytest.mark.parametrize(
    ("option", "value", "place"),
    [
        ("ClusterName", "Test", 'cluster_name, which says "test", not "Test"'),
        ("ClusterName", None, 'cluster_name, which says "test", not nothing'),
        ("AccountingStorageHost", "nas", 'group database, which says "db", not "nas"'),
        ("AccountingStorageType", "accounting_storage/none", "group database"),
        ("SlurmctldPort", "7001-7003", "slurm_ctld_port"),
        ("SlurmUser", "root", "slurm_user"),
        ("SlurmctldHost", "head", "group controller"),
        ("ControlMachine", "head", "group controller"),
        ("PartitionName", "main", "slurm_partitions"),
    ],
)
def test_another_value_is_told_where_it_belongs(option: str, value: Any, place: str) -> None:
    assert place in str(contradiction(option, value, VALUES))


def test_without_a_database_accounting_is_free() -> None:
    assert contradiction("AccountingStorageHost", "nas", site_values("test", [], Daemons())) is None


def test_options_are_spelt_as_slurm_does() -> None:
    keys = table("slurm.conf").keys
    assert [name for name in (*ELSEWHERE, *VALUES) if keys[name.lower()].name != name] == []
