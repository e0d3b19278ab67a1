"""The plan of hpc_database: state of the server in, statements out."""

from __future__ import annotations

from module_loader import load_module

database = load_module("hpc_database")
# SELECT PASSWORD('x') of MariaDB 10.11.
HASH_OF_X = "*B69027D44F6E5EDC07F1AEAD1477967B16F28227"
COMPLETE = f"schema\tslurm_acct_db\t\nuser\tlocalhost\t{HASH_OF_X}\ngrant\tlocalhost\t\n"


def planned(text: str, hosts: tuple[str, ...] = ("localhost",)) -> tuple[list[str], list[str]]:
    """Statements and actions for the rows that the server gave."""
    statements, actions = database.plan(database.parse_state(text), "slurm_acct_db", "slurm", HASH_OF_X, hosts)
    return statements, actions


def test_hash_is_the_servers() -> None:
    assert database.native_hash("x") == HASH_OF_X


def test_empty_server_gets_everything() -> None:
    statements, actions = planned("")
    assert actions == ["database slurm_acct_db", "user slurm@localhost", "rights of slurm@localhost on slurm_acct_db"]
    assert statements == [
        "CREATE DATABASE `slurm_acct_db`",
        f"CREATE USER 'slurm'@'localhost' IDENTIFIED VIA mysql_native_password USING '{HASH_OF_X}'",
        "GRANT ALL PRIVILEGES ON `slurm_acct_db`.* TO 'slurm'@'localhost'",
    ]


def test_complete_server_needs_nothing() -> None:
    assert planned(COMPLETE) == ([], [])


def test_other_password_is_replaced() -> None:
    statements, actions = planned(COMPLETE.replace(HASH_OF_X, "*0"))
    assert actions == ["password of slurm@localhost"]
    assert statements[0].startswith("ALTER USER 'slurm'@'localhost' IDENTIFIED")


def test_second_host_is_added_beside_the_first() -> None:
    _, actions = planned(COMPLETE, ("localhost", "10.1.0.%"))
    assert actions == ["user slurm@10.1.0.%", "rights of slurm@10.1.0.% on slurm_acct_db"]
