"""Hostlists mean exactly what Slurm reads; Slurm itself is asked in test_oracle.py."""

from __future__ import annotations

import contextlib

import pytest
from hpcprov.slurm.hostlist import HostlistError, expand, fold
from hypothesis import given
from hypothesis import strategies as st

NAMES = st.from_regex(r"[a-c]{1,2}(-[0-9])?[0-9]{0,3}", fullmatch=True)


@given(st.sets(NAMES, max_size=40))
def test_expand_undoes_fold(hosts: set[str]) -> None:
    assert sorted(expand(fold(hosts))) == sorted(hosts)


@given(st.lists(NAMES, max_size=20, unique=True), st.randoms())
def test_order_does_not_matter(hosts: list[str], random: object) -> None:
    shuffled = sorted(hosts, key=lambda _: random.random())  # type: ignore[attr-defined]
    assert fold(shuffled) == fold(hosts)


@given(st.text(alphabet="ab019[]-,. ", max_size=14))
def test_never_another_error(text: str) -> None:
    with contextlib.suppress(HostlistError):
        expand(text)


# SLM-18
@pytest.mark.parametrize(
    ("hosts", "folded"),
    [
        ("n009,n10", "n[10,009]"),
        ("node001", "node001"),
        ("a,b", "a,b"),
        ("node1,node1,node2", "node[1-2]"),
        ("c0999,c1000,c1001", "c[0999-1001]"),
        ("mac20240101123401,mac20240101123402", "mac20240[101123401-101123402]"),
        ("", ""),
    ],
)
def test_fold(hosts: str, folded: str) -> None:
    assert fold(host for host in hosts.split(",") if host) == folded


def test_large_clusters_stay_one_range() -> None:
    hosts = [f"node{number:05d}" for number in range(1, 3001)]
    assert fold(hosts) == "node[00001-03000]"
    assert expand("node[00001-03000]") == hosts


@pytest.mark.parametrize("text", ["n[1-2", "n1]", "n[[1]]", "n[1-99999999]", "n[٣]", "n[1 -2]"])
def test_refused_though_slurm_guesses(text: str) -> None:
    with pytest.raises(HostlistError):
        expand(text)
