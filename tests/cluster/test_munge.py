"""Does everyone trust everyone's credentials?"""

import pytest
from hpcprov.verify import causes, expect
from hpcprov.verify.checks import fail, require

pytestmark = pytest.mark.groups(*expect.MUNGE_GROUPS)

OTHER_KEY = "the munge keys differ, or munged was not restarted after the key changed"
OTHER_TIME = "the clocks differ"
SILENT = "munged does not run"
CAUSES = {"Invalid credential": OTHER_KEY, "Expired credential": OTHER_TIME, "Rewound credential": OTHER_TIME}


def test_key_private(probe, part):
    """Munge key is private: 0400 and owned by munge."""
    key = part("munge_key")
    restart = expect.restart(probe.host, "munge")
    found = causes.bad_key(probe)
    require(
        found is None,
        expected="munge:munge 0400",
        found=found,
        cause="munged refuses to start with such a key",
        fix=f"on {probe.host.name}: chown munge:munge {key['path']} && chmod 0400 {key['path']} && {restart}",
    )
    directory = key["directory"]
    require(
        directory["owner"] == "munge" and int(directory["mode"], 8) & 0o027 == 0,
        expected="directory of the key closed to others, owned by munge",
        found=f"{directory['owner']} {directory['mode']} on {directory['path']}",
        fix=f"on {probe.host.name}: chown munge:munge {directory['path']} && chmod 0700 {directory['path']}",
    )


def test_same_key(probe, part, cluster, repair):
    """Munge key is the same on all hosts."""
    mine = part("munge_key")
    reference = cluster.reference("munge_key")
    require(
        mine["digest"] == reference.get("munge_key").get("digest"),
        expected=f"the key of {reference.host.name}",
        found="another key",
        cause="the key was made on the host, or rotated without it",
        fix=repair("base", "scheduler"),
    )


def _require_decoded(answer, maker, reader, cluster, repair):
    asked = cluster.site.hosts[reader]
    if answer is None:
        pytest.skip(f"{maker} made no credential")
    cause = next((cause for status, cause in CAUSES.items() if status in answer["status"]), SILENT)
    fixes = {OTHER_KEY: repair("base", "scheduler"), OTHER_TIME: f"on {reader}: chronyc makestep"}
    require(
        answer["ok"],
        expected=f"{reader} accepts a credential made on {maker}",
        found=answer["status"],
        follows=causes.of_munge(cluster, reader) or causes.of_munge(cluster, maker),
        cause=cause,
        fix=fixes.get(cause) or f"on {reader}: {expect.restart(asked, 'munge')}",
    )


def test_from_controller(probe, part, cluster, repair):
    """Munge credential of the controller is accepted here."""
    _require_decoded(part("decoded"), cluster.controller, probe.host.name, cluster, repair)


def test_to_controller(probe, cluster, repair):
    """Munge credential made here is accepted on the controller."""
    collected = cluster.collected.get(cluster.controller)
    if collected is None or collected.error:
        pytest.skip("the controller does not answer")
    made = probe.get("munge")
    if "error" in made:
        fail(
            expected="munge makes a credential",
            found=made["error"],
            follows=causes.of_munge(cluster, probe.host.name),
            cause=SILENT,
            fix=f"on {probe.host.name}: {expect.restart(probe.host, 'munge')}",
        )
    answer = collected.get("decoded").get(probe.host.name)
    _require_decoded(answer, probe.host.name, cluster.controller, cluster, repair)


def test_among_hosts(probe, cluster, repair):
    """Munge credentials of the other hosts are accepted here (of eight neighbours on a large site)."""
    collected = cluster.collected.get(probe.host.name)
    if probe.host.name == cluster.controller:
        return  # it reads those of all hosts, see above
    if collected is None or collected.error or not collected.get("decoded"):
        pytest.skip("no other host made a credential")
    for maker, answer in collected.get("decoded").items():
        _require_decoded(answer, maker, probe.host.name, cluster, repair)
