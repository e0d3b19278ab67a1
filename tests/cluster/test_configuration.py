"""Does every host read the same configuration, and can nobody else change it?"""

import pytest
from hpcprov.verify import causes, expect
from hpcprov.verify.checks import fail, require


@pytest.mark.groups("controller", "login", "compute")
def test_no_stale_copy(probe, part, cluster):
    """No stale local slurm.conf, and no SLURM_CONF, stands before the controller's configuration."""
    found = part("configuration")
    directory = expect.conf_dir(probe.host)
    for place, path in found["variable"].items():
        require(
            path == f"{directory}/slurm.conf",
            expected="SLURM_CONF is not set",
            found=f"{place} sets SLURM_CONF={path}",
            cause="left over from another installation; Slurm's programs read that file and ask nobody else",
            fix=f"on {probe.host.name}: sed -i '/SLURM_CONF=/d' {place}; systemctl restart slurmd"
            if place.startswith("/")
            else f"on {probe.host.name}: grep -rl SLURM_CONF= /etc/profile.d /etc/environment /etc/systemd/system",
        )
    if probe.host.name == cluster.controller:
        return
    for name, mine in found["local"].items():
        if mine is None or not cluster.files:
            continue
        where = f"{directory}/{name}"
        controller = found["local_controller"]
        differs = mine != cluster.files.get(name)
        only_node = not probe.host.is_in("login", "controller")
        require(
            not differs and not only_node,
            expected=f"no {where}, the controller sends it" if only_node else f"{where} as on {cluster.controller}",
            found=f"a stale local {where}"
            + (" that differs from the controller's" if differs else "")
            + (f", SlurmctldHost={controller}" if name == "slurm.conf" and controller else ""),
            cause="a copy by hand or by another tool; Slurm's programs prefer it to what the controller sends",
            fix=f"on {probe.host.name}: rm {where} && systemctl restart slurmd"
            if only_node
            else f"on {probe.host.name}: cp {where} {where}.old; hpcprov deploy {cluster.site.path} --from scheduler "
            "--to scheduler",
        )


@pytest.mark.groups("controller")
def test_controller_read_its_files(probe, part, cluster):
    """slurmctld runs with the slurm.conf that lies on its disk."""
    answer = part("scontrol")
    if "HASH_VAL" not in answer:
        pytest.skip("this Slurm does not tell a configuration's hash")
    require(
        answer["HASH_VAL"].startswith("Match"),
        expected="the hash of slurm.conf that slurmctld loaded",
        found=answer["HASH_VAL"],
        cause="slurm.conf was changed and slurmctld was not told",
        fix=f"on {cluster.controller}: scontrol reconfigure",
    )


@pytest.mark.groups("compute")
def test_same_configuration(probe, part, cluster):
    """slurmd has the controller's slurm.conf, gres.conf and cgroup.conf."""
    cached = part("configuration")["cached"]
    if probe.host.is_in("controller"):
        pytest.skip("it reads the controller's files themselves")
    spool = expect.spool(cluster.config, probe.host)
    if not cluster.files:
        pytest.skip("the controller does not answer")
    require(
        cached is not None,
        expected=f"slurmd keeps a copy of what {cluster.controller} sent",
        found=f"no conf-cache in {spool}",
        cause="slurmd was started without --conf-server, so it reads files of its own",
        fix=f"on {probe.host.name}: systemctl cat slurmd; hpcprov deploy {cluster.site.path} --from scheduler "
        f"--to scheduler --limit {probe.host.name}",
        follows=causes.of_node(cluster, probe.host.name),
    )
    differ = [name for name, theirs in cluster.files.items() if theirs and cached.get(name) != theirs]
    require(
        not differ,
        expected=f"what {cluster.controller} has",
        found=f"another {', '.join(differ)} in {spool}/conf-cache",
        cause="the files changed and slurmctld was not told to send them, or slurmd did not answer when it did",
        fix=f"on {cluster.controller}: scontrol reconfigure; or on {probe.host.name}: systemctl restart slurmd",
        follows=causes.of_node(cluster, probe.host.name) or causes.unread(cluster),
    )


@pytest.mark.groups("controller", "login", "compute")
def test_files_protected(probe, part):
    """slurm.conf holds no password, and only root or slurm can change it."""
    found = part("configuration")
    require(
        not found["password"],
        expected="passwords only in slurmdbd.conf, which only slurmdbd reads",
        found=f"a password in {', '.join(found['password'])}, which everybody reads",
        cause="StoragePass or AccountingStoragePass was put into the wrong file",
        fix=f"on {probe.host.name}: remove the line and change that password",
    )
    owners = ("root", str(probe.host.vars.get("slurm_user", "slurm")))
    for facts in (found["directory"], found["slurm.conf"]):
        if facts:
            require(
                facts["owner"] in owners and int(facts["mode"], 8) & 0o022 == 0 and not facts["open"],
                expected=f"{facts['path']} owned by {' or '.join(owners)}, nobody else writes there or above",
                found=f"{facts['owner']}:{facts['group']} {facts['mode']}"
                + (f", anybody may write to {', '.join(facts['open'])}" if facts["open"] else ""),
                cause="whoever can change slurm.conf runs programs as root on every node",
                fix=f"on {probe.host.name}: chown root {facts['path']} && chmod go-w {facts['path']}",
            )


@pytest.mark.groups("controller", "database", "compute")
def test_state_directories(probe, part, config, repair):
    """Slurm's state and secrets can be written by their owner only."""
    paths = part("paths")
    for purpose, path in expect.slurm_paths(config, probe.host).items():
        facts = paths.get(path)
        if facts is None:
            fail(expected=f"{purpose} {path}", found="it is missing", fix=repair("accounting"))
        owner = "root" if purpose == "SlurmdSpoolDir" else str(probe.host.vars.get("slurm_user", "slurm"))
        forbidden = 0o077 if purpose == "slurmdbd.conf" else 0o022
        mode = "go-rwx" if purpose == "slurmdbd.conf" else "go-w"
        require(
            facts["owner"] == owner and int(facts["mode"], 8) & forbidden == 0 and not facts["open"],
            expected=f"{purpose} {path} owned by {owner}, closed to others",
            found=f"{facts['owner']}:{facts['group']} {facts['mode']}"
            + (f", anybody may write to {', '.join(facts['open'])}" if facts["open"] else ""),
            cause="anyone who writes there can run jobs as others, or read the database password",
            fix=f"on {probe.host.name}: chown {owner} {path} && chmod {mode} {path}"
            + "".join(f" && chmod o-w {parent}" for parent in facts["open"] if parent != path),
        )


@pytest.mark.groups("controller")
def test_return_to_service(probe, config, repair):
    """Nodes come back by themselves as the site wants it (ReturnToService)."""
    given = probe.host.vars.get("slurm_config") or {}
    wanted = str(next((value for key, value in given.items() if key.lower() == "returntoservice"), 2))
    require(
        config.get("ReturnToService") == wanted,
        expected=f"ReturnToService={wanted}",
        found=str(config.get("ReturnToService")),
        cause="slurm.conf was changed by hand, or slurmctld was not told of a change",
        fix=repair("scheduler"),
    )
