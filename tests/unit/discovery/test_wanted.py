"""Which hosts the command line means."""

from __future__ import annotations

from pathlib import Path

import pytest
from hpcprov.discovery.wanted import MOST_HOSTS, Wanted, wanted_hosts
from hpcprov.errors import UsageError


def names(*arguments: str) -> list[str]:
    return [one.name for one in wanted_hosts(arguments)]


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("node01", ["node01"]),
        ("node[009-011,020]", ["node009", "node010", "node011", "node020"]),
        ("node[009:011]", ["node009", "node010", "node011"]),
        ("n[1-2].example.org", ["n1.example.org", "n2.example.org"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("head,node[1-2]", ["head", "node1", "node2"]),
        ("10.0.0.[1-3]", ["10.0.0.1", "10.0.0.2", "10.0.0.3"]),
        ("10.0.0.0/30", ["10.0.0.1", "10.0.0.2"]),
        ("10.0.0.7/32", ["10.0.0.7"]),
        ("10.0.0.8/31", ["10.0.0.8", "10.0.0.9"]),
        ("2001:db8::5", ["2001:db8::5"]),
        ("2001:db8::/126", ["2001:db8::1", "2001:db8::2", "2001:db8::3"]),
    ],
)
def test_notations(argument: str, expected: list[str]) -> None:
    assert names(argument) == expected


def test_user_and_port() -> None:
    assert wanted_hosts(["admin@n[1-2]:2222"]) == [Wanted("n1", "admin", 2222), Wanted("n2", "admin", 2222)]
    assert wanted_hosts(["root@2001:db8::5"]) == [Wanted("2001:db8::5", "root")]


def test_an_address_of_a_network_need_not_answer_unless_it_is_named() -> None:
    assert [one.is_named for one in wanted_hosts(["10.0.0.0/30"])] == [False, False]
    assert [one.is_named for one in wanted_hosts(["10.0.0.0/30", "10.0.0.2"])] == [False, True]
    assert [one.is_named for one in wanted_hosts(["10.0.0.7/32"])] == [True]


def test_each_host_once_in_order() -> None:
    assert names("n2", "n[1-3]", "n2") == ["n2", "n1", "n3"]


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# the first rack\nhead\nnode[1-2], node7  # the odd one\n\n10.0.0.0/30\n")
    assert names(str(file)) == ["head", "node1", "node2", "node7", "10.0.0.1", "10.0.0.2"]
    assert names(f"@{file}") == names(str(file))


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("n[3-1]", '"n[3-1]": "3-1" counts backwards'),
        ("n[1", '"n[1": brackets do not match'),
        ("n;reboot", '"n;reboot" is no host name'),
        ("-oProxyCommand=x", '"-oProxyCommand=x" is no host name'),
        ("n1:99999", '"n1:99999": 99999 is no port'),
        ("10.0.0.0/99", '"10.0.0.0/99" is no network'),
        ("10.0.0.300/24", '"10.0.0.300/24" is no network'),
        ("10.0.0.0/8", f'"10.0.0.0/8" has 16777216 addresses, more than {MOST_HOSTS}'),
        ("n[1-5000]", f'"n[1-5000]": more than {MOST_HOSTS} hosts'),
        ("./none", "none cannot be read: No such file or directory"),
    ],
)
def test_mistakes(argument: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        wanted_hosts([argument])
    assert error.value.message == message


def test_a_mistake_in_a_file_has_its_line(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("head\nnode[2-1]\n")
    with pytest.raises(UsageError) as error:
        wanted_hosts([str(file)])
    assert error.value.message == f'{file}:2: "node[2-1]": "2-1" counts backwards'
