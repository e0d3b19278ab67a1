"""The plain options of slurm.conf: who the cluster is, and what goes into slurm_config."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from hpcprov.importers.draft import Draft, Value
from hpcprov.importers.notes import Fate, Notes, is_secret
from hpcprov.importers.slurm_controllers import CONTROLLERS
from hpcprov.site.model import is_address
from hpcprov.slurm import limits
from hpcprov.slurm.cluster import Cluster, Daemons
from hpcprov.slurm.keys import Key, table
from hpcprov.slurm.lint.configuration import Configuration, record_table
from hpcprov.slurm.obsolete import gone, outdated, replacement
from hpcprov.slurm.options import default_options
from hpcprov.slurm.owned import SHARED_DIRECTORIES
from hpcprov.slurm.read import Setting
from hpcprov.slurm.values import kind_problem, text

# Option: variable of the site that it follows from.
_SITE = {
    "SlurmctldPort": "slurm_ctld_port",
    "AccountingStoragePort": "slurm_dbd_port",
    "SlurmUser": "slurm_user",
    "StateSaveLocation": "slurm_state_dir",
    "SlurmdSpoolDir": "slurm_spool_dir",
}
_DEFAULTS: dict[str, Any] = {
    "slurm_ctld_port": Daemons.slurmctld_port,
    "slurm_dbd_port": Daemons.slurmdbd_port,
    "slurm_user": Daemons.user,
    "slurm_state_dir": Daemons.state_dir,
    "slurm_spool_dir": Daemons.spool_dir,
}
# Where hpcprov puts things itself, so that they fit the service units.
_PLACED = (
    *("SlurmctldPidFile", "SlurmdPidFile", "SlurmctldLogFile", "SlurmdLogFile", "SlurmSchedLogFile"),
    *("PluginDir", "SlurmdUser"),
)
# Programs and files that must lie on the hosts; hpcprov does not bring them.
_NEEDS_FILES = (
    *("Prolog", "Epilog", "PrologSlurmctld", "EpilogSlurmctld", "TaskProlog", "TaskEpilog", "SrunProlog", "SrunEpilog"),
    *("ResvProlog", "ResvEpilog", "HealthCheckProgram", "ResumeProgram", "SuspendProgram", "ResumeFailProgram"),
    *("MailProg", "PlugStackConfig", "JobSubmitPlugins", "CliFilterPlugins", "UnkillableStepProgram"),
    *("SlurmctldPrimaryOnProg", "SlurmctldPrimaryOffProg", "BurstBufferType", "NodeFeaturesPlugins"),
    *("JobContainerType", "NamespaceType", "AcctGatherProfileType", "RebootProgram"),
)
_TOPOLOGY = ("TopologyPlugin", "TopologyParam", "RoutePlugin")
_AUTHENTICATION = {"AuthType": "auth/munge", "CredType": "cred/munge", "CryptoType": "cred/munge"}
# Slurm's defaults that the configurator writes all the same.
_SLURMS_OWN = {
    "InactiveLimit": "0",
    "JobCompType": "jobcomp/none",
    "MinJobAge": "300",
    "SlurmdPort": "6818",
    "SwitchType": "switch/none",
    "WaitTime": "0",
}
_LOCAL = ("localhost", "127.0.0.1", "::1")
_REPEATED = ("Prolog", "Epilog")


def read_options(draft: Draft, configuration: Configuration) -> None:
    """Every other plain option; each leaves a note."""
    for key, setting in _plain(configuration):
        _Option(draft, configuration, key, setting).read()
    for line in configuration.lines("slurm.conf"):
        for extra in line.settings[1:] if record_table("slurm.conf", line) is None else ():
            draft.notes.left(extra.place, extra.key, extra.value, "Slurm reads one setting a line", "split the line")
        if line.settings and table("slurm.conf").find(line.key) is None:
            _unknown(draft, configuration, line.settings[0])
    _need_a_database(draft, configuration)


def _plain(configuration: Configuration) -> Iterator[tuple[Key, Setting]]:
    """The options with Slurm's spelling; of several of one name the last one counts, the others come too."""
    for line in configuration.lines("slurm.conf"):
        key = table("slurm.conf").find(line.key)
        if key is not None and record_table("slurm.conf", line) is None and line.key not in CONTROLLERS:
            yield key, line.settings[0]


def _unknown(draft: Draft, configuration: Configuration, setting: Setting) -> None:
    """An option that no release of the key table knows: one with another name today, one that went, or a slip."""
    instead = gone("slurm.conf", setting.key)
    key = table("slurm.conf").find(instead) if instead else None
    if key is not None:
        _Option(draft, configuration, key, setting, renamed=True).read()
    elif instead:
        draft.notes.changed(setting.place, setting.key, setting.value, f"dropped; today: {instead}")
    else:
        hint = table("slurm.conf").suggestion(setting.key).removeprefix(", ") or None
        draft.notes.left(setting.place, setting.key, setting.value, "Slurm has no such option", hint)


class _Option:
    """One plain option on its way."""

    def __init__(
        self, draft: Draft, configuration: Configuration, key: Key, setting: Setting, *, renamed: bool = False
    ) -> None:
        self.renamed = renamed
        self.draft = draft
        self.notes: Notes = draft.notes
        self.configuration = configuration
        self.name = key.name
        self.key = key
        self.setting = setting
        self.value = setting.value

    def mapped(self, result: str) -> None:
        tell = self.notes.changed if self.renamed else self.notes.mapped
        tell(self.setting.place, self.setting.key, self.value, result)

    def changed(self, result: str, hint: str | None = None) -> None:
        self.notes.changed(self.setting.place, self.setting.key, self.value, result, hint)

    def left(self, result: str, hint: str | None = None) -> None:
        self.notes.left(self.setting.place, self.setting.key, self.value, result, hint)

    def read(self) -> None:
        """The first that knows the option takes it."""
        last = self.configuration.option("slurm.conf", self.name)
        if last is not None and last is not self.setting and self.name not in _REPEATED:
            self.changed(f"dropped: line {last.place.line} says {self.name} too, and that one counts")
            return
        for step in (self._secret, self._identity, self._follows, self._placed, self._old, self._special):
            if step():
                return
        self._free()

    def _secret(self) -> bool:
        if self.name not in limits.SECRETS and (self.value.startswith("/") or not is_secret(self.name)):
            return False
        self.left("a secret is not copied", "hpcprov makes its own database password; change the old one, it was open")
        return True

    def _identity(self) -> bool:
        if self.name == "ClusterName":
            name = self.value.lower()
            if name == self.value:
                self.draft.set_site("cluster_name", name, self.setting.value_place, self.setting.key)
            else:
                self.draft.variables.setdefault("cluster_name", _value(name, self.setting))
                self.changed(f"cluster_name: {name}, as Slurm itself writes it")
            return True
        if self.name in ("AccountingStorageHost", "AccountingStorageBackupHost"):
            self._database()
            return True
        if self.name == "AccountingStorageType":
            if self.value.lower().endswith("slurmdbd"):
                self.mapped("group database: accounting by slurmdbd")
            else:
                self.changed("accounting by slurmdbd, as hpcprov always makes it")
            return True
        return False

    def _database(self) -> None:
        if self.value in _LOCAL:
            hosts = self.draft.with_role("controller")[:1]
            self.draft.give_role(hosts, "database")
            self.mapped("group database: the controller itself")
            return
        if is_address(self.value):
            owner = next((host for host in self.draft.hosts.values() if host.address == self.value), None)
            if owner is None:
                self.left("is an address, and no host with it is known", "put the host into the group database")
                return
            host = owner
        else:
            host = self.draft.host(self.value, self.setting.place)
        host.roles["database"] = None
        self.mapped(f"host {host.name} of group database")

    def _follows(self) -> bool:
        variable = _SITE.get(self.name)
        if variable is None:
            return False
        value: Any = self.value.rstrip("/") if self.value.startswith("/") else self.value
        if self.name == "SlurmctldPort" and "-" in value:
            # slurmctld listens on the range; the nodes ask at its first port.
            self.draft.setting("slurm_config", self.name, value, self.setting.place)
            value = value.partition("-")[0]
        if value.isdecimal():
            value = int(value)
        problem = self._no_place(str(value))
        if problem:
            self.changed(f"{variable}: {_DEFAULTS[variable]}, the default, since {problem}")
        elif value == _DEFAULTS[variable]:
            self.mapped(f"{variable}, which is so by default")
        else:
            self.draft.set_site(variable, value, self.setting.value_place, self.setting.key)
        return True

    def _no_place(self, value: str) -> str | None:
        if self.name == "SlurmUser":
            return "slurmctld needs no root rights" if value in ("root", "0") else None
        if value.rstrip("/") in SHARED_DIRECTORIES and value.startswith("/"):
            return "other programs keep their files there too"
        other = self.configuration.option("slurm.conf", "SlurmdSpoolDir")
        if self.name == "StateSaveLocation" and other and other.value.rstrip("/") == value:
            return "slurmd keeps its files there"
        if re.match(r"/(?:var/)?tmp(?:/|$)|/dev/shm(?:/|$)", value):
            return "everybody can write there"
        return "it differs by node" if "%" in value else None

    def _placed(self) -> bool:
        if self.name not in _PLACED:
            return False
        if self.name == "SlurmdUser" and self.value == "root":
            self.mapped("slurmd runs as root")
        else:
            self.changed("hpcprov places it to fit the service units (logs: slurm_log_dir)")
        return True

    def _old(self) -> bool:
        """Options and values that Slurm no longer has, or writes otherwise today."""
        if self.name == "FastSchedule":
            if self.value == "2":
                self._add_parameter("SlurmdParameters", "config_overrides")
            else:
                self.changed("dropped: Slurm ignores it")
            return True
        if self.name == "AccountingStoreJobComment":
            if self.value.lower() in ("yes", "1", "true", "up"):
                self._add_parameter("AccountingStoreFlags", "job_comment")
            else:
                self.changed("dropped: the comment of jobs is not stored without it")
            return True
        instead = outdated("slurm.conf", self.name)
        if instead or self.key.last or self.key.defunct_since:
            self.changed(f"dropped; today: {instead}" if instead else "dropped: Slurm took it away")
            return True
        found = replacement(self.name, self.value)
        if found is not None:
            self._replaced(found[1])
            return True
        return False

    def _replaced(self, instead: str | None) -> None:
        ours = _ours().get(self.name)
        if instead is None or instead == ours:
            self.changed(f"{instead}, which hpcprov writes itself" if instead else "dropped: it is gone")
        elif self.draft.setting("slurm_config", self.name, instead, self.setting.place):
            self.changed(f"slurm_config: {self.name}: {instead}")

    def _add_parameter(self, option: str, parameter: str) -> None:
        config = self.draft.variables.setdefault("slurm_config", _value({}, self.setting)).value
        given = [part for part in str(config.get(option, "")).split(",") if part]
        config[option] = ",".join(dict.fromkeys([*given, parameter]))
        self.changed(f"slurm_config: {option}: {parameter}")

    def _special(self) -> bool:
        if self.name == "GresTypes":
            self._resources()
            return True
        if self.name in _TOPOLOGY:
            if self.value.lower() in ("topology/none", "topology/default", "topology/flat", "route/default"):
                self.mapped("no topology, as hpcprov does")
            else:
                hint = "hpcprov writes no topology.conf yet; without it slurmctld would not start"
                self.left("the site file has no topology", hint)
            return True
        if self.name in _AUTHENTICATION and self.value.lower() != _AUTHENTICATION[self.name]:
            if self.value.lower() in ("auth/slurm", "cred/slurm"):
                return False
            self.changed(f"{_AUTHENTICATION[self.name]}, which hpcprov sets up")
            return True
        if self.name in _NEEDS_FILES and self.value.lower() not in ("none", "", "/sbin/reboot", "burst_buffer/none"):
            self._needs_file()
            return True
        return False

    def _resources(self) -> None:
        """hpcprov writes the types that nodes have; one that no node has is kept."""
        promised = {item.split(":")[0] for node in self.configuration.nodes for item in _items(node.value("Gres"))}
        if set(_items(self.value)) <= promised:
            self.mapped("follows from slurm_gres")
        else:
            self._free()

    def _needs_file(self) -> None:
        self.draft.variables.setdefault("slurm_config", _value({}, self.setting))
        self.draft.remark("slurm_config", f"{self.name}: {self.value}   # put its files on the hosts first")
        hint = "put its files on the hosts, then take the comment sign away in slurm_config"
        self.left("needs files on the hosts that hpcprov does not place; kept as a comment", hint)

    def _free(self) -> None:
        problem = kind_problem(self.key.type, self.value) or limits.setting_problem(self.name, self.value)
        if problem:
            self.left(problem)
        elif _same(self.name, self.value) or (self.name == "SlurmctldParameters" and self.value == "enable_configless"):
            self.mapped("hpcprov's own value")
        elif self.name not in _ours() and _SLURMS_OWN.get(self.name) == self.value.lower():
            self.mapped("Slurm's own default")
        elif self.draft.setting(
            "slurm_config", self.name, self._merged(plain_value(self.key, self.value)), self.setting.place
        ):
            accounts = "; list who may submit in slurm_accounts" if self.name == "AccountingStorageEnforce" else ""
            self.mapped(f"slurm_config: {self.name}{accounts}")
        else:
            kept = self.draft.variables["slurm_config"].value[self.name]
            self.changed(f"slurm_config: {self.name}: {kept} was kept, which another line or file says")

    def _merged(self, value: Any) -> Any:
        """With what an old option has put there already."""
        given = self.draft.variables.get("slurm_config")
        before = given.value.get(self.name) if given else None
        if self.name in ("SlurmdParameters", "AccountingStoreFlags") and isinstance(before, str) and given:
            value = ",".join(dict.fromkeys([*str(value).split(","), *before.split(",")]))
            given.value[self.name] = value
        return value


def _items(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _value(value: Any, setting: Setting) -> Value:
    return Value(value, setting.value_place)


@lru_cache(maxsize=1)
def _ours() -> dict[str, Any]:
    """What hpcprov writes into slurm.conf by itself where nodes offer cgroups."""
    cluster = Cluster("c", [("head", "10.0.0.1")], ["head"], [], [])
    return default_options(cluster, True)


def _same(name: str, value: str) -> bool:
    ours = _ours().get(name)
    return ours is not None and text(ours).lower() == value.lower()


def plain_value(key: Key, value: str) -> Any:
    """The value as YAML has it: numbers as numbers, yes and no of a boolean as such."""
    if key.type == "boolean":
        return value.lower() in ("yes", "true", "1", "up")
    return int(value) if value.isdecimal() and not (len(value) > 1 and value.startswith("0")) else value


def _need_a_database(draft: Draft, configuration: Configuration) -> None:
    controllers = draft.with_role("controller")
    known = configuration.has("slurmdbd.conf") or draft.with_role("database")
    if controllers and not known and configuration.option("slurm.conf", "AccountingStorageType"):
        draft.give_role(controllers[:1], "database")
        place = configuration.place("slurm.conf")
        draft.notes.add(
            Fate.ADDED, place, "database", controllers[0].name, "AccountingStorageHost is localhost by default"
        )
