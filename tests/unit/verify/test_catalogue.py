"""The list of checks is what pytest would run, and what the page says."""

import subprocess
import sys

import pytest
from hpcprov import verify
from hpcprov.errors import UsageError
from hpcprov.main import app
from hpcprov.paths import project_root
from hpcprov.site import load_site
from hpcprov.verify.catalogue import checks, table
from typer.testing import CliRunner


def test_page_has_every_check_in_its_order():
    page = (project_root() / "docs" / "verify.md").read_text()
    assert table(checks()) in page, "put into docs/verify.md what hpcprov.verify.catalogue.table(checks()) gives"


def test_list_names_what_pytest_collects():
    folder = project_root() / "tests" / "cluster"
    site = f"--site={project_root() / 'inventory' / 'lab.yaml'}"
    command = [sys.executable, "-m", "pytest", str(folder), "-c", str(folder / "pytest.ini"), site, "--co", "-q",
               "-p", "no:cacheprovider"]  # fmt: skip
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    collected = {line.split("::")[1].split("[")[0] for line in said.splitlines() if "::" in line}
    assert {f"test_{check.name}" for check in checks()} == collected


def test_each_check_is_told_about_the_hosts_it_looks_at():
    found = {check.name: check for check in checks()}
    assert found["hardware"].groups == ("compute",) and found["hardware"].per_host
    assert found["same_key"].groups == ("controller", "database", "login", "compute")
    assert not found["mpi_program"].per_host


def test_list_needs_no_site(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["verify", "--list"])
    assert done.exit_code == 0
    assert "munge          same_key" in done.stdout


@pytest.mark.parametrize(("name", "why"), [("no/such/x.xml", "there is no directory"), (".", "it is a directory")])
def test_a_report_that_cannot_be_written_is_told_before_any_check(tmp_path, name, why):
    site = load_site(project_root() / "inventory" / "lab.yaml")
    with pytest.raises(UsageError, match=why):
        verify.run(site, report=print, junit=tmp_path / name)
