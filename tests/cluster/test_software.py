"""Do modules load, and do the frameworks import?"""

import pytest
from hpcprov.verify import causes, expect
from hpcprov.verify.checks import fail, require


@pytest.mark.groups("login", "compute")
def test_modules(part, repair):
    """Environment modules work in a login shell of the smoke user."""
    answer = part("modules")
    require(
        answer["error"] is None,
        expected="the command module",
        found=answer["error"],
        cause="Lmod is not installed, or /etc/profile.d is not read",
        fix=repair("mpi"),
    )


@pytest.mark.groups("compute")
def test_frameworks(probe, cluster, repair):
    """Training frameworks load as a module and import."""
    wanted = expect.frameworks(probe.host)
    if not wanted:
        pytest.skip("the site has no framework (dl_frameworks)")
    for name, (module, package) in wanted.items():
        answer = probe.get(f"import {name}")
        if answer["error"]:
            fail(
                expected=f"module load {module} and import {package}",
                found=answer["error"],
                follows=causes.of_storage(cluster, probe.host.name),
                cause="the environment on the share is broken",
                fix=repair("frameworks"),
            )
