"""What INI and YAML inventories have in common: groups, hosts and variables, and what becomes of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hpcprov.importers import inventory_variables as known
from hpcprov.importers.draft import Draft, HostDraft, Value
from hpcprov.importers.groups import CONTAINERS, SERVICES, normal, roles_of
from hpcprov.importers.inventory_parts import Parts, take_parts
from hpcprov.importers.notes import is_secret
from hpcprov.site.document import Document
from hpcprov.site.findings import Findings, Place
from hpcprov.site.model import is_address, short_name
from hpcprov.site.rules.leftovers import is_placeholder
from hpcprov.site.scalars import Vaulted
from hpcprov.site.templating import holds_template
from hpcprov.site.tree import GroupEntry, HostEntry, Tree
from hpcprov.site.variables import Variables


@dataclass(frozen=True)
class Variable:
    name: str
    value: Any
    place: Place


@dataclass
class Group:
    name: str
    place: Place
    hosts: dict[str, Place] = field(default_factory=dict)
    children: dict[str, Place] = field(default_factory=dict)
    variables: list[Variable] = field(default_factory=list)


@dataclass
class Inventory:
    """Groups and hosts in file order; `all` is there when something is said about it."""

    path: Path
    groups: dict[str, Group] = field(default_factory=dict)
    hosts: dict[str, Place] = field(default_factory=dict)
    host_variables: dict[str, list[Variable]] = field(default_factory=dict)

    def group(self, name: str, place: Place) -> Group:
        return self.groups.setdefault(name, Group(name, place))

    def add_host(self, group: str, name: str, place: Place, variables: list[Variable]) -> None:
        self.group(group, place).hosts.setdefault(name, place)
        self.hosts.setdefault(name, place)
        self.host_variables.setdefault(name, []).extend(variables)

    def members(self, name: str, above: tuple[str, ...] = ()) -> dict[str, None]:
        """Hosts of a group and of the groups below it."""
        group = self.groups.get(name)
        if group is None or name in above:
            return {}
        found = dict.fromkeys(group.hosts)
        for child in group.children:
            found.update(self.members(child, (*above, name)))
        return found if name != "all" else dict.fromkeys(self.hosts)

    def depth(self, name: str, above: tuple[str, ...] = ()) -> int:
        """Distance from `all`; Ansible applies deeper groups later."""
        if name == "all":
            return 0
        parents = [one.name for one in self.groups.values() if name in one.children and one.name not in above]
        return 1 + max((self.depth(parent, (*above, name)) for parent in parents if parent != "all"), default=0)


def add_folder_variables(inventory: Inventory, findings: Findings) -> None:
    """The variables in group_vars/ and host_vars/ beside the inventory, as Ansible would read them."""
    place = Place(inventory.path)
    names = {"all": None, **dict.fromkeys(inventory.groups)}
    tree = Tree(Document(inventory.path), {name: GroupEntry(name, place) for name in names})
    tree.hosts = {name: HostEntry(name, place) for name in inventory.hosts}
    folder = Variables(tree, inventory.path.parent, findings)
    for path in _encrypted(inventory.path.parent):
        hint = "hpcprov makes its own secrets; copy by hand what is none"
        findings.warning(Place(path), "encrypted", "is encrypted as a whole, so it was not read", hint)
    for name in names:
        for layer in folder.group_layers((name,)):
            group = inventory.group(name, place)
            group.variables += [Variable(str(key), value, layer.place(key)) for key, value in layer.values.items()]
    for name, host in tree.hosts.items():
        for layer in folder.host_layers(host):
            variables = [Variable(str(key), value, layer.place(key)) for key, value in layer.values.items()]
            inventory.host_variables.setdefault(name, []).extend(variables)


def _encrypted(folder: Path) -> Iterator[Path]:
    for path in sorted([*folder.glob("group_vars/**/*"), *folder.glob("host_vars/**/*")]):
        if path.is_file() and path.read_bytes()[:15] == b"$ANSIBLE_VAULT;":
            yield path


def take_over(draft: Draft, inventory: Inventory) -> None:
    """Put an inventory into the draft, with a note for each group, host and variable."""
    _Takeover(draft, inventory).run()


class _Takeover:
    def __init__(self, draft: Draft, inventory: Inventory) -> None:
        self.draft = draft
        self.notes = draft.notes
        self.inventory = inventory
        # Variables of hosts that this inventory has set: host, variable.
        self.said: set[tuple[str, str]] = set()
        self.used = frozenset(_names_in_templates(inventory))

    def run(self) -> None:
        for name, place in self.inventory.hosts.items():
            if name in ("localhost", "127.0.0.1", "::1"):
                self.notes.left(place, name, None, "the machine that Ansible runs on is no host of the cluster")
            elif is_placeholder(name) or "<" in name:
                self.notes.left(place, name, None, "is a placeholder", "write the name of the host")
            else:
                self.draft.host(name, place)
        for group in self.inventory.groups.values():
            self._group(group)
        self._tell_hosts()
        self._variables()

    def _host(self, name: str) -> HostDraft | None:
        return self.draft.hosts.get(short_name(name).lower())

    def _members(self, group: str) -> list[HostDraft]:
        return [host for name in self.inventory.members(group) if (host := self._host(name)) is not None]

    def _group(self, group: Group) -> None:
        members = self._members(group.name)
        plain = normal(group.name)
        roles = roles_of(group.name)
        for name, place in group.children.items():
            self.notes.mapped(place, name, None, f"part of {group.name}")
        if plain in SERVICES:
            self.notes.left(group.place, group.name, None, SERVICES[plain])
        elif roles:
            for role in roles:
                self.draft.give_role(members, role)
            result = f"group {' and '.join(roles)}"
            tell = self.notes.mapped if (group.name,) == roles else self.notes.changed
            tell(group.place, group.name, None, result)
        elif plain in CONTAINERS or not members:
            holds = plain in CONTAINERS or group.children
            tell_empty = self.notes.mapped if holds else self.notes.left
            tell_empty(group.place, group.name, None, "holds hosts of other groups" if holds else "holds no host")
        else:
            for host in members:
                host.groups[group.name] = None
            self.notes.mapped(group.place, group.name, None, "kept as a group of the site; no role reads it")

    def _tell_hosts(self) -> None:
        for group in self.inventory.groups.values():
            for name, place in group.hosts.items():
                host = self._host(name)
                if host is not None:
                    self.notes.mapped(place, name, None, f"host {host.name}")

    def _variables(self) -> None:
        """Of each host the variable that Ansible would give it; what stands on `all` is the site's."""
        by_depth = sorted(self.inventory.groups, key=lambda name: (self.inventory.depth(name), name))
        for name in by_depth:
            for variable in self.inventory.groups[name].variables:
                self._variable(variable, self._members(name), is_site=name == "all")
        for host, variables in self.inventory.host_variables.items():
            owner = self._host(host)
            for variable in variables:
                self._variable(variable, [owner] if owner else [], is_site=False)

    def _variable(self, variable: Variable, hosts: list[HostDraft], *, is_site: bool) -> None:
        place, name, value = variable.place, variable.name, variable.value
        why = _not_carried(name, value)
        if why:
            self.notes.left(place, name, value, *why)
            return
        if name in known.SITE and (is_site or name not in known.HOST):
            self._site(known.SITE[name], variable)
            return
        if take_parts(self.draft, self.inventory.groups, Parts(name, value, place, hosts)):
            return
        target = known.HOST.get(name)
        if target is None:
            if name in self.used or name in known.ours():
                target = name
            else:
                self.notes.left(place, name, value, "no role of hpcprov reads it")
                return
        converted, result = known.converted(target, value)
        if converted is None:
            tell = self.notes.changed if result.startswith("dropped") else self.notes.left
            tell(place, name, value, result)
            return
        if is_site and target not in known.PER_HOST:
            self._site(target, Variable(name, converted, place))
            return
        self._hosts(hosts, target, converted, variable)
        self._tell(variable, target, converted, result)

    def _hosts(self, hosts: list[HostDraft], target: str, value: Any, variable: Variable) -> None:
        """A deeper group, and a host itself, win over what was said before in this inventory."""
        for host in hosts:
            if target not in host.variables or (host.name, target) in self.said:
                host.variables[target] = Value(value, variable.place)
                self.said.add((host.name, target))
            else:
                self.draft.set_host(host, target, value, variable.place, variable.name, tell=False)

    def _tell(self, variable: Variable, target: str, value: Any, result: str) -> None:
        if result or target != variable.name or value != variable.value:
            text = result or f"{target}: {value}"
            self.notes.changed(variable.place, variable.name, variable.value, text)
        else:
            self.notes.mapped(variable.place, variable.name, variable.value, target)

    def _site(self, target: str, variable: Variable) -> None:
        value, result = known.converted(target, variable.value)
        if value is None:
            tell = self.notes.changed if result.startswith("dropped") else self.notes.left
            tell(variable.place, variable.name, variable.value, result)
            return
        changed = bool(result) or value != variable.value
        self.draft.set_site(target, value, variable.place, variable.name, tell=not changed)
        if changed:
            self.notes.changed(variable.place, variable.name, variable.value, result or f"{target}: {value}")


def _not_carried(name: str, value: Any) -> tuple[str, str] | None:
    """Why a variable stays behind whatever it is called, and what to do."""
    if isinstance(value, Vaulted):
        return "encrypted with ansible-vault, so it was not read", "copy it by hand, if hpcprov has such a variable"
    if is_secret(name):
        hint = "use an SSH key instead, or put it into the site encrypted: ansible-vault encrypt_string"
        if not name.startswith("ansible_"):
            hint = "hpcprov makes its own secrets beside the site file; change the old one if others could read it"
        return "a secret is not copied", hint
    if value is None or value == "":
        return "has no value", "write one into the site if it matters"
    if isinstance(value, str) and (is_placeholder(value) or re.fullmatch(r"<[^>]*>", value.strip())):
        return "is a placeholder", "write the right value into the site"
    return None


def _names_in_templates(inventory: Inventory) -> Iterator[str]:
    """Names that occur in the templates of variables which are carried."""
    everything = [variable for group in inventory.groups.values() for variable in group.variables]
    everything += [variable for variables in inventory.host_variables.values() for variable in variables]
    for variable in everything:
        carried = variable.name in known.HOST or variable.name in known.SITE
        if carried and holds_template(variable.value) and not is_address(variable.value):
            for template in re.findall(r"\{\{(.*?)\}\}", str(variable.value)):
                yield from re.findall(r"[A-Za-z_]\w*", template)
