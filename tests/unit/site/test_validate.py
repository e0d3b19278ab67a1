"""The command `hpcprov validate`, and that no input makes it crash."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hpcprov.main import main
from hpcprov.paths import project_root
from hpcprov.site import check_site
from hpcprov.site.report import render
from hpcprov.site.schema import KNOWN
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

CASES = Path(__file__).parent / "cases"
SITE = project_root() / "inventory" / "site.yaml"


def test_valid_site(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(SITE)]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.endswith("site.yaml: no errors, 71 hosts\n")


def test_error_shows_the_line_with_a_caret(capsys: pytest.CaptureFixture[str]) -> None:
    path = CASES / "wrong" / "unknown_group_key.yaml"
    assert main(["validate", str(path)]) == 3
    shown = capsys.readouterr()
    assert shown.out == (
        f'{path}:6:3: unknown-group-key: unknown key "host" in group "compute"\n'
        "      host:\n"
        "      ^\n"
        '    did you mean "hosts"?\n'
    )
    assert shown.err.endswith("1 error\n")


def test_warnings_alone_are_no_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(CASES / "wrong" / "host_keys_off.yaml")]) == 0
    assert "(warning)" in capsys.readouterr().out


# CLI-13
def test_json_is_all_that_stdout_gets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--json", str(CASES / "wrong" / "duplicate_host.yaml")]) == 3
    shown = capsys.readouterr()
    [finding] = json.loads(shown.out)
    assert list(finding) == ["file", "line", "column", "rule", "level", "message", "hint"]
    assert (finding["line"], finding["column"], finding["rule"]) == (8, 5, "duplicate-key")
    assert shown.err == ""


def test_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--rules"]) == 0
    assert "address-twice: Two hosts with one address" in capsys.readouterr().out


def test_caret_stands_below_its_character(tmp_path: Path) -> None:
    path = tmp_path / "site.yaml"
    path.write_text("all:\n\thosts:\n")
    assert "    \thosts:\n    ^" in render(check_site(path).findings)


SOURCES = [path.read_text() for path in (SITE, SITE.with_name("lab.yaml"), CASES / "valid" / "odd_but_valid.yaml")]
PIECES = [
    "",
    " ",
    "\t",
    ":",
    "- ",
    "[",
    "]",
    "{",
    "}",
    '"',
    "'",
    "#",
    "null",
    "5",
    "1:30",
    "{{ x }}",
    "{% if %}",
    "é",
    "*a",
    "&a",
]


@given(st.sampled_from(SOURCES), st.data())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_mutation_crashes_it(tmp_path: Path, source: str, data: st.DataObject) -> None:
    """Cut pieces out of valid sites and put others in; findings are the only thing that may come of it."""
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(source)))
        end = start + data.draw(st.sampled_from([0, 1, 3, 20, 200]))
        source = source[:start] + data.draw(st.sampled_from(PIECES)) + source[end:]
    path = tmp_path / "site.yaml"
    path.write_text(source)
    report = check_site(path)
    assert report.site is not None or any(finding.level == "error" for finding in report.findings)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text("a{}%:-/*[]1.", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abhost", max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(KNOWN)
ENTRIES = st.dictionaries(
    st.sampled_from(["name", "nodes", "default", "max_time", "path", "server", "clients", "options", "uid", "file"]),
    VALUES,
    max_size=4,
)


@given(st.dictionaries(NAMES, VALUES | ENTRIES | st.lists(ENTRIES, max_size=3), max_size=4), st.booleans())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_value_crashes_it(tmp_path: Path, variables: dict[str, object], on_host: bool) -> None:
    """Any value for any variable of ours, on the site or on a host."""
    site = {
        "all": {"vars": {"cluster_name": "t", "cluster_network": "10.1.0.0/24"}},
        "controller": {"hosts": {"head": {"ansible_host": "10.1.0.1"}}},
        "compute": {"hosts": {"c1": {"ansible_host": "10.1.0.2"}}},
    }
    (site["compute"]["hosts"]["c1"] if on_host else site["all"]["vars"]).update(variables)  # type: ignore[attr-defined]
    path = tmp_path / "site.yaml"
    path.write_text(json.dumps(site))
    assert check_site(path).findings
