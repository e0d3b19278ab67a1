"""slurm.conf with the files that belong to it."""

from __future__ import annotations

import re
from pathlib import Path

from hpcprov.importers.draft import Draft
from hpcprov.importers.format import Format
from hpcprov.importers.slurm_accounting import read_accounting
from hpcprov.importers.slurm_controllers import read_controllers
from hpcprov.importers.slurm_nodes import read_nodes
from hpcprov.importers.slurm_options import read_options
from hpcprov.importers.slurm_partitions import read_partitions
from hpcprov.importers.slurm_parts import read_cgroup, read_gres, read_topology
from hpcprov.site.findings import Place
from hpcprov.slurm.lint.configuration import Configuration
from hpcprov.slurm.lint.load import load

_SIGN = re.compile(r"^\s*(?:clustername|controlmachine|slurmctldhost|partitionname)\s*=", re.IGNORECASE | re.MULTILINE)


def recognises(path: Path, text: str) -> bool:
    return path.name == "slurm.conf" or bool(_SIGN.search(text))


def read_into(draft: Draft, path: Path, text: str) -> None:
    """Read slurm.conf, what it includes, and gres.conf, cgroup.conf, topology.conf and slurmdbd.conf beside it."""
    accounting = path.parent / "slurmdbd.conf"
    loaded = load([path], "slurm.conf")
    if accounting.is_file():
        with_accounting = load([accounting], "slurmdbd.conf")
        loaded.findings += with_accounting.findings
        loaded.configurations += with_accounting.configurations
    for finding in loaded.findings:
        draft.notes.left(Place(finding.file, finding.line), "file", finding.file, finding.message, finding.hint)
    for configuration in loaded.configurations:
        read_configuration(draft, configuration)


def read_configuration(draft: Draft, configuration: Configuration) -> None:
    """Everything that the files of one folder say."""
    for lines in configuration.files.values():
        for line in lines:
            if line.include is not None:
                draft.notes.mapped(line.place, "include", line.include, "its lines stand in the place of this one")
            if line.rest:
                hint = "correct the line (hpcprov slurm lint says how), then import again"
                draft.notes.left(line.rest_place or line.place, line.rest, None, "Slurm cannot read it", hint)
    read_controllers(draft, configuration)
    read_nodes(draft, configuration)
    read_partitions(draft, configuration)
    read_options(draft, configuration)
    read_gres(draft, configuration)
    read_cgroup(draft, configuration)
    read_topology(draft, configuration)
    read_accounting(draft, configuration)


FORMAT = Format("slurm-conf", recognises, read_into, defines=True)
