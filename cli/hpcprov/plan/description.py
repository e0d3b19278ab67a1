"""What a cluster is, or shall be, in a form that can be kept and compared. It never holds a secret."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from hpcprov import __version__
from hpcprov.nfs import DEFAULT_EXPORT_OPTIONS, DEFAULT_MOUNT_OPTIONS
from hpcprov.plan.conf import Conf, Items, digest, key_values, parse, without_secrets
from hpcprov.plan.parts import SLURM
from hpcprov.preflight.report import hostlist
from hpcprov.site import Host, Site
from hpcprov.site.scalars import Vaulted
from hpcprov.slurm.cluster import Cluster
from hpcprov.slurm.conf import slurm_files
from hpcprov.slurm.site import Vars, from_site
from hpcprov.slurm.values import as_list

SCHEMA = 1
EVERYWHERE = "all hosts"
# Stands for a value that is encrypted in the site file, and is never compared.
VAULT = "(vault)"
_USER_KEYS = ("uid", "gid", "group", "groups", "shell", "home", "comment")
# Part: secret files, by the variable that names another one.
_SECRETS = {
    "munge": ("munge.key", "munge_key_file"),
    "database": ("database_password", "slurm_dbd_password_file"),
}


class Description(BaseModel):
    """A part that is missing is not known. `unmeasured` are nodes that have no NodeName line yet, with partitions."""

    model_config = ConfigDict(extra="forbid")

    schema_version: int = Field(default=SCHEMA, alias="schema")
    hpcprov: str = __version__
    saved: str | None = Field(default=None, description="ISO 8601 with the zone.")
    cluster: str
    release: str = Field(default="", description="Release of Slurm that the files were written for, such as 22.05.")
    files: dict[str, str] = Field(default_factory=dict, description="slurm.conf, cgroup.conf and gres.conf.")
    parts: dict[str, Items] = Field(default_factory=dict, description="Part, name, key: value.")
    unmeasured: dict[str, list[str]] = Field(default_factory=dict, exclude=True)

    @property
    def conf(self) -> Conf:
        """The slurm.conf."""
        return parse(self.files.get("slurm.conf", ""))

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is known."""
        return not self.files and not self.parts

    def items(self, part: str) -> Items | None:
        """Name, key: value of one part; None when it is not known."""
        if part not in SLURM:
            return self.parts.get(part)
        if part not in self.files and (part not in ("nodes", "partitions") or "slurm.conf" not in self.files):
            return {name: {} for name in self.unmeasured} if part == "nodes" and self.unmeasured else None
        return self._slurm_items(part)

    def _slurm_items(self, part: str) -> Items:
        match part:
            case "nodes":
                return {**self.conf.nodes, **{name: {} for name in self.unmeasured}}
            case "partitions":
                return self.conf.partitions
            case "slurm.conf":
                options = self.conf.options
            case "cgroup.conf":
                options = key_values(self.files[part], part)
            case _:
                lines = [line.split("#", 1)[0].strip() for line in self.files[part].splitlines()]
                options = dict.fromkeys(filter(None, lines), "")
        return {name: {"value": value} for name, value in options.items()}


def of_site(site: Site) -> Description:
    """What the site file and the saved facts ask for now. Raises SlurmConfigError."""
    facts = saved_facts(site.state_dir)
    return describe(site, facts, {part: _digest_of(site, *where) for part, where in _SECRETS.items()})


def describe(site: Site, facts: Mapping[str, Vars], secrets: Mapping[str, str]) -> Description:
    """`facts` by host as they were saved, `secrets` the digest by part. Raises SlurmConfigError."""
    cluster = _cluster(site, facts)
    defined = [node for node in cluster.nodes if node.is_defined]
    files = _files(cluster) if defined else {}
    unmeasured = {node.name: _partitions_of(cluster, node.name) for node in cluster.nodes if not node.is_defined}
    parts: dict[str, Items] = {
        "hosts": {host.name: _host(host) for host in site.cluster_hosts},
        "users": _named(site.vars.get("cluster_users"), _USER_KEYS),
        "packages": _packages(site),
        "exports": _exports(site),
        "mounts": _mounts(site),
        "accounts": _named(_of_group(site, "database", "slurm_accounts")),
        "qos": _named(_of_group(site, "database", "slurm_qos")),
        "mpi": {str(site.vars.get("mpi_implementation") or "openmpi"): {}},
        "frameworks": _frameworks(site.vars),
    }
    for part, known in secrets.items():
        parts[part] = {_SECRETS[part][0]: {"digest": known}}
    return Description(
        cluster=site.cluster_name, release=cluster.release, files=files, parts=parts, unmeasured=unmeasured
    )


def _cluster(site: Site, facts: Mapping[str, Vars]) -> Cluster:
    """As the roles have it, but for values that only Ansible can decrypt."""
    cluster = from_site(site, facts)
    hidden = {key: VAULT for key, value in cluster.config.items() if isinstance(value, Vaulted)}
    return replace(cluster, config={**cluster.config, **hidden}) if hidden else cluster


def saved_facts(state_dir: Path) -> dict[str, dict[str, Any]]:
    """Facts by host, as the roles see them. What cannot be read is not known."""
    facts: dict[str, dict[str, Any]] = {}
    for path in sorted((state_dir / "facts").glob("*.json")):
        try:
            facts[path.stem] = json.loads(path.read_text(encoding="utf-8"))["facts"]
        except (OSError, ValueError, KeyError):
            continue
    return facts


def _digest_of(site: Site, name: str, variable: str) -> str:
    given = site.vars.get(variable)
    path = Path(str(given)) if given and "{{" not in str(given) else site.state_dir / "secrets" / name
    try:
        return digest(path.read_bytes())
    except OSError:
        return "not made yet"


def _files(cluster: Cluster) -> dict[str, str]:
    written = slurm_files(cluster)
    texts = {
        "slurm.conf": written.slurm_conf,
        "cgroup.conf": written.cgroup_conf,
        "gres.conf": written.gres_conf,
    }
    return {name: without_secrets(text) for name, text in texts.items()}


def _partitions_of(cluster: Cluster, node: str) -> list[str]:
    return [partition.name for partition in cluster.partitions if node in partition.nodes]


def _host(host: Host) -> dict[str, str]:
    return {"address": host.cluster_address or host.address, "groups": ", ".join(sorted(host.groups - {"all"}))}


def _named(entries: Any, keys: Iterable[str] | None = None) -> Items:
    """A list of mappings with a `name`; a later one with the same name wins, as in Ansible."""
    found: Items = {}
    for entry in as_list(entries):
        if not isinstance(entry, Mapping) or not entry.get("name"):
            continue
        wanted = [key for key in (keys or entry) if key != "name" and entry.get(key) not in (None, "")]
        found[str(entry["name"])] = {str(key): _text(entry[key]) for key in wanted}
    return found


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_text(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(f"({_text(item)})" if isinstance(item, Mapping) else _text(item) for item in value)
    return str(value)


def _of_group(site: Site, group: str, variable: str) -> Any:
    hosts = site.group(group)
    return hosts[0].vars.get(variable) if hosts else site.vars.get(variable)


def _on(site: Site, names: list[str]) -> str:
    return EVERYWHERE if len(names) == len(site.cluster_hosts) else hostlist(names)


def _packages(site: Site) -> Items:
    """What the site asks for beside the packages of the roles."""
    asked: dict[str, list[str]] = {}
    for host in site.cluster_hosts:
        for package in dict.fromkeys([*_words(host, "packages_extra"), *_words(host, "mpi_extra_packages")]):
            asked.setdefault(package, []).append(host.name)
    return {package: {"on": _on(site, names)} for package, names in asked.items()}


def _words(host: Host, variable: str) -> list[str]:
    return [str(item) for item in as_list(host.vars.get(variable))]


def _exports(site: Site) -> Items:
    found: Items = {}
    for host in site.group("storage"):
        for entry in as_list(host.vars.get("nfs_exports")):
            if not isinstance(entry, Mapping) or "path" not in entry:
                continue
            clients = entry.get("clients") or host.vars.get("nfs_clients") or [site.cluster_network]
            options = entry.get("options") or host.vars.get("nfs_export_options") or DEFAULT_EXPORT_OPTIONS
            found[f"{host.name}:{entry['path']}"] = {"clients": _text(clients), "options": str(options)}
    return found


def _mounts(site: Site) -> Items:
    everything = [
        entry for host in site.group("storage") for entry in as_list(host.vars.get("nfs_exports"))
        if isinstance(entry, Mapping)
    ]  # fmt: skip
    on: dict[tuple[str, str, str], list[str]] = {}
    for host in site.cluster_hosts:
        for entry in as_list(host.vars.get("nfs_mounts")) or everything:
            if isinstance(entry, Mapping) and "path" in entry:
                source = ":".join(str(entry[key]) for key in ("server", "export") if entry.get(key))
                options = entry.get("options") or host.vars.get("nfs_mount_options") or DEFAULT_MOUNT_OPTIONS
                on.setdefault((str(entry["path"]), source, str(options)), []).append(host.name)
    found: Items = {}
    for (path, source, options), names in on.items():
        where = _on(site, names)
        name = path if where == EVERYWHERE else f"{path} on {where}"
        found[name] = {"options": options} | ({"from": source} if source else {})
    return found


def _frameworks(variables: Mapping[str, Any]) -> Items:
    versions = variables.get("dl_versions") or {}
    wanted = as_list(variables.get("dl_frameworks", ["pytorch"]))
    found: Items = {str(name): {"version": str(versions.get(name) or "newest")} for name in wanted}
    shared = {
        "packages": variables.get("dl_packages"),
        "accelerator": variables.get("dl_accelerator"),
        "python": variables.get("dl_python"),
    }
    given = {key: _text(value) for key, value in shared.items() if value not in (None, "")}
    return {name: values | given for name, values in found.items()}
