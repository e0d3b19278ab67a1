"""Free Slurm settings, node settings and resources of the site."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hpcprov.errors import Finding
from hpcprov.site.model import Host
from hpcprov.site.rules.registry import Draft, rule
from hpcprov.site.scalars import Vaulted
from hpcprov.site.templating import holds_template
from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.gres import Gres, node_gres
from hpcprov.slurm.keys import RENAMED, Key, release_of, table
from hpcprov.slurm.limits import PORTS
from hpcprov.slurm.nodes import arithmetic_problems, canonical, value_problems
from hpcprov.slurm.owned import ELSEWHERE, contradiction, site_values
from hpcprov.slurm.site import daemons_of
from hpcprov.slurm.values import kind_problem, text

_PARTS = ("shard", "mps")
_FREE = {
    "slurm_config": "slurm.conf",
    "slurm_dbd_config": "slurmdbd.conf",
    "slurm_cgroup_config": "cgroup.conf",
}


def _free_settings(draft: Draft, variable: str) -> Iterator[tuple[Host, Mapping[str, Any]]]:
    """The mapping, once for each place where it is written."""
    seen: set[int] = set()
    for host in draft.site.cluster_hosts:
        settings = host.vars.get(variable)
        if isinstance(settings, Mapping) and id(settings) not in seen:
            seen.add(id(settings))
            yield host, settings


def _measured_release(draft: Draft) -> str | None:
    """The Slurm release of this site, from the first compute node whose facts were saved."""
    for host in draft.site.group("compute")[:8]:
        path = draft.site.state_dir / "facts" / f"{host.name}.json"
        try:
            facts = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        version = facts.get("facts", facts).get("slurm_version") if isinstance(facts, dict) else None
        if version:
            return release_of(str(version))
    return None


@rule("slurm-key")
def free_keys(draft: Draft) -> Iterator[Finding]:
    """A key that the installed Slurm does not know keeps its daemon from starting."""
    release = _measured_release(draft)
    for variable, file in _FREE.items():
        for host, settings in _free_settings(draft, variable):
            seen: dict[str, str] = {}
            for name in settings:
                problem = _key_problem(str(name), file, release, seen)
                if problem:
                    yield draft.place_of(host, variable, name).finding("slurm-key", problem)


def _key_problem(name: str, file: str, release: str | None, seen: dict[str, str]) -> str | None:
    keys = table(file)
    key = keys.find_loose(name)
    if key is None:
        return keys.problem(name, release)
    if file == "slurm.conf" and key.name in ELSEWHERE:
        return f"{key.name} belongs into {ELSEWHERE[key.name]}"
    if file == "slurm.conf" and key.name in RENAMED:
        return f"{key.name} is the old way; write {RENAMED[key.name]}"
    if seen.setdefault(key.name, name) != name:
        return f"{name} and {seen[key.name]} both set {key.name}"
    return keys.problem(name, release)


@rule("slurm-config-contradicts")
def contradictions(draft: Draft) -> Iterator[Finding]:
    """What follows from the site itself must not be said otherwise in slurm_config."""
    values = _site_values(draft)
    for host, settings in _free_settings(draft, "slurm_config"):
        for name, value in settings.items():
            key = table("slurm.conf").find_loose(str(name))
            if key is None or key.name in ELSEWHERE or holds_template(value):
                continue
            problem = contradiction(key.name, value, values)
            if problem:
                place = draft.place_of(host, "slurm_config", name)
                yield place.finding("slurm-config-contradicts", problem, hint="remove it here")


def _site_values(draft: Draft) -> dict[str, list[str]]:
    """As the renderer knows them; without those that are wrong themselves or stay templates."""
    databases = [host.node_name for host in draft.site.group("database")]
    daemons = daemons_of(draft.speaker.vars if draft.speaker else {})
    values = site_values(draft.site.cluster_name, databases, daemons)
    return {option: [one for one in known if one and not holds_template(one)] for option, known in values.items()}


@rule("slurm-value")
def free_values(draft: Draft) -> Iterator[Finding]:
    """A value of the wrong kind is a parse error to Slurm."""
    for variable, file in _FREE.items():
        for host, settings in _free_settings(draft, variable):
            for name, value in settings.items():
                key = table(file).find_loose(str(name))
                legible = not holds_template(value) and not isinstance(value, Vaulted)
                problem = _value_problem(key, value) if key and legible else None
                if problem:
                    yield draft.place_of(host, variable, name).finding("slurm-value", f"{name}: {problem}")


def _value_problem(key: Key, value: Any) -> str | None:
    if value is None or isinstance(value, list):
        return None
    if key.name in PORTS and str(value).isdecimal():
        return None  # the rule for limits tells a number that is no port
    try:
        written = text(value)
    except SlurmConfigError as error:
        return error.problems[0]
    return kind_problem(key.type, written)


@rule("slurm-node")
def node_settings(draft: Draft) -> Iterator[Finding]:
    """Keys and arithmetic of a node's own settings: CPUs must be its cores or its threads."""
    seen: set[int] = set()
    whole = any("linear" in str(config) for _, config in _free_settings(draft, "slurm_config"))
    for host in draft.site.group("compute"):
        settings = host.vars.get("slurm_node")
        if not isinstance(settings, Mapping) or id(settings) in seen or holds_template(settings):
            continue
        seen.add(id(settings))
        try:
            keys = canonical(settings)
            problems = [*value_problems(keys), *arithmetic_problems(keys, whole_nodes=whole)]
        except SlurmConfigError as error:
            problems = error.problems
        for problem in problems:
            yield draft.place_of(host, "slurm_node").finding("slurm-node", f"{host.name}: {problem}")


@rule("slurm-gres")
def gres(draft: Draft) -> Iterator[Finding]:
    """Resources as name[:type]:count."""
    seen: set[int] = set()
    for host in draft.site.group("compute"):
        wanted = host.vars.get("slurm_gres")
        if wanted is None or id(wanted) in seen or holds_template(wanted):
            continue
        seen.add(id(wanted))
        try:
            problems = _parts_of_gpus(node_gres(wanted, None))
        except SlurmConfigError as error:
            for problem in error.problems:
                hint = "for example gpu:a100:4"
                yield draft.place_of(host, "slurm_gres").finding("slurm-gres", problem, hint=hint)
            continue
        for problem in problems:
            yield draft.place_of(host, "slurm_gres").finding(
                "slurm-gres", problem, hint="for example [gpu:4, shard:16]"
            )


def _parts_of_gpus(found: Sequence[Gres]) -> list[str]:
    """slurmctld ends with parts of GPUs (shard, mps) where there are no GPUs."""
    names = [one.name for one in found]
    return (
        [] if "gpu" in names else [f"{name} are parts of GPUs, and no gpu is named" for name in names if name in _PARTS]
    )
