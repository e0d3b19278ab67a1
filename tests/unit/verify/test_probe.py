"""What runs on a host, as far as it needs no host."""

import ast
import json
import os
import subprocess
import sys

import pytest
from hpcprov.verify import transport
from hpcprov.verify.remote import probe

UNITS = """\
Id=munge.service
Names=munge.service
LoadState=loaded
ActiveState=active
SubState=running
UnitFileState=enabled

Id=mariadb.service
Names=mysql.service mariadb.service mysqld.service
LoadState=loaded
ActiveState=failed
SubState=failed
UnitFileState=disabled

Id=nfs-server.service
Names=nfs-server.service
LoadState=not-found
ActiveState=inactive
SubState=dead
UnitFileState=
"""


def test_units_are_known_by_each_of_their_names():
    units = probe.parse_units(UNITS)
    assert units["munge.service"] == {
        "load": "loaded", "active": "active", "sub": "running", "enabled": "enabled", "pid": "0",
    }  # fmt: skip
    assert units["mysqld.service"]["active"] == units["mariadb.service"]["active"] == "failed"
    assert units["nfs-server.service"]["load"] == "not-found"


@pytest.mark.parametrize(
    ("printed", "types"),
    [
        ("MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\nspecific pmix plugin versions available: pmix_v4", "pmix"),
        ("srun: MPI types are...\nsrun: none\nsrun: pmi2", None),
        ("srun: fatal: Could not establish a configuration source", None),
    ],
)
def test_mpi_types_come_from_either_stream(monkeypatch, printed, types):
    for streams in ((printed, ""), ("", printed)):
        monkeypatch.setattr(probe, "command", lambda *_, s=streams: (0, *s))
        answer = probe.mpi_types()
        assert ("pmix" in answer["types"]) == (types is not None)
        assert ("pmi2" in answer["types"]) == ("types are" in printed)
        assert (answer["error"] is None) == ("types are" in printed)


@pytest.mark.parametrize(
    ("code", "text", "wanted"),
    [
        (0, "STATUS:           Success (0)\nENCODE_HOST:      head (10.0.0.1)\n", (True, "Success", "head")),
        (15, "STATUS:           Invalid credential (15)\n", (False, "Invalid credential", "")),
        (16, "STATUS: Expired credential (16)\nENCODE_HOST: head (10.0.0.1)\n", (False, "Expired credential", "head")),
    ],
)
def test_credential_status(monkeypatch, code, text, wanted):
    monkeypatch.setattr(probe, "command", lambda *_, **__: (code, text, ""))
    answer = probe.munge_decode("MUNGE:x:")
    assert (answer["ok"], answer["status"], answer["made_on"]) == wanted


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "Lmod has detected the following error: The following module(s) are unknown:\n"
            '"pytorch"\n\nAlso make sure that ...\n#%Module\n',
            'The following module(s) are unknown: "pytorch"',
        ),
        (
            "Traceback:\n  File x\nModuleNotFoundError: No module named 'torch'\n",
            "ModuleNotFoundError: No module named 'torch'",
        ),
    ],
)
def test_reason_of_a_failed_import(said, reason):
    assert probe.why_not_imported(said) == reason


def test_mount_of_takes_the_longest_match(monkeypatch):
    mounts = "overlay / overlay rw 0 0\nstore:/shared /shared nfs4 rw,hard 0 0\n/dev/sda1 /shared2 ext4 ro 0 0\n"
    monkeypatch.setattr(probe, "read", lambda _: mounts)
    assert probe.mount_of("/shared/smoke")["type"] == "nfs4"
    assert probe.mount_of("/shared2")["options"] == "ro"
    assert probe.mount_of("/sharedness")["type"] == "overlay"


def test_a_part_that_breaks_leaves_the_others_alone():
    answer = probe.run({"good": lambda: 1, "bad": lambda: {}["missing"]})
    assert answer == {"good": 1, "bad": {"error": "KeyError: 'missing'"}}


def test_a_command_that_hangs_is_given_up():
    assert probe.command("sleep", "30", limit=1) == (124, "", "no answer within 1 s")
    assert probe.command("no-such-program")[0] == 127


def test_wrong_names_are_told_with_what_they_resolve_to(monkeypatch):
    monkeypatch.setattr(probe, "resolve", {"a": ["10.0.0.1"], "b": ["127.0.1.1"], "c": []}.__getitem__)
    assert probe.wrong_names({"a": "10.0.0.1", "b": "10.0.0.2", "c": "10.0.0.3"}) == {"b": ["127.0.1.1"], "c": []}


def shell(script, *arguments):
    return subprocess.run(["sh", "-c", script, "sh", *arguments], capture_output=True, text=True, check=False,
                          env={**os.environ, "USER": "nobody", "HOME": "/nowhere"})  # fmt: skip


def test_two_hosts_see_each_others_files(tmp_path):
    shared, run = str(tmp_path), probe.PREFIX + "1"
    (tmp_path / "smoke").mkdir()
    seeded = shell(probe.SEED, shared, run, "head")
    directory = seeded.stdout.strip()
    assert (seeded.returncode, directory) == (0, f"{shared}/smoke")
    assert shell(probe.EXCHANGE, directory, run, "node01", "head").returncode == 0
    assert shell(probe.COLLECT, directory, run).stdout == "host-node01\n"


def test_tokens_are_taken_away_also_those_of_a_run_that_was_killed(tmp_path, monkeypatch):
    def as_user(user, script, *arguments):
        done = shell(script, *arguments)
        return done.returncode, done.stdout, done.stderr

    monkeypatch.setattr(probe, "as_user", as_user)
    for run in ("ours", "killed", "alive"):
        shell(probe.SEED, str(tmp_path), probe.PREFIX + run, "head")
        shell(probe.EXCHANGE, str(tmp_path), probe.PREFIX + run, "node01", "head")
    parameters = {"run_id": "ours", "smoke_user": "alice", "abandoned": ["killed", "gone"]}
    assert probe.collect_path({"directory": str(tmp_path)}, parameters) == ["node01"]
    assert [entry.name for entry in tmp_path.iterdir()] == [f"{probe.PREFIX}alive"]


def test_a_directory_that_takes_no_token_is_left_as_it_was(tmp_path):
    # As on a full disk: the directory can be made, the file cannot.
    (tmp_path / "smoke").mkdir()
    assert shell(probe.SEED, str(tmp_path), "run", "no/such").returncode == 1
    assert list(tmp_path.rglob("*")) == [tmp_path / "smoke"]


def test_another_file_system_is_noticed(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    shell(probe.SEED, str(tmp_path / "a"), "run", "head")
    other = shell(probe.EXCHANGE, str(tmp_path / "b"), "run", "node01", "head")
    assert other.returncode == 1
    assert "run" in other.stderr


def test_a_full_disk_is_told_and_not_the_directories_that_are_closed_anyway():
    full = "mkdir: cannot create directory '/shared/smoke/x': No space left on device"
    closed = "mkdir: cannot create directory '/shared/x': Permission denied"
    assert probe.worst_error(f"{full}\n{closed}\n") == full
    assert probe.worst_error(f"{closed}\n") == closed


def test_missing_path_says_so(tmp_path):
    missing = shell(probe.SEED, str(tmp_path / "no"), "run", "head")
    assert missing.returncode == 1
    assert "not there" in missing.stdout


@pytest.mark.parametrize("script", ["probe", "jobs", *transport.PARTS["probe"]])
def test_scripts_need_only_an_old_python_and_its_library(script):
    source = (transport.REMOTE / f"{script}.py").read_text()
    tree = ast.parse(source, feature_version=(3, 8))
    imported = {
        (node.module or "").split(".")[0] if isinstance(node, ast.ImportFrom) else node.names[0].name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imported <= sys.stdlib_module_names | {"hpcprov"}


def test_script_travels_inside_its_command():
    parameters = {"round": "collect", "seeded": {}, "credentials": {}, "is_controller": False, "odd": 'it\'s "%s"'}
    command = transport.python_command("probe", parameters, sys.executable)
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout.removeprefix(transport.MARK))
    assert answer["arrived"] == {}
    assert answer["started"] <= answer["finished"]


def test_three_thousand_names_fit_one_argument():
    names = {f"node{number:04}.cluster.internal": f"10.1.{number // 250}.{number % 250}" for number in range(9000)}
    assert len(transport.python_command("probe", {"names": names}, "python3")) < 128 * 1024


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("sh: 4: cannot create host-node02: Read-only file system", "cannot create host-node02: Read-only file system"),
        ("/bin/sh: line 4: host-a: No space left on device", "host-a: No space left on device"),
        ("mkdir: cannot create directory: x", "mkdir: cannot create directory: x"),
    ],
)
def test_errors_of_the_shell_are_told_without_it(said, told):
    assert probe.without_shell(said) == told


class Accounting:
    """Programs of a controller whose slurmdbd has it registered after some answers."""

    def __init__(self, monkeypatch, age, unregistered_for):
        self.asked = 0
        self.age = age
        self.unregistered_for = unregistered_for
        self.now = 1000.0
        monkeypatch.setattr(probe, "command", self.command)
        monkeypatch.setattr(probe.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(probe.time, "sleep", self.sleep)

    def sleep(self, seconds):
        self.now += seconds
        self.age += seconds

    def command(self, *words):
        if words[0] == "systemctl":
            return 0, f"active\n{int((self.now - self.age) * 1e6)}", ""
        self.asked += 1
        host = "|".join(["10.0.0.1", "6817"] if self.asked > self.unregistered_for else ["", "0"])
        return 0, f"lab|{host}\nother||0", ""


@pytest.mark.parametrize(
    ("age", "unregistered_for", "asked", "host"),
    [
        (5, 0, 1, "10.0.0.1"),
        (5, 7, 8, "10.0.0.1"),
        (5, 999, 32, ""),  # a minute would not have helped either
        (3600, 7, 1, ""),
    ],
)
def test_controller_that_just_started_is_given_time_to_register(monkeypatch, age, unregistered_for, asked, host):
    programs = Accounting(monkeypatch, age, unregistered_for)
    assert probe.registered_clusters("lab")["clusters"]["lab"]["host"] == host
    assert programs.asked == asked


def test_controller_that_does_not_run_is_not_waited_for(monkeypatch):
    asked = []

    def command(*words):
        asked.append(words[0])
        return (0, "inactive\n0", "") if words[0] == "systemctl" else (1, "", "Connection refused")

    monkeypatch.setattr(probe, "command", command)
    assert probe.registered_clusters("lab") == {"error": "Connection refused"}
    assert asked == ["sacctmgr", "systemctl"]
