"""A site that was imported, once it is filled in, makes a slurm.conf that slurmctld runs with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hpcprov.importers.run import import_files
from hpcprov.paths import project_root
from hpcprov.site import load_site
from hpcprov.slurm.lint import lint
from hpcprov.slurm.site import from_site
from slurm_oracle import Oracle, complaints

pytestmark = pytest.mark.oracle

CASES = project_root() / "tests" / "unit" / "importers" / "cases"
FILLED_IN = """\
  vars:
    nfs_backend: external
    nfs_mounts: [{path: /home}]
"""


@dataclass(frozen=True)
class Case:
    """Files of an import case, and what only the admin knows: the network, and lines to replace."""

    folder: str
    files: tuple[str, ...]
    network: str | None = None
    replaced: Mapping[str, str] = field(default_factory=dict)


SITES = (
    Case("elcap", ("slurm.conf",), "10.1.0.0/16", {"    db1:\n": "    db1: {ansible_host: 10.1.0.3}\n"}),
    Case("deepops", ("inventory", "hosts"), "10.0.0.0/16"),
    Case("bluebanquise", ("nodes.yml",)),
    Case("hosts", ("hosts",), "10.1.0.0/16"),
)


@pytest.mark.parametrize("case", SITES, ids=lambda case: case.folder)
def test_imported_site_runs(oracle: Oracle, tmp_path: Path, case: Case) -> None:
    path = tmp_path / "site.yaml"
    text = import_files([CASES / case.folder / name for name in case.files], path).text
    filled = FILLED_IN + (f"    cluster_network: {case.network}\n" if case.network else "")
    if "cluster_name" not in text:
        filled += f"    cluster_name: {case.folder}\n"
    for old, new in ({"  vars:\n": filled} | dict(case.replaced)).items():
        text = text.replace(old, new, 1)
    path.write_text(text)
    site = load_site(path)
    line = "NodeName=x CPUs=32 Boards=1 SocketsPerBoard=2 CoresPerSocket=8 ThreadsPerCore=2 RealMemory=300000"
    gpus = [{"file": f"/dev/nvidia{number}", "type": "a100"} for number in range(8)]
    facts = {
        host.name: {"slurmd_c": line, "slurm_version": "22.05.8", "gpus": gpus if host.name.startswith("g") else []}
        for host in site.group("compute")
    }
    log = oracle.judge(from_site(site, facts), tmp_path)
    assert "Running as primary controller" in log, log
    assert complaints(log) == []
    # The two ways of judging agree on what hpcprov itself writes.
    ours = [
        str(finding)
        for finding in lint([tmp_path / "slurm.conf"], release="22.05")
        # The oracle's state lies in /tmp.
        if finding.level == "error" and finding.rule != "state-directory"
    ]
    assert ours == []
