"""The end of a deploy: the table as a log gets it, and the way into a lab."""

from __future__ import annotations

from pathlib import Path

import pytest
from hpcprov import closing, console
from hpcprov.paths import project_root
from hpcprov.results import Result
from hpcprov.site import load_site

LAB = project_root() / "inventory" / "lab.yaml"


def test_table_in_a_log_has_no_trailing_blanks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    console.err.cache_clear()
    monkeypatch.setenv("COLUMNS", "120")
    systems = {"node01": "Debian 12", "head": closing.OUTSIDE}
    console.say(closing.table(load_site(LAB), Result(site="s", hpcprov="0", started="now"), systems))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "Cluster lab"
    assert [line for line in lines if line != line.rstrip()] == []
    assert any(line.split() == ["node01", "compute", "Debian", "12"] for line in lines)
    assert any("head " in line and line.endswith("(outside --limit)") for line in lines)
    console.err.cache_clear()


def test_way_into_the_built_in_lab() -> None:
    assert closing.way_in(load_site(LAB)) == "hpcprov lab ssh head"


def test_way_into_another_lab_names_its_site_file(tmp_path: Path) -> None:
    site = tmp_path / "my lab.yaml"
    site.write_text(LAB.read_text())
    assert closing.way_in(load_site(site)) == f"hpcprov lab ssh head --site '{site}'"


def test_real_hosts_are_no_lab(tmp_path: Path) -> None:
    site = tmp_path / "site.yaml"
    site.write_text(LAB.read_text().replace("    lab:\n      release: bookworm\n", ""))
    assert closing.way_in(load_site(site)) is None
