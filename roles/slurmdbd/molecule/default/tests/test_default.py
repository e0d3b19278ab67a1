"""Role slurmdbd: the cluster, its accounts, users and QOS are in a database that outlives a restart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hpcprov.site import Site

# The controller's file, as far as sacctmgr needs it: this scenario has no controller.
SLURM_CONF = """
ClusterName={cluster}
SlurmctldHost=db
AuthType=auth/munge
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
"""
SACCTMGR = "env SLURM_CONF=/tmp/slurm.conf sacctmgr "


@pytest.fixture(scope="module")
def db(nodes: Callable[[str], Any], site: Site) -> Any:
    host = nodes("db")
    host.check_output("printf %%s %s > /tmp/slurm.conf", SLURM_CONF.format(cluster=site.cluster_name))
    return host


def show(db: Any, what: str) -> list[str]:
    """Rows of `sacctmgr show`."""
    return str(db.check_output(f"{SACCTMGR} --noheader --parsable2 show {what}")).splitlines()


def test_daemon_runs_as_slurm_and_starts_at_boot(db: Any) -> None:
    service = db.service("slurmdbd")
    assert service.is_running and service.is_enabled
    assert db.check_output("stat -c %u /proc/$(pgrep -x slurmdbd)") == "64030"


# DBD-03
def test_configuration_with_the_password_is_the_daemons_alone(db: Any, site: Site) -> None:
    conf = db.file("/etc/slurm/slurmdbd.conf")
    assert (conf.user, conf.group, conf.mode) == ("slurm", "slurm", 0o600)
    password = (site.state_dir / "secrets" / "database_password").read_text().strip()
    assert password in conf.content_string
    assert db.run("runuser -u alice -- cat /etc/slurm/slurmdbd.conf").rc != 0


def test_cluster_is_registered(db: Any, site: Site) -> None:
    assert site.cluster_name in show(db, "cluster format=cluster")


def test_accounts_and_their_users_are_the_sites(db: Any) -> None:
    rows = show(db, "assoc format=account,parentname,user,fairshare")
    assert "plasma|physics||7" in rows
    assert "plasma||alice|1" in rows
    assert any(row.startswith("hpcprov||hpcsmoke|") for row in rows)


def test_qos_is_the_sites(db: Any) -> None:
    assert "urgent|100|02:00:00" in show(db, "qos format=name,priority,maxwall")


def test_ordinary_users_change_nothing(db: Any) -> None:
    refused = db.run(f"runuser -u alice -- {SACCTMGR} -i add account mine")
    assert refused.rc != 0
    assert "mine" not in show(db, "account format=account")


def test_daemon_comes_back_when_the_database_was_away(db: Any) -> None:
    db.check_output("systemctl restart mariadb")
    db.check_output("systemctl restart slurmdbd")
    found = f"{SACCTMGR} -nP show account format=account | grep -x plasma"
    assert db.run(f"for try in $(seq 60); do {found} && exit 0; sleep 1; done; exit 1").rc == 0
