"""gres.conf, cgroup.conf and topology.conf."""

from __future__ import annotations

from typing import Any

from hpcprov.importers.draft import Draft, Value
from hpcprov.importers.slurm_options import plain_value
from hpcprov.slurm.gres import parse_gres
from hpcprov.slurm.hostlist import HostlistError, expand
from hpcprov.slurm.keys import table
from hpcprov.slurm.lint.configuration import Configuration
from hpcprov.slurm.obsolete import gone, outdated
from hpcprov.slurm.read import Line
from hpcprov.slurm.values import kind_problem

_GRES = {
    "autodetect": "each node is asked; NVML is used where Slurm has the plugin",
    "name": "slurm_gres of the nodes",
    "nodename": "slurm_gres of the nodes",
    "type": "slurm_gres of the nodes",
    "count": "slurm_gres of the nodes",
    "file": "each node says its device files",
    "files": "each node says its device files",
    "multiplefiles": "each node says its device files",
}
_CGROUP_OURS = {
    **dict.fromkeys(("ConstrainCores", "ConstrainRAMSpace", "ConstrainDevices"), True),
    "ConstrainSwapSpace": False,
}
_CGROUP_BY_NODE = ("CgroupPlugin", "CgroupMountpoint")


def read_gres(draft: Draft, configuration: Configuration) -> None:
    """Devices are found on the nodes; other resources keep their files in slurm_gres."""
    for line in configuration.lines("gres.conf"):
        kind = line.get("Name")
        others = kind is not None and kind.value != "gpu" and line.get("File", "Files") is not None
        carried = others and _carry_files(draft, configuration, line)
        for setting in line.settings:
            result = _GRES.get(setting.key.lower())
            if carried and setting.key.lower() in ("file", "files", "flags"):
                draft.notes.mapped(setting.place, setting.key, setting.value, "slurm_gres: file and flags")
            elif result and not (others and setting.key.lower() in ("file", "files")):
                draft.notes.mapped(setting.place, setting.key, setting.value, result)
            elif table("gres.conf NodeName").find(setting.key) is None:
                draft.notes.left(setting.place, setting.key, setting.value, "gres.conf has no such option")
            else:
                hint = "where Slurm has the NVML plugin it is found by itself"
                draft.notes.left(setting.place, setting.key, setting.value, "slurm_gres cannot say it", hint)


def _carry_files(draft: Draft, configuration: Configuration, line: Line) -> bool:
    """Put the files of a resource that is no GPU into slurm_gres of its nodes."""
    kind, file, nodes, flags = line.get("Name"), line.get("File", "Files"), line.get("NodeName"), line.get("Flags")
    type_ = line.get("Type")
    if kind is None or file is None:
        return False
    try:
        names = expand(nodes.value) if nodes else sorted(configuration.node_names)
    except HostlistError:
        return False
    carried = False
    for name in names:
        host = draft.hosts.get(name.lower())
        held = host.variables.get("slurm_gres") if host else None
        if host is None or held is None:
            continue
        items = held.value if isinstance(held.value, list) else [held.value]
        new: list[Any] = []
        for item in items:
            gres = parse_gres(item)
            if gres.name == kind.value and not gres.files and gres.type in (None, type_.value if type_ else None):
                entry = {"name": gres.name, "type": gres.type, "count": int(gres.count), "file": file.value}
                entry["flags"] = flags.value if flags else None
                new.append({key: value for key, value in entry.items() if value is not None})
                carried = True
            else:
                new.append(item)
        host.variables["slurm_gres"] = Value(new if len(new) > 1 else new[0], held.place)
    return carried


def read_cgroup(draft: Draft, configuration: Configuration) -> None:
    """slurm_cgroup_config, without what went (CGR-04) and what each node decides."""
    known = table("cgroup.conf")
    for line in configuration.lines("cgroup.conf"):
        for extra in line.settings[1:]:
            draft.notes.left(extra.place, extra.key, extra.value, "Slurm reads one setting a line")
        if not line.settings:
            continue
        setting = line.settings[0]
        key = known.find(setting.key)
        tell = (setting.place, setting.key, setting.value)
        if key is None:
            instead = gone("cgroup.conf", setting.key)
            if instead:
                draft.notes.changed(*tell, f"dropped; today: {instead}")
            else:
                draft.notes.left(*tell, "cgroup.conf has no such option", known.suggestion(setting.key) or None)
            continue
        problem = kind_problem(key.type, setting.value)
        old = outdated("cgroup.conf", key.name)
        if problem:
            draft.notes.left(*tell, problem)
        elif old or key.last or key.defunct_since:
            draft.notes.changed(*tell, f"dropped; today: {old}" if old else "dropped: Slurm took it away")
        elif key.name in _CGROUP_BY_NODE:
            draft.notes.changed(*tell, "not written: Slurm finds out what the node has")
        elif _CGROUP_OURS.get(key.name) is plain_value(key, setting.value):
            draft.notes.mapped(*tell, "hpcprov's own value")
        elif draft.setting("slurm_cgroup_config", key.name, plain_value(key, setting.value), setting.place):
            draft.notes.mapped(*tell, f"slurm_cgroup_config: {key.name}")
        else:
            draft.notes.changed(*tell, "dropped: another line says it too")


def read_topology(draft: Draft, configuration: Configuration) -> None:
    """The site file has no topology yet."""
    hint = "keep the file; hpcprov writes no topology.conf, and a TopologyPlugin without it stops slurmctld"
    for line in configuration.lines("topology.conf"):
        for setting in line.settings:
            draft.notes.left(setting.place, setting.key, setting.value, "the site file has no topology", hint)
    if "topology.yaml" in configuration.documents:
        place = configuration.place("topology.yaml")
        draft.notes.left(place, "topology.yaml", None, "the site file has no topology", hint)
