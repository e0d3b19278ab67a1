"""Values of Slurm settings and partitions that its daemons do not survive."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from hpcprov.errors import Finding
from hpcprov.site.findings import did_you_mean
from hpcprov.site.model import Host
from hpcprov.site.rules.partitions import OURS, entries
from hpcprov.site.rules.registry import Draft, rule
from hpcprov.site.templating import holds_template
from hpcprov.slurm import limits
from hpcprov.slurm.keys import Key, table
from hpcprov.slurm.values import kind_problem, text

_FILES = {"slurm_config": "slurm.conf", "slurm_dbd_config": "slurmdbd.conf"}
# What ends up in a line of Slurm's configuration.
_LINES = (*_FILES, "slurm_cgroup_config", "slurm_partitions", "slurm_node", "slurm_features", "slurm_gres")


def _once(draft: Draft, *variables: str) -> Iterator[tuple[Host, str, Any]]:
    """Each value once, however many hosts read it."""
    seen: set[tuple[str, int]] = set()
    for host in draft.site.cluster_hosts:
        for variable in variables:
            value = host.vars.get(variable)
            if value is not None and (variable, id(value)) not in seen:
                seen.add((variable, id(value)))
                yield host, variable, value


@rule("slurm-limit")
def settings(draft: Draft) -> Iterator[Finding]:
    """Slurm reads the value, and its daemon then ends with it."""
    for host, variable, value in _once(draft, *_FILES):
        for name, item in value.items() if isinstance(value, Mapping) else ():
            key = table(_FILES[variable]).find_loose(str(name))
            if key is None or item is None or isinstance(item, Mapping) or holds_template(item) or list(_breaks(item)):
                continue
            # slurmdbd.conf is closed to users, so it may hold a secret.
            secret = variable != "slurm_config" and key.name in limits.SECRETS
            problem = None if secret else limits.setting_problem(key.name, item)
            if problem:
                hint = did_you_mean(str(item), limits.CLOSED.get(key.name, ()))
                place = draft.place_of(host, variable, name)
                yield place.finding("slurm-limit", f"{name}: {problem}", hint=hint)
    for host, variable, value in _once(draft, "slurm_weight"):
        problem = kind_problem("uint32", text(value)) if isinstance(value, int) else None
        if problem:
            yield draft.place_of(host, variable).finding("slurm-limit", f"{variable}: {problem}")
    for host, variable, value in _once(draft, "slurm_config"):
        yield from _together(draft, host, variable, value)
    for host, variable, value in _once(draft, *limits.PORTS, *limits.PATHS):
        # The rule for variables tells a wrong type.
        fits = str(value).lstrip("-").isdecimal() if variable in limits.PORTS else isinstance(value, str)
        problem = limits.setting_problem(variable, value) if fits and not holds_template(value) else None
        if problem:
            yield draft.place_of(host, variable).finding("slurm-limit", f"{variable}: {problem}")


def _together(draft: Draft, host: Host, variable: str, value: Any) -> Iterator[Finding]:
    if not isinstance(value, Mapping):
        return
    known = {key.name: name for name in value if (key := table(_FILES[variable]).find_loose(str(name)))}
    problem = limits.together_problem({option: value[name] for option, name in known.items()})
    if problem:
        option, why = problem
        place = draft.place_of(host, variable, known[option])
        yield place.finding("slurm-limit", f"{known[option]}: {why}")


@rule("partition-value")
def partition_values(draft: Draft) -> Iterator[Finding]:
    """A value that a partition cannot have keeps slurmctld from starting."""
    known = table("slurm.conf PartitionName")
    for index, entry in entries(draft):
        found: dict[str, tuple[str, Any]] = {}
        for name, value in entry.items():
            key = known.find_loose(str(name))
            if key is None or value is None or holds_template(value) or list(_breaks(value)):
                continue
            found.setdefault(key.name, (str(name), value))
            problem = limits.partition_problem(key.name, value) or _wrong_kind(key, value)
            if problem:
                yield _partition_finding(draft, index, name, f"{name}: {problem}")
        if "DefaultTime" in found and "MaxTime" in found:
            (name, shorter), (_, longer) = found["DefaultTime"], found["MaxTime"]
            default, most = limits.minutes(shorter), limits.minutes(longer)
            if default is not None and most is not None and default > most:
                yield _partition_finding(draft, index, name, f"{name}: {shorter} is longer than the most, {longer}")


def _wrong_kind(key: Key, value: Any) -> str | None:
    if isinstance(value, list | Mapping) or key.name.lower() in OURS:
        return None  # the rule for types tells what is wrong with our own keys
    return kind_problem(key.type, text(value))


def _partition_finding(draft: Draft, index: int, name: Hashable, message: str) -> Finding:
    assert draft.speaker is not None, "entries() found some"
    return draft.place_of(draft.speaker, "slurm_partitions", index, name).finding("partition-value", message)


@rule("line-break")
def line_breaks(draft: Draft) -> Iterator[Finding]:
    """A line break in a value would be a further line of Slurm's configuration."""
    for host, variable, value in _once(draft, *_LINES):
        for path in _breaks(value):
            # A single value of free settings is told by the rule for their kinds.
            if not (variable in (*_FILES, "slurm_cgroup_config") and len(path) == 1):
                where = ".".join(str(key) for key in (variable, *path))
                place = draft.place_of(host, variable, *path)
                yield place.finding("line-break", f"{where} must stand on one line")


def _breaks(value: Any, path: tuple[Hashable, ...] = ()) -> Iterator[tuple[Hashable, ...]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _breaks(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _breaks(item, (*path, index))
    elif isinstance(value, str) and not holds_template(value) and _broken(value):
        yield path


def _broken(value: Any) -> bool:
    return isinstance(value, str) and ("\n" in value or "\r" in value)
