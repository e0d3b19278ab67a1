"""Role mariadb: slurmdbd's user, and nobody else, reaches a database that is tuned as Slurm asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hpcprov.site import Site


@pytest.fixture
def db(nodes: Callable[[str], Any]) -> Any:
    return nodes("db")


@pytest.fixture
def password(site: Site) -> str:
    return (site.state_dir / "secrets" / "database_password").read_text().strip()


def as_slurm(db: Any, password: str, statement: str, host: str = "localhost") -> Any:
    """A statement by the user of slurmdbd."""
    command = "MYSQL_PWD=%s mariadb --batch --skip-column-names -u slurm -h %s slurm_acct_db -e %s"
    return db.run(command, password, host, statement)


def variable(db: Any, name: str) -> str:
    """A setting of the running server."""
    return str(db.check_output("mariadb --batch --skip-column-names -e %s", f"SELECT @@{name}"))


def test_server_runs_and_starts_at_boot(db: Any) -> None:
    service = db.service("mariadb")
    assert service.is_running and service.is_enabled


def test_user_of_slurmdbd_may_make_and_drop_tables(db: Any, password: str) -> None:
    made = as_slurm(
        db, password, "CREATE TABLE t (i INT) ENGINE=InnoDB; INSERT INTO t VALUES (7); SELECT i FROM t; DROP TABLE t"
    )
    assert (made.rc, made.stdout) == (0, "7\n"), made.stderr


def test_wrong_password_is_refused(db: Any, password: str) -> None:
    refused = as_slurm(db, password[::-1], "SELECT 1")
    assert refused.rc != 0
    assert "Access denied" in refused.stderr


def test_user_of_slurmdbd_has_no_other_database(db: Any, password: str) -> None:
    refused = as_slurm(db, password, "SELECT User FROM mysql.user")
    assert refused.rc != 0
    assert "denied" in refused.stderr


def test_no_anonymous_user_and_no_root_from_afar(db: Any) -> None:
    accounts = db.check_output("mariadb -BNe %s", "SELECT CONCAT(User, '@', Host) FROM mysql.user")
    assert not [name for name in accounts.split() if name.startswith("@")]
    assert not [name for name in accounts.split() if name.startswith("root@") and name != "root@localhost"]


def test_server_listens_on_this_host_only(db: Any) -> None:
    assert db.socket("tcp://127.0.0.1:3306").is_listening
    assert not db.socket("tcp://0.0.0.0:3306").is_listening


# DBD-02
def test_running_server_has_what_the_site_says(db: Any) -> None:
    assert variable(db, "innodb_buffer_pool_size") == str(192 * 1024 * 1024)
    assert variable(db, "innodb_lock_wait_timeout") == "900"
    assert variable(db, "max_connections") == "77"
