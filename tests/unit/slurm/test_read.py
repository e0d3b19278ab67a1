"""The reader of Slurm's files: its rules, and that what is written reads the same."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from hpcprov.slurm.include import read_with_includes
from hpcprov.slurm.read import Line, read, write
from hpcprov.slurm.settings import key_lines
from hpcprov.slurm.values import record
from hypothesis import given
from hypothesis import strategies as st

FILE = Path("slurm.conf")


def pairs(text: str) -> list[list[tuple[str, str]]]:
    return [[(one.key, one.value) for one in line.settings] for line in read(text, FILE)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1 # c\n# x\n\n  b = 2\n", [[("a", "1")], [("b", "2")]]),
        ('R="two words" S=x', [[("R", "two words"), ("S", "x")]]),
        ("Node=a \\\n  CPUs=2 \\  \nX=3", [[("Node", "a"), ("CPUs", "2"), ("X", "3")]]),
        ("a=b\\#c\\\\d", [[("a", "b#c\\d")]]),
        ("a=x\\ # comment hides no continuation\nb=2", [[("a", "xb=2")]]),
        ('a="x"y', [[("a", '"x"y')]]),
        ("Nodes= Default=YES", [[("Nodes", "Default=YES")]]),
        ("a=1\r\nb=2\r\n", [[("a", "1")], [("b", "2")]]),
        ('a=""', [[("a", "")]]),
    ],
)
def test_reads_as_slurm_does(text: str, expected: list[list[tuple[str, str]]]) -> None:
    assert pairs(text) == expected


def test_places_survive_continuation_and_escapes() -> None:
    [line] = read("# head\nNodeName=a \\\n  Reason=x\\#y CPUs=2\n", FILE)
    places = {one.key: (one.place.line, one.place.column, one.value_place.column) for one in line.settings}
    assert places == {"NodeName": (2, 1, 10), "Reason": (3, 3, 10), "CPUs": (3, 15, 20)}


def test_rest_is_kept_with_its_place() -> None:
    [line] = read("MailProg=/bin/mail now\n", FILE)
    assert (line.rest, line.rest_place and line.rest_place.column) == ("now", 20)


KEYS = st.text(string.ascii_letters + "_.", min_size=1, max_size=8).filter(lambda key: key.lower() != "include")
# Slurm has no way to write a quote or a line break inside a value.
VALUES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Z"], exclude_characters='"'), max_size=8)
SPACED = st.builds(" ".join, st.lists(VALUES, min_size=1, max_size=3))


@given(st.lists(st.lists(st.tuples(KEYS, SPACED), min_size=1, max_size=4), max_size=5))
def test_what_is_written_reads_the_same(lines: list[list[tuple[str, str]]]) -> None:
    text = "\n".join(" ".join(f'{key}="{_escape(value)}"' for key, value in line) for line in lines)
    once = read(text, FILE)
    assert [[(one.key, one.value) for one in line.settings] for line in once] == lines
    again = read(write(once), FILE)
    assert [_values(line) for line in again] == [_values(line) for line in once]


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace("#", "\\#")


def _values(line: Line) -> tuple[list[tuple[str, str, str]], str]:
    return [(one.key, one.operator, one.value) for one in line.settings], line.rest


PLAIN = st.text(string.ascii_letters + string.digits + "#[]-,:/%*", min_size=1, max_size=10)


@given(st.dictionaries(KEYS, PLAIN, min_size=1, max_size=5))
def test_what_hpcprov_renders_reads_the_same(keys: dict[str, str]) -> None:
    assert pairs(record(keys)) == [list(keys.items())]
    assert pairs(key_lines(keys)) == [[item] for item in keys.items()]


@given(st.text(max_size=200))
def test_no_text_stops_the_reader(text: str) -> None:
    for line in read(text, FILE):
        assert line.settings or line.rest or line.include is not None
        assert line.place.line >= 1
        assert line.place.column >= 1


def test_includes_stand_in_their_place(tmp_path: Path) -> None:
    main = tmp_path / "slurm.conf"
    main.write_text("ClusterName=Red\nInclude nodes-%c.conf\nMaxJobCount=5\n")
    (tmp_path / "nodes-red.conf").write_text("NodeName=a CPUs=1\n")
    lines, findings = read_with_includes(main)
    assert [line.key for line in lines if line.settings] == ["clustername", "nodename", "maxjobcount"]
    assert findings == []
    assert lines[2].place.file.name == "nodes-red.conf"


def test_include_that_is_absent_or_its_own(tmp_path: Path) -> None:
    main = tmp_path / "slurm.conf"
    main.write_text("include nope.conf\ninclude slurm.conf\n")
    _, findings = read_with_includes(main)
    assert [(finding.line, finding.rule) for finding in findings] == [(1, "include"), (2, "include")]
    assert "includes itself" in findings[1].message
