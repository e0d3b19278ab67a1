"""Is shared storage the same everywhere, and can a user write to it?"""

import pytest
from hpcprov.verify import expect
from hpcprov.verify.checks import fail, require


def _paths(probe, cluster):
    paths = expect.writable_paths(cluster.site, probe.host)
    if not paths:
        pytest.skip("the site shares no path with it that could be written to")
    return paths


def _where(facts):
    return f"it lies on {facts['type'] or 'the root disk'} mounted at {facts['mounted_at']}"


def _error_of_seed(cluster, path):
    """Why the seeding host could not leave its token, None when it could."""
    seed = cluster.seeds[cluster.seed_of[path]]
    if seed.error:
        return "the host does not answer"
    entry = seed.get("shared")[path]
    return None if entry["directory"] else f"{entry['error']} ({_where(entry)})"


@pytest.mark.groups("storage")
def test_served(probe, part, cluster):
    """NFS server runs and starts at boot where paths are exported."""
    served, backend = expect.shares(cluster.site, probe.host).exports, probe.host.vars.get("nfs_backend", "auto")
    if not served:
        pytest.skip("it exports nothing")
    if backend == "external" or (backend == "auto" and not part("nfsd")):
        pytest.skip("the path is provided from outside: this kernel has no NFS server")
    unit = "nfs-ganesha" if backend == "ganesha" else "nfs-server"
    state = part("services")[unit]
    require(
        state["active"] == "active" and state.get("enabled") in ("enabled", "alias"),
        expected=f"{unit} active and enabled",
        found=f"{state['active']} and {state.get('enabled') or 'not installed'}",
        fix=f"on {probe.host.name}: systemctl enable --now {unit}",
    )


@pytest.mark.groups("controller", "database", "login", "compute", "storage")
def test_mounted_at_boot(probe, part, repair):
    """Shared paths are mounted again after a reboot."""
    answers = {path: facts for path, facts in part("boot_mounts").items() if _is_nfs(facts["now"])}
    if not answers:
        pytest.skip("it mounts no path over NFS")
    for path, facts in answers.items():
        require(
            facts["at_boot"],
            expected=f"a line for {path} in /etc/fstab, an enabled mount unit, or an automount",
            found=f"{path} is mounted from {facts['now']['source']}, and nothing would mount it at boot",
            cause="it was mounted by hand",
            fix=repair("storage"),
        )


def _is_nfs(mount):
    return bool(mount) and mount["type"].startswith("nfs")


def test_writable(probe, part, cluster, repair):
    """Smoke user writes to the shared paths, and reads there what another host wrote."""
    answers = part("shared")
    checked = 0
    for path in _paths(probe, cluster):
        error = _error_of_seed(cluster, path)
        if error and cluster.seed_of[path] != probe.host.name:
            continue  # told once, by the host that seeds
        if not error:
            facts = answers[path]
            error = facts["error"] and f"{facts['error']} ({_where(facts)})"
        checked += 1
        if error:
            fail(
                expected=f"{cluster.smoke_user} writes and reads on {path}",
                found=error,
                cause=_cause(error, _facts(cluster, probe, path), path),
                fix=_fix(error, _facts(cluster, probe, path), path, probe, repair),
            )
    if not checked:
        pytest.skip("the host that serves the path cannot write to it")


def _facts(cluster, probe, path):
    """The mount under the path as this host sees it."""
    answer = (probe.get("shared") or {}).get(path)
    return answer or cluster.seeds[cluster.seed_of[path]].get("shared")[path]


def _cause(error, facts, path):
    """Read-only, full, hung and not mounted each have their own words."""
    causes = {
        "Read-only": f"{path} is mounted read-only" if facts["mounted_at"] != "/" else "the root disk is read-only",
        "No space": "the file system is full",
        "Disk quota": "the user's quota is used up",
        "Stale": "the server's export was made anew while it was mounted (stale file handle)",
        "no answer": "the mount hangs: its server does not answer",
    }
    told = next((cause for word, cause in causes.items() if word in error), None)
    if told:
        return told
    if facts["mounted_at"] == "/" and path != "/":
        return f"{path} is not mounted here"
    return "no directory there may be written by the user" if "Permission" in error else f"{path} is not mounted here"


def _fix(error, facts, path, probe, repair):
    on = f"on {probe.host.name}: "
    if "No space" in error:
        return f"{on}df -h {path}; du -xsh {path}/* | sort -h | tail"
    if "Read-only" in error and facts["mounted_at"] != "/":
        return f"{on}mount -o remount,rw {facts['mounted_at']}; or {repair('storage')}"
    if "Stale" in error:
        return f"{on}umount -l {path} && mount {path}"
    if facts["mounted_at"] == "/" or "no answer" in error:
        return f"{on}mount {path}; or {repair('storage')}"
    return f"{on}findmnt -T {path}; df -h {path}; ls -ld {path}/*"


def test_same_everywhere(probe, part, cluster):
    """What is written here on shared paths arrives where they are served."""
    answers = part("shared")
    checked = 0
    for path in _paths(probe, cluster):
        seeder = cluster.collected.get(cluster.seed_of.get(path, ""))
        if path not in answers or answers[path]["error"] or seeder is None or seeder.error:
            continue
        checked += 1
        require(
            probe.host.name in seeder.get("arrived")[path],
            expected=f"{seeder.host.name} reads what {probe.host.name} wrote on {path}",
            found="the file is not there",
            cause=f"another file system under the same path; {_where(answers[path])}",
            fix=f"on {probe.host.name}: findmnt -T {path} and the same on {seeder.host.name}",
        )
    if not checked:
        pytest.skip("nothing was written")
