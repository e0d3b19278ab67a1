"""containers.conf and the runtime follow the host."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hpcprov.errors import LabError
from hpcprov.lab.host import NO_LIMIT, CgroupLayout, HostFacts, cgroup_layout, raise_inotify_limit
from hpcprov.lab.podman import Podman, containers_conf, default_ulimits, runtimes, write_atomically

Facts = Callable[..., HostFacts]


def test_usual_host_keeps_podmans_limits_and_systemd(facts: Facts) -> None:
    conf = tomllib.loads(containers_conf(facts(), "crun"))
    assert conf["engine"] == {"cgroup_manager": "systemd", "events_logger": "file", "runtime": "crun"}
    assert "default_ulimits" not in conf["containers"]


def test_host_without_init_and_rights_gets_what_it_can_grant(facts: Facts) -> None:
    host = facts(systemd=False, cap_sys_resource=False, limit_nofile=20000, limit_nproc=96364, pid_max=32768)
    conf = tomllib.loads(containers_conf(host, "runc"))
    assert conf["engine"]["cgroup_manager"] == "cgroupfs"
    assert conf["containers"]["default_ulimits"] == ["nofile=20000:20000", "nproc=32768:32768"]


def test_unlimited_is_not_passed_on_as_a_number(facts: Facts) -> None:
    host = facts(cap_sys_resource=False, limit_nofile=NO_LIMIT, limit_nproc=NO_LIMIT, pid_max=4194304)
    assert default_ulimits(host) == ["nofile=1048576:1048576", "nproc=4194304:4194304"]


def test_crun_is_preferred_but_not_in_a_hybrid_layout(facts: Facts) -> None:
    assert runtimes(facts()) == ["crun", "runc"]
    assert runtimes(facts(cgroups=CgroupLayout.HYBRID)) == ["runc"]
    assert runtimes(facts(cgroups=CgroupLayout.HYBRID, without=("runc",))) == []


def test_cgroup_layouts(tmp_path: Path) -> None:
    assert cgroup_layout(tmp_path) is CgroupLayout.NONE
    (tmp_path / "memory").mkdir()
    assert cgroup_layout(tmp_path) is CgroupLayout.V1
    (tmp_path / "unified").mkdir()
    (tmp_path / "unified" / "cgroup.controllers").write_text("hugetlb\n")
    assert cgroup_layout(tmp_path) is CgroupLayout.HYBRID
    (tmp_path / "cgroup.controllers").write_text("cpu memory\n")
    assert cgroup_layout(tmp_path) is CgroupLayout.V2


def test_a_file_is_replaced_whole_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    write_atomically(path, "one\n", 0o600)
    write_atomically(path, "two\n", 0o600)
    assert path.read_text() == "two\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_the_inotify_limit_is_only_raised(tmp_path: Path) -> None:
    limit = tmp_path / "max_user_instances"
    limit.write_text("128\n")
    assert raise_inotify_limit(limit) == "Raised fs.inotify.max_user_instances from 128 to 1024 until the next reboot"
    assert raise_inotify_limit(limit) is None
    limit.write_text("8192\n")
    assert raise_inotify_limit(limit) is None
    assert limit.read_text() == "8192\n"


class Reluctant:
    """A podman whose `rm` fails a number of times, as podman 4.3 does for containers that were killed."""

    def __init__(self, folder: Path, failures: int) -> None:
        self.calls = folder / "calls"
        there = folder / "there"
        there.touch()
        program = folder / "podman"
        program.write_text(
            f"""#!/bin/sh
echo "$*" >> {self.calls}
case "$1 $2" in
"container exists") [ "$3" = stuck ] && [ -e {there} ];;
*) [ "$(grep -c '^rm' {self.calls})" -gt {failures} ] && exec rm {there}
   echo "container state improper: stopped" >&2; exit 125;;
esac
"""
        )
        program.chmod(0o755)
        self.podman = Podman(str(program), folder / "conf")


def test_a_container_that_podman_first_fails_to_remove_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hpcprov.lab.podman.REMOVE_PAUSE", 0)
    reluctant = Reluctant(tmp_path, failures=1)
    reluctant.podman.remove_containers("gone", "stuck")
    removals = [line for line in reluctant.calls.read_text().splitlines() if line.startswith("rm")]
    assert removals == ["rm --force --time=0 --volumes gone stuck", "rm --force --time=0 --volumes stuck"]


def test_a_container_that_stays_is_named_with_podmans_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hpcprov.lab.podman.REMOVE_PAUSE", 0)
    with pytest.raises(LabError, match="stuck stays") as raised:
        Reluctant(tmp_path, failures=99).podman.remove_containers("gone", "stuck")
    assert raised.value.why == "container state improper: stopped"
