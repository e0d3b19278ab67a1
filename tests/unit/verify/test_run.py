"""`verify.run` and `hpcprov verify`, with small checks in place of those of a cluster."""

import json
import re
import shutil

import pytest
from hpcprov import console, main, verify
from hpcprov.errors import UsageError, VerifyError
from hpcprov.main import app
from hpcprov.paths import project_root
from hpcprov.site import load_site
from typer.testing import CliRunner

SITE = """
all:
  vars:
    cluster_name: t
    cluster_network: 10.0.0.0/24
    ansible_user: root
    nfs_mounts: [{path: /shared, server: 10.0.0.9}]
controller: {hosts: {head: {ansible_host: 10.0.0.1}}}
database: {hosts: {head: }}
compute: {hosts: {node01: {ansible_host: 10.0.0.2}, node02: {ansible_host: 10.0.0.3}}}
"""
CONFTEST = """
import pytest

def pytest_addoption(parser):
    parser.addoption("--site")
    parser.addoption("--only-host", action="append", default=[])

@pytest.fixture
def probe(request):
    return request.param

def pytest_generate_tests(metafunc):
    if "probe" in metafunc.fixturenames:
        hosts = metafunc.config.getoption("--only-host") or ["node01", "node02"]
        metafunc.parametrize("probe", hosts, indirect=True)
"""
CHECKS = '''
import pytest
from hpcprov.verify.checks import fail

def test_good(probe):
    """Disks spin."""

def test_bad(probe):
    """Fans turn."""
    if probe == "node02":
        fail(expected="1000 rpm", found="0 rpm", cause="dust", fix="blow")

def test_left_out():
    """Doors open."""
    pytest.skip("there is no door")
'''


@pytest.fixture
def site(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text(SITE)
    return load_site(path)


@pytest.fixture
def checks(tmp_path, monkeypatch):
    """A project whose tests/cluster the test writes."""
    folder = tmp_path / "tests" / "cluster"
    folder.mkdir(parents=True)
    shutil.copy(project_root() / "tests" / "cluster" / "pytest.ini", folder)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_machine.py").write_text(CHECKS)
    monkeypatch.setattr(verify, "project_root", lambda: tmp_path)
    return folder


def test_outcomes_are_counted_and_told(site, checks, tmp_path):
    lines = []
    result = verify.run(site, report=lines.append, junit=tmp_path / "junit.xml")
    reason = "expected 1000 rpm; found 0 rpm. Likely cause: dust"
    assert (result.passed, result.failed, result.skipped) == (3, 1, 1)
    assert result.failures == [verify.Failure("node02", "Fans turn", reason, "blow", "1000 rpm", "0 rpm", "dust")]
    assert lines == [
        "  ok    Disks spin (node01, node02)",
        "  FAIL  Fans turn (node02)",
        f"        node02: {reason}",
        "        fix: blow",
        "  skip  Doors open: there is no door",
    ]
    assert reason in (tmp_path / "junit.xml").read_text()


def test_keyword_and_host_choose(site, checks):
    result = verify.run(site, report=lambda _: None, keyword="good or bad", hosts=["node01"])
    assert (result.passed, result.failed, result.skipped) == (2, 0, 0)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"keyword": "nothing_like_it"}, "no check matches -k 'nothing_like_it'"),
        ({"keyword": "munge and ("}, "-k 'munge and (' cannot be read"),
        ({"hosts": ["node99"]}, "no host node99 in "),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(site, checks, chosen, message):
    with pytest.raises(UsageError) as raised:
        verify.run(site, report=lambda _: None, **chosen)
    assert raised.value.message.startswith(message)


@pytest.mark.parametrize("name", ["test_machine.py", "conftest.py"])
def test_broken_checks_are_no_verdict_about_the_cluster(site, checks, name):
    (checks / name).write_text("import no_such_module\n")
    with pytest.raises(VerifyError) as raised:
        verify.run(site, report=lambda _: None)
    assert "could not run" in raised.value.message
    assert "no_such_module" in raised.value.why


def test_json_on_stdout_words_on_stderr(site, checks):
    done = CliRunner().invoke(app, ["verify", str(site.path), "--json"])
    assert done.exit_code == VerifyError.exit_code
    assert json.loads(done.stdout)["failures"][0]["host"] == "node02"
    assert "FAIL  Fans turn (node02)" in done.stderr
    assert CliRunner().invoke(app, ["verify", str(site.path), "-k", "good"]).exit_code == 0


def test_every_real_check_is_named_in_words_once():
    names = {}
    for path in (project_root() / "tests" / "cluster").glob("test_*.py"):
        for chunk in path.read_text().split("\ndef test_")[1:]:
            assert '"""' in chunk.split("\n")[1], f"{path.name}: test_{chunk.split('(')[0]} has no name in words"
            names.setdefault(chunk.split('"""')[1], []).append(path.name)
    assert len(names) > 20
    assert [name for name, where in names.items() if len(where) > 1] == []


def test_every_check_file_has_its_place_in_the_order():
    folder = project_root() / "tests" / "cluster"
    order = next(line for line in (folder / "conftest.py").read_text().splitlines() if line.startswith("ORDER"))
    for path in folder.glob("test_*.py"):
        assert f'"{path.stem.removeprefix("test_")}"' in order


NOBODY = re.sub(
    r"ansible_host: 10\.0\.0\.(\d)",
    r"ansible_host: 127.0.0.\1, cluster_address: 10.0.0.\1",
    SITE.replace("ansible_user: root", "ansible_user: root\n    ansible_port: 1"),
)


@pytest.mark.parametrize("chosen", [[], ["-k", "munge"], ["-k", "submit"]])
def test_unreachable_hosts_are_one_error_about_hosts(tmp_path, capsys, chosen):
    console.err.cache_clear()
    path = tmp_path / "site.yaml"
    path.write_text(NOBODY)
    assert main.main(["verify", str(path), *chosen]) == 4
    said = capsys.readouterr().err
    console.err.cache_clear()
    assert "Error: no check could run, SSH reaches no host that they need\n" in said
    assert ": connect to the host port 1: Connection refused\n" in said
    assert "  next: ssh -p 1 root@127.0.0.1\n" in said
    assert said.count("refused") == 1 and "FAIL" not in said


def test_identical_reasons_are_told_once_with_the_hosts_folded(site):
    result = verify.VerifyResult(
        unreachable={
            "node02": "ssh: connect to host 10.0.0.3 port 22: No route to host",
            "node01": "ssh: connect to host 10.0.0.2 port 22: No route to host",
            "head": "root@10.0.0.1: Permission denied (publickey).",
        }
    )
    error = verify.nobody_answers(site, result)
    assert error.exit_code == 4
    assert error.why.splitlines() == [
        "head: root@HOST: Permission denied (publickey).",
        "node[01-02]: connect to the host port 22: No route to host",
    ]
    assert [problem.host for problem in error.problems] == ["node02", "node01", "head"]
    assert verify.nobody_answers(site, verify.VerifyResult()) is None
