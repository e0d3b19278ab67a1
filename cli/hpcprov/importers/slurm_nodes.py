"""NodeName lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hpcprov.importers.draft import Draft, HostDraft, Value
from hpcprov.importers.slurm_options import plain_value
from hpcprov.site.model import is_address, short_name
from hpcprov.slurm.definitions import Definition
from hpcprov.slurm.errors import SlurmConfigError
from hpcprov.slurm.gres import parse_gres
from hpcprov.slurm.hostlist import HostlistError, expand, fold
from hpcprov.slurm.keys import table
from hpcprov.slurm.lint.configuration import Configuration
from hpcprov.slurm.nodes import features_of
from hpcprov.slurm.read import Setting
from hpcprov.slurm.values import kind_problem

_HARDWARE = ("CPUs", "Boards", "Sockets", "SocketsPerBoard", "CoresPerSocket", "ThreadsPerCore")
# Said of one host or moment, not of a site.
_NOT_OF_A_SITE = {
    "Reason": "the reason of a state is kept by slurmctld",
    "Port": "each node runs one slurmd, on the usual port",
    "BcastAddr": "one address for each node is needed",
}
_STATES_KEPT = ("CLOUD", "FUTURE")


def read_nodes(draft: Draft, configuration: Configuration) -> None:
    """Hosts of the group compute, with what is said about them."""
    keeps_numbers = _overrides(configuration)
    seen: set[str] = set()
    tell_defaults(draft, configuration, "nodename", "node")
    for node in configuration.nodes:
        _Node(draft, node, seen, keeps_numbers).read()


def tell_defaults(draft: Draft, configuration: Configuration, record: str, what: str) -> None:
    for line in configuration.lines("slurm.conf"):
        if line.key == record and line.settings[0].value.upper() == "DEFAULT":
            for setting in line.settings:
                draft.notes.changed(setting.place, setting.key, setting.value, f"holds for each {what} that follows")


def _overrides(configuration: Configuration) -> bool:
    """Whether the numbers of the file count and not those of the machine."""
    parameters = configuration.option("slurm.conf", "SlurmdParameters")
    fast = configuration.option("slurm.conf", "FastSchedule")
    return bool(parameters and "config_overrides" in parameters.value) or bool(fast and fast.value == "2")


class _Node:
    def __init__(self, draft: Draft, node: Definition, seen: set[str], keeps_numbers: bool) -> None:
        self.draft = draft
        self.node = node
        self.seen = seen
        self.keeps_numbers = keeps_numbers or self._cores_only()
        self.hosts: list[HostDraft] = []
        self._own: dict[str, Callable[[Setting], None]] = {
            "NodeAddr": self._addresses,
            "NodeHostname": self._host_names,
            "Gres": self._gres,
            "Features": lambda setting: self._all("slurm_features", list(features_of(setting.value)), setting),
            "Weight": lambda setting: self._all("slurm_weight", int(setting.value), setting),
        }

    def _cores_only(self) -> bool:
        """CPUs=cores of a node with more threads: jobs get whole cores, which is a decision."""
        values = self.node.values()
        numbers = [values.get(name, "1") for name in ("Boards", "Sockets", "SocketsPerBoard", "CoresPerSocket")]
        if not all(number.isdecimal() for number in numbers) or values.get("ThreadsPerCore", "1") == "1":
            return False
        boards, sockets, per_board, cores = map(int, numbers)
        count = (sockets if "Sockets" in values else boards * per_board) * cores
        return values.get("CPUs") == str(count)

    def read(self) -> None:
        name = self.node.name
        if self.node.problem:
            self.draft.notes.left(name.place, name.key, name.value, self.node.problem)
            self._leave_all("the line has no names that Slurm can read")
            return
        new = [one for one in self.node.names if one not in self.seen]
        if len(new) < len(self.node.names):
            twice = fold(set(self.node.names) - set(new))
            self.draft.notes.changed(
                name.place, name.key, name.value, f"{twice} stood before, and the first line counts"
            )
        else:
            count = f"{len(new)} hosts" if len(new) > 1 else "host"
            self.draft.notes.mapped(name.place, name.key, name.value, f"{count} of group compute")
        if not new:
            self._leave_all("the first line of the node counts")
        self.seen.update(new)
        self.hosts = [self.draft.host(one, name.place) for one in new]
        self.draft.give_role(self.hosts, "compute")
        if not new:
            return
        for key, setting in self.node.settings.items():
            self._setting(key, setting)
        counted = {id(setting) for setting in self.node.settings.values()}
        for setting in self.node.line.settings[1:]:
            if id(setting) not in counted:
                self.draft.notes.changed(setting.place, setting.key, setting.value, "dropped: it stands twice")

    def _leave_all(self, why: str) -> None:
        for setting in self.node.line.settings[1:]:
            self.draft.notes.left(setting.place, setting.key, setting.value, why)

    def _mapped(self, setting: Setting, result: str) -> None:
        self.draft.notes.mapped(setting.place, setting.key, setting.value, result)

    def _changed(self, setting: Setting, result: str) -> None:
        self.draft.notes.changed(setting.place, setting.key, setting.value, result)

    def _left(self, setting: Setting, result: str, hint: str | None = None) -> None:
        self.draft.notes.left(setting.place, setting.key, setting.value, result, hint)

    def _setting(self, key: str, setting: Setting) -> None:
        known = table("slurm.conf NodeName").find(key)
        if known is None:
            self._left(setting, "NodeName has no such option", suggestion("slurm.conf NodeName", key))
        elif problem := kind_problem(known.type, setting.value):
            self._left(setting, problem)
        elif key in _HARDWARE and not self.keeps_numbers:
            self._changed(setting, "not written: each node is measured when it is deployed")
        elif key in _NOT_OF_A_SITE:
            self._left(setting, _NOT_OF_A_SITE[key])
        elif key == "State" and setting.value.upper() not in _STATES_KEPT:
            self._state(setting)
        elif key in self._own:
            self._own[key](setting)
        else:
            for host in self.hosts:
                held = host.variables.setdefault("slurm_node", Value({}, setting.place)).value
                held.setdefault(key, plain_value(known, setting.value))
            self._mapped(setting, f"slurm_node: {key}")

    def _state(self, setting: Setting) -> None:
        if setting.value.upper() in ("UNKNOWN", "IDLE"):
            self._mapped(setting, "UNKNOWN, as hpcprov writes it")
        else:
            hint = f"scontrol update NodeName={self.node.name.value} State={setting.value} Reason=…"
            self._left(setting, "the state of a node is kept by slurmctld", hint)

    def _all(self, variable: str, value: Any, setting: Setting) -> None:
        for host in self.hosts:
            host.variables.setdefault(variable, Value(value, setting.place))
        self._mapped(setting, variable)

    def _addresses(self, setting: Setting) -> None:
        try:
            addresses = expand(setting.value)
        except HostlistError as error:
            self._left(setting, str(error))
            return
        if len(addresses) != len(self.node.names):
            self._left(setting, f"{len(addresses)} addresses for {len(self.node.names)} nodes")
            return
        for name, address in zip(self.node.names, addresses, strict=True):
            host = self.draft.hosts[short_name(name).lower()]
            if is_address(address):
                self.draft.set_host(host, "cluster_address", address, setting.place, setting.key, tell=False)
                self._mapped(setting, "addresses of the nodes")
            elif short_name(address).lower() == host.name.lower():
                self.draft.host(address, setting.place)
                self._mapped(setting, "the name of the node")
            else:
                self.draft.set_host(host, "ansible_host", address, setting.place, setting.key, tell=False)
                self._mapped(setting, "ansible_host of the nodes")

    def _host_names(self, setting: Setting) -> None:
        try:
            same = [short_name(name) for name in expand(setting.value)] == [short_name(one) for one in self.node.names]
        except HostlistError:
            same = False
        if same:
            self._mapped(setting, "the name of the node")
        else:
            hint = "hpcprov sets the host name to the node's name; several slurmd on one host are not made"
            self._left(setting, "differs from NodeName", hint)

    def _gres(self, setting: Setting) -> None:
        try:
            wanted = [str(parse_gres(item)) for item in setting.value.split(",") if item and item.lower() != "(null)"]
        except SlurmConfigError as error:
            self._left(setting, error.problems[0])
            return
        if wanted:
            self._all("slurm_gres", wanted[0] if len(wanted) == 1 else wanted, setting)
        else:
            self._mapped(setting, "no resources")


def suggestion(what: str, key: str) -> str | None:
    return table(what).suggestion(key).removeprefix(", ") or None
