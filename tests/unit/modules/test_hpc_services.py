"""hpc_services: a restart follows the files, and a dead service is told with its journal."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from module_loader import load_module

hpc_services = load_module("hpc_services")


class FakeModule:
    """Stands in for AnsibleModule: answers commands from a table and records them."""

    def __init__(self, answers: dict[str, tuple[int, str, str]], check: bool = False) -> None:
        self.answers = answers
        self.check_mode = check
        self.params = {"running": True}
        self.commands: list[str] = []

    def run_command(self, command: list[str]) -> tuple[int, str, str]:
        line = " ".join(command)
        self.commands.append(line)
        return next((answer for start, answer in self.answers.items() if line.startswith(start)), (0, "", ""))

    def fail_json(self, **result: Any) -> None:
        raise FailedError(result)


class FailedError(Exception):
    """What fail_json was called with."""


def shown(active: str = "active", started: float = 0.0, result: str = "success") -> tuple[int, str, str]:
    """`systemctl show` of a unit that started at this time (seconds since the epoch)."""
    monotonic = int((started - time.time() + time.clock_gettime(time.CLOCK_MONOTONIC)) * 1e6)
    return (
        0,
        (
            f"ActiveState={active}\nResult={result}\nUnitFileState=enabled\nLoadState=loaded\nNeedDaemonReload=no\n"
            f"ActiveEnterTimestampMonotonic={monotonic}\n"
        ),
        "",
    )


def spec(**wanted: Any) -> dict[str, Any]:
    """Arguments of one service with the module's defaults."""
    return {
        "name": "munge", "enabled": True, "state": "started", "watch": [], "reload_watch": [], "reload_command": [],
        "keep": [], "log": None, "after_restart": [], "prove": None, **wanted,
    }  # fmt: skip


def test_a_file_older_than_the_start_restarts_nothing(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("x")
    module = FakeModule({"systemctl show": shown(started=time.time() + 5)})
    services = hpc_services.Services(module)
    services.apply(spec(watch=[str(tmp_path / "key")]))
    assert not any(services.done.values())


def test_a_newer_file_restarts_also_in_a_later_run(tmp_path: Path) -> None:
    """What a handler forgets when a run is interrupted, the file remembers."""
    (tmp_path / "key").write_text("x")
    module = FakeModule({"systemctl show": shown(started=time.time() - 3600)})
    services = hpc_services.Services(module)
    services.apply(spec(watch=[str(tmp_path / "*")]))
    assert services.done["restarted"] == ["munge"]
    assert services.reasons == {"munge": str(tmp_path / "key")}
    assert "systemctl restart munge" in module.commands


def test_check_mode_says_restart_and_does_not(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("x")
    module = FakeModule({"systemctl show": shown(started=time.time() - 3600)}, check=True)
    services = hpc_services.Services(module)
    services.apply(spec(watch=[str(tmp_path / "key")]))
    assert services.done["restarted"] == ["munge"]
    assert not [line for line in module.commands if line.startswith(("systemctl restart", "systemctl reset"))]


def test_a_stopped_service_is_started() -> None:
    module = FakeModule({"systemctl show": shown(active="inactive")})
    services = hpc_services.Services(module)
    with pytest.raises(FailedError):  # the fake stays inactive with success until the limit: ask for none
        services.apply(spec(prove={"command": ["true"], "timeout": 0, "always": True}))
    assert services.done["started"] == ["munge"]


def test_a_service_that_died_is_told_with_its_journal(tmp_path: Path) -> None:
    module = FakeModule(
        {
            "systemctl show": shown(active="failed", result="exit-code"),
            "journalctl": (0, "munged: Error: Keyfile is insecure\n", ""),
        }
    )
    log = tmp_path / "munged.log"
    log.write_text("older\n" * 3000 + "fatal: cannot bind\n")
    with pytest.raises(FailedError) as failed:
        hpc_services.Services(module).apply(spec(log=str(log)))
    told = failed.value.args[0]
    assert told["msg"] == "munge: died after its start (exit-code); fatal: cannot bind"
    assert told["journal"] == ["munged: Error: Keyfile is insecure", *["older"] * 7, "fatal: cannot bind"]


class PickyDaemon(FakeModule):
    """A daemon that dies of a file with `bad` in it, and lives with any other."""

    def __init__(self, file: Path) -> None:
        super().__init__({"journalctl": (0, "slurmctld: fatal: Can't find plugin for proctrack/foo\n", "")})
        self.file = file
        self.started = time.time() - 3600

    def run_command(self, command: list[str]) -> tuple[int, str, str]:
        if "restart" in command:
            self.started = time.time() + 1
        if "show" in command:
            dead = "bad" in self.file.read_text() and self.started > time.time()
            return shown(active="failed" if dead else "active", started=self.started, result="exit-code")
        return super().run_command(command)


def test_files_that_a_daemon_dies_of_are_replaced_by_those_it_lived_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hpc_services, "PROVEN", str(tmp_path / "proven"))
    file = tmp_path / "slurm.conf"
    file.write_text("good")
    file.chmod(0o640)
    wanted = spec(name="slurmctld", watch=[str(file)], keep=[str(file)], prove={"command": ["true"], "timeout": 5,
                                                                                "always": True})  # fmt: skip
    hpc_services.Services(PickyDaemon(file)).apply(wanted)
    assert [path.name.endswith("slurm.conf") for path in (tmp_path / "proven" / "slurmctld").iterdir()] == [True]

    file.write_text("bad")
    module = PickyDaemon(file)
    with pytest.raises(FailedError) as failed:
        hpc_services.Services(module).apply(wanted)
    told = failed.value.args[0]
    assert file.read_text() == "good"
    assert file.stat().st_mode & 0o777 == 0o640
    assert told["put_back"] == [str(file)]
    assert told["msg"] == (
        "slurmctld: died after its start (exit-code); fatal: Can't find plugin for proctrack/foo. "
        f"The last {file} that worked is back in place, and slurmctld runs with it"
    )
    assert module.commands.count("systemctl restart slurmctld") == 2


def test_nothing_is_put_back_before_a_service_ever_proved_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hpc_services, "PROVEN", str(tmp_path / "proven"))
    file = tmp_path / "slurm.conf"
    file.write_text("bad")
    with pytest.raises(FailedError) as failed:
        hpc_services.Services(PickyDaemon(file)).apply(spec(watch=[str(file)], keep=[str(file)], prove=None))
    assert failed.value.args[0]["put_back"] == []
    assert file.read_text() == "bad"


def test_a_unit_without_its_package_is_named() -> None:
    module = FakeModule({"systemctl show": (0, "LoadState=not-found\nActiveState=inactive\n", "")})
    with pytest.raises(FailedError) as failed:
        hpc_services.Services(module).apply(spec())
    assert "there is no unit munge" in failed.value.args[0]["msg"]


def test_a_service_that_does_not_answer_is_told_why() -> None:
    module = FakeModule(
        {"systemctl show": shown(started=time.time()), "munge -n": (1, "", "munge: Error: Socket is missing\n")}
    )
    with pytest.raises(FailedError) as failed:
        hpc_services.Services(module).apply(spec(prove={"command": ["munge", "-n"], "timeout": 0, "always": True}))
    assert "does not answer after 0 s: munge -n: munge: Error: Socket is missing" in failed.value.args[0]["msg"]


def test_a_disabled_service_is_enabled() -> None:
    answer = shown(started=time.time())[1].replace("UnitFileState=enabled", "UnitFileState=disabled")
    module = FakeModule({"systemctl show": (0, answer, "")})
    services = hpc_services.Services(module)
    services.apply(spec())
    assert services.done["enabled"] == ["munge"]
    assert "systemctl enable munge" in module.commands


def test_an_image_is_only_enabled() -> None:
    module = FakeModule({"systemctl is-enabled": (1, "disabled\n", "")})
    module.params["running"] = False
    services = hpc_services.Services(module)
    services.apply(spec())
    assert module.commands == ["systemctl is-enabled munge", "systemctl enable munge"]


def test_newest_takes_globs_and_ignores_what_is_not_there(tmp_path: Path) -> None:
    old, new = tmp_path / "a.conf", tmp_path / "b.conf"
    old.write_text("")
    time.sleep(0.02)
    new.write_text("")
    path, changed = hpc_services.newest([str(tmp_path / "*.conf"), str(tmp_path / "missing")])
    assert path == str(new)
    assert changed == new.stat().st_ctime
