"""Host ranges, expanded exactly as Ansible does."""

from __future__ import annotations

import pytest
from hpcprov.site.ranges import RangeError, expand
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("pattern", "hosts", "port"),
    [
        ("n[01:03]", ["n01", "n02", "n03"], None),
        ("m[8:11]", ["m8", "m9", "m10", "m11"], None),
        ("x[1:2]-[a:b]", ["x1-a", "x1-b", "x2-a", "x2-b"], None),
        ("evo1[1:1]", ["evo11"], None),
        ("r[00:10:5]", ["r00", "r05", "r10"], None),
        ("n[:2]", ["n0", "n1", "n2"], None),
        ("head:2222", ["head"], 2222),
        ("n[1:2]:2222", ["n1", "n2"], 2222),
        ("fe80::1", ["fe80::1"], None),
        ("plain", ["plain"], None),
    ],
)
def test_expand(pattern: str, hosts: list[str], port: int | None) -> None:
    assert expand(pattern) == (tuple(hosts), port)


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("c[10-60]", 'write "c[10:60]"'),
        ("c[10:08]", 'write "c[08:10]"'),
        ("c[b:a]", 'write "c[a:b]"'),
        ("c[1:2", 'write a range as "node[001:064]"'),
        ("c[1,2]", "write one entry for each range"),
        ("c[1:2:0]", None),
        ("c[1:b]", None),
        ("c[1:2:3:4]", 'write "node[001:064]"'),
    ],
)
def test_ranges_that_name_no_host(pattern: str, hint: str | None) -> None:
    with pytest.raises(RangeError) as caught:
        expand(pattern)
    assert caught.value.hint == hint


@given(st.text(alphabet="n0159abz[]:-,.", max_size=12))
def test_never_another_error(pattern: str) -> None:
    try:
        hosts, _ = expand(pattern)
    except RangeError:
        return
    assert hosts
