"""Hosts and variables of a site file: put in, taken out, changed. What comes of it is read again and compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcprov.errors import UsageError
from hpcprov.site.document import read_document
from hpcprov.site.findings import Findings, did_you_mean, errors_of, site_error
from hpcprov.site.load import Report, check_site
from hpcprov.site.model import GROUPS
from hpcprov.site.ranges import RangeError, expand, named, patterns, without
from hpcprov.site.reader import read_tree
from hpcprov.site.tree import Tree
from hpcprov.site.yaml_edit import Part, YamlText
from hpcprov.slurm.hostlist import HostlistError

Values = Mapping[str, Any]
Keys = tuple[str, ...]


@dataclass(frozen=True)
class Edit:
    """A change of a site file that is not written yet."""

    path: Path
    before: str
    after: str
    report: Report


@dataclass
class _Meaning:
    """What a site file says, whatever way it is written."""

    hosts: dict[str, dict[str, Any]]
    members: dict[str, set[str]]
    variables: dict[str, dict[str, Any]]
    children: dict[str, set[str]]


@dataclass(frozen=True)
class _Entry:
    """One line of a `hosts:` mapping, with the hosts that it stands for."""

    group: str
    mapping: Part
    index: int
    names: tuple[str, ...]

    @property
    def key(self) -> Part:
        return self.mapping.items[self.index][0]

    @property
    def value(self) -> Part:
        return self.mapping.items[self.index][1]


@dataclass(frozen=True)
class _Group:
    """A group where the file writes it."""

    name: str
    key: Part
    value: Part
    in_flow: bool


def add_hosts(path: Path, hosts: Sequence[str], groups: Sequence[str], variables: Mapping[str, Values]) -> Edit:
    """Put hosts into groups. `variables` are those of each host, written in the first group.

    Raises UsageError where a host is in the group already or there is no such group, SiteError as `_finish` does.
    """
    before, tree = _read(path)
    known = [host for host in hosts if host in tree.hosts and variables.get(host)]
    if known:
        raise UsageError(
            f"{known[0]} is in {path} already", hint=f"change it: hpcprov inventory set {known[0]} KEY=VALUE"
        )
    yaml_text, wanted = YamlText(before), _meaning(tree)
    for number, group in enumerate(dict.fromkeys(groups)):
        inside = [host for host in hosts if host in wanted.members.get(group, ())]
        if inside:
            raise UsageError(f"{inside[0]} is in group {group} already")
        _add(yaml_text, group, hosts, variables if number == 0 else {}, tree)
        wanted.members.setdefault(group, set()).update(hosts)
    for host in hosts:
        wanted.hosts.setdefault(host, dict(variables.get(host, {})))
    return _finish(path, before, yaml_text, wanted)


def remove_hosts(path: Path, hosts: Collection[str], groups: Sequence[str] = ()) -> Edit:
    """Take hosts out of the file, or out of some groups only. Ranges that hold them are split.

    Raises UsageError where the file does not have a host, SiteError as `_finish` does.
    """
    before, tree = _read(path)
    _require(hosts, tree, path)
    for group in groups:
        _require_group(group, tree)
    yaml_text, wanted = YamlText(before), _meaning(tree)
    gone, changes = set(hosts), dict[int, tuple[Part, dict[int, list[str]]]]()
    for entry in _entries(yaml_text):
        if gone.isdisjoint(entry.names) or (groups and entry.group not in groups):
            continue
        _, indices = changes.setdefault(id(entry.mapping), (entry.mapping, {}))
        indices[entry.index] = without(entry.key.value, gone)
        wanted.members[entry.group] -= gone
    for mapping, indices in changes.values():
        yaml_text.rekey(mapping, indices)
    for host in gone:
        if not any(host in members for members in wanted.members.values()):
            wanted.hosts.pop(host, None)
    return _finish(path, before, yaml_text, wanted, keeps_variables=not groups)


def set_values(path: Path, target: Sequence[str], assignments: Mapping[str, Any]) -> Edit:
    """Set variables of hosts, or of one group. A dotted name (`slurm_config.MaxJobCount`) sets one key of a mapping.

    Raises UsageError where there is no such host or group, SiteError as `_finish` does.
    """
    before, tree = _read(path)
    text = before
    if len(target) != 1 or target[0] not in tree.groups:
        _require(target, tree, path)
    for name, value in assignments.items():
        text, tree = _Setting(path, text, tree, tuple(name.split(".")), value).made(target)
    edit = _checked(path, before, text)
    _effective(edit, target, [name.split(".")[0] for name in assignments])
    return edit


def _effective(edit: Edit, target: Sequence[str], names: Sequence[str]) -> None:
    """Raises UsageError when a file beside the site file decides a variable that was set for a host."""
    draft = edit.report.draft
    for host in [draft.site.hosts[name] for name in target if name in draft.site.hosts] if draft else []:
        for name in names:
            layer = draft.layer_of(host, name) if draft else None
            if layer is not None and layer.document.path != edit.path:
                place = layer.place(name)
                raise UsageError(f"{host.name}: {name} is decided by {place.file}:{place.line}", hint="change it there")


def group_or_hosts(path: Path, text: str) -> list[str]:
    """What `text` names: a group of the site, or else the hosts of a hostlist. Raises UsageError."""
    _, tree = _read(path)
    if text in tree.groups:
        if text in tree.hosts:
            raise UsageError(f'"{text}" is a host and a group', hint="rename one of them")
        return [text]
    try:
        hosts = named([text])
    except (RangeError, HostlistError) as error:
        raise UsageError(str(error), hint="write hosts as node[001-004],node007") from error
    missing = [host for host in hosts if host not in tree.hosts]
    if missing:
        hint = did_you_mean(missing[0], [*tree.groups, *tree.hosts])
        raise UsageError(f"{path} has no host or group {missing[0]}", hint=hint)
    return hosts


def value_of(text: str) -> Any:
    """A value as it is typed in a shell: YAML, except that what YAML 1.1 would misread stays text."""
    findings = Findings()
    document = None if "{{" in text else read_document(Path("value"), findings, text=text)
    if document is None or findings.items:
        return text
    is_text = isinstance(document.data, dict | list) and not text.lstrip().startswith(("{", "["))
    return text if is_text else document.data


class _Setting:
    """One variable, or one key of a mapping that is a variable, gets a value."""

    def __init__(self, path: Path, text: str, tree: Tree, keys: Keys, value: Any) -> None:
        self.path = path
        self.tree = tree
        self.keys = keys
        self.value = value
        self.yaml = YamlText(text)
        # Only a mapping that is set anew has to know what it was.
        self.draft = check_site(path, text=text).draft if len(keys) > 1 else None

    def made(self, target: Sequence[str]) -> tuple[str, Tree]:
        """The text with the value, proved, and what it says."""
        wanted = _meaning(self.tree)
        group = target[0]
        if len(target) == 1 and group in self.tree.groups and group not in self.tree.hosts:
            self._set_group(group)
            wanted.variables[group] = self._with(wanted.variables.get(group, {}), self._member(group))
        else:
            self._set_hosts(target)
            for host in target:
                wanted.hosts[host] = self._with(wanted.hosts[host], host)
        after = self.yaml.result()
        changed = _tree(self.path, after)
        _prove(_meaning(changed), wanted, self.path)
        return after, changed

    def _with(self, variables: Values, host: str | None) -> dict[str, Any]:
        """`variables` with the value. A mapping set anew begins with what it comes to for `host` now."""
        first = self.keys[0]
        base = {} if first in variables else {first: self._now(host)}
        return _with({**base, **variables}, self.keys, self.value)

    def _now(self, host: str | None) -> Any:
        layer = self.draft.layer_of(self.draft.site.hosts[host], self.keys[0]) if self.draft and host else None
        return layer.values[self.keys[0]] if layer else {}

    def _member(self, group: str) -> str | None:
        members = self.tree.members().get(group, {})
        return next(iter(members), None)

    def _set_group(self, group: str) -> None:
        places = [found for found in _groups(self.yaml) if found.name == group]
        with_key = [found for found in places if _has(_variables_part(found), self.keys[0])]
        chosen = (with_key or [found for found in places if _variables_part(found)] or places)[-1:]
        fresh = self._with({}, self._member(group))
        if not chosen:  # `all`, which every site has
            self.yaml.append({group: {"vars": fresh}}, levels=2)
            return
        found = chosen[0]
        entry = found.value.entry("vars") if found.value.kind == "map" else None
        if entry is None:
            _into(self.yaml, (found.key, found.value), {"vars": fresh}, levels=2, in_flow=found.in_flow)
        elif entry[1].is_null or not entry[1].items:
            _into(self.yaml, entry, fresh, levels=1, in_flow=found.value.is_flow)
        else:
            self._set_in(entry[1], self.keys, fresh)

    def _set_hosts(self, target: Sequence[str]) -> None:
        left = set(target)
        entries = [entry for entry in _entries(self.yaml) if not left.isdisjoint(entry.names)]
        # The last entry of a host wins, so a key that stands somewhere already has to be changed there.
        order = sorted(
            entries, key=lambda entry: (_has(entry.value, self.keys[0]), entry.value.kind == "map"), reverse=True
        )
        decides = {host: entry for entry in entries if _has(entry.value, self.keys[0]) for host in entry.names}
        for entry in order:
            if left.issuperset(entry.names) and all(decides.get(host, entry) is entry for host in entry.names):
                left.difference_update(entry.names)
                fresh = self._with({}, entry.names[0])
                if entry.value.kind == "map" and entry.value.items:
                    self._set_in(entry.value, self.keys, fresh)
                else:
                    levels = _host_levels(entry.mapping)
                    _into(self.yaml, (entry.key, entry.value), fresh, levels=levels, in_flow=entry.mapping.is_flow)
        for entry in reversed(entries):
            part = [host for host in entry.names if host in left]
            if part:  # an entry of their own behind the range: Ansible merges the two
                left.difference_update(part)
                new = dict.fromkeys(patterns(part), self._with({}, part[0]))
                self.yaml.add(entry.mapping, new, levels=_host_levels(entry.mapping))

    def _set_in(self, mapping: Part, keys: Keys, fresh: Values) -> None:
        """Set the value below a mapping that has entries. `fresh` is the whole of it where its first key is new."""
        entry = mapping.entry(keys[0])
        if entry is None:
            self.yaml.add(mapping, fresh)
        elif len(keys) == 1:
            self.yaml.replace(*entry, self.value)
        elif entry[1].kind == "map" and entry[1].items:
            self._set_in(entry[1], keys[1:], _with({}, keys[1:], self.value))
        else:
            _no_alias(self.yaml, entry[1])
            self.yaml.replace(*entry, _with({}, keys[1:], self.value))


def _with(variables: Values, keys: Keys, value: Any) -> dict[str, Any]:
    """`variables` with one value set, as deep as `keys` lead."""
    if len(keys) == 1:
        return {**variables, keys[0]: value}
    inner = variables.get(keys[0])
    return {**variables, keys[0]: _with(inner if isinstance(inner, Mapping) else {}, keys[1:], value)}


def _variables_part(group: _Group) -> Part | None:
    entry = group.value.entry("vars") if group.value.kind == "map" else None
    return entry[1] if entry and entry[1].kind == "map" and entry[1].items else None


def _has(mapping: Part | None, key: str) -> bool:
    return mapping is not None and mapping.kind == "map" and mapping.entry(key) is not None


def _host_levels(mapping: Part) -> int:
    """1 where the hosts of this mapping have their variables on lines of their own, as its neighbours do."""
    return int(any(value.is_block and value.items for _, value in mapping.items))


def _into(yaml_text: YamlText, entry: tuple[Part, Part], entries: Values, *, levels: int, in_flow: bool) -> None:
    key, value = entry
    _no_alias(yaml_text, value)
    if value.kind == "map" and value.items:
        yaml_text.add(value, entries, levels=levels)
    else:
        yaml_text.fill(key, value, entries, levels=levels, in_flow=in_flow)


def _no_alias(yaml_text: YamlText, value: Part) -> None:
    if value.kind == "alias":
        raise UsageError(
            f"line {yaml_text.line(value)} is the alias *{value.anchor}, and what it names is used elsewhere too",
            hint="write its values out there, or change them where &" + str(value.anchor) + " stands",
        )


def _add(yaml_text: YamlText, group: str, hosts: Sequence[str], variables: Mapping[str, Values], tree: Tree) -> None:
    alike = len({repr(variables.get(host)) for host in hosts}) == 1
    names = patterns(hosts) if alike else list(hosts)
    entries = {name: variables.get(hosts[0] if alike else name) or None for name in names}
    places = [found for found in _groups(yaml_text) if found.name == group]
    with_hosts = [found for found in places if found.value.kind == "map" and found.value.entry("hosts")]
    if not places:
        if group not in GROUPS:
            _require_group(group, tree)
        yaml_text.append({group: {"hosts": entries}}, levels=2)
        return
    found = (with_hosts or places)[0]
    entry = found.value.entry("hosts") if found.value.kind == "map" else None
    if entry is None:
        _into(yaml_text, (found.key, found.value), {"hosts": entries}, levels=2, in_flow=found.in_flow)
        return
    _no_alias(yaml_text, entry[1])
    if entry[1].kind == "map" and entry[1].items:
        yaml_text.add(entry[1], entries, levels=_host_levels(entry[1]))
    elif entry[1].is_null or entry[1].kind == "map":
        yaml_text.fill(*entry, entries, levels=1, in_flow=found.value.is_flow)
    else:  # `hosts: head`, one name
        yaml_text.replace(*entry, {entry[1].value: None, **entries})


def _groups(yaml_text: YamlText) -> Iterator[_Group]:
    """Every group, at each place where it is written."""

    def below(mapping: Part) -> Iterator[_Group]:
        for key, value in mapping.items:
            yield _Group(key.value, key, value, mapping.is_flow)
            children = value.entry("children") if value.kind == "map" else None
            if children is not None and children[1].kind == "map":
                yield from below(children[1])

    yield from below(yaml_text.root)


def _entries(yaml_text: YamlText) -> Iterator[_Entry]:
    """Every entry of every `hosts:` mapping, in file order."""
    for group in _groups(yaml_text):
        entry = group.value.entry("hosts") if group.value.kind == "map" else None
        if entry is None or entry[1].kind != "map":
            continue
        for index, (key, _) in enumerate(entry[1].items):
            try:
                names, _ = expand(key.value)
            except RangeError:
                continue
            yield _Entry(group.name, entry[1], index, names)


def _read(path: Path) -> tuple[str, Tree]:
    """The text of a site file and what it says. Raises SiteError when it cannot be read."""
    if path.suffix == ".json":
        raise UsageError(f"{path} is JSON; only YAML is edited", hint="rename it to .yaml: JSON is YAML too")
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} cannot be read: {getattr(error, 'strerror', None) or 'it is not UTF-8 text'}"
        ) from error
    return text, _tree(path, text)


def _tree(path: Path, text: str) -> Tree:
    findings = Findings()
    document = read_document(path, findings, text=text)
    if document is None or not isinstance(document.data, dict):
        raise site_error(path, findings.ordered())
    return read_tree(document, findings)


def _meaning(tree: Tree) -> _Meaning:
    return _Meaning(
        hosts={name: _merged(layer.values for layer in host.layers) for name, host in tree.hosts.items()},
        members={name: set(group.hosts) for name, group in tree.groups.items()},
        variables={name: _merged(layer.values for layer in group.layers) for name, group in tree.groups.items()},
        children={name: set(group.children) for name, group in tree.groups.items()},
    )


def _merged(layers: Iterable[Mapping[Any, Any]]) -> dict[str, Any]:
    return {name: value for layer in layers for name, value in layer.items()}


def _finish(path: Path, before: str, yaml_text: YamlText, wanted: _Meaning, *, keeps_variables: bool = True) -> Edit:
    """The edit, once it is proved to say what was meant and nothing else.

    Raises UsageError when it does not, SiteError when the site would have errors that it did not have before.
    """
    after = yaml_text.result()
    _prove(_meaning(_tree(path, after)), wanted, path, with_hosts=keeps_variables)
    return _checked(path, before, after)


def _prove(found: _Meaning, wanted: _Meaning, path: Path, *, with_hosts: bool = True) -> None:
    same_hosts = found.hosts == wanted.hosts if with_hosts else found.hosts.keys() == wanted.hosts.keys()
    same_groups = all(
        _filled(ours) == _filled(theirs)
        for ours, theirs in (
            (found.members, wanted.members),
            (found.variables, wanted.variables),
            (found.children, wanted.children),
        )
    )
    if not (same_hosts and same_groups):
        raise UsageError(
            f"{path} is written in a way that this change cannot be made in",
            why="merge keys (<<) or aliases stand where it would have to be",
            hint="change it in an editor, then: hpcprov validate",
        )


def _filled(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in parts.items() if part}


def _checked(path: Path, before: str, after: str) -> Edit:
    known = {(finding.rule, finding.message) for finding in errors_of(check_site(path, text=before).findings)}
    report = check_site(path, text=after)
    new = [finding for finding in errors_of(report.findings) if (finding.rule, finding.message) not in known]
    if new:
        error = site_error(path, new)
        error.message = f"{path} is left as it is: the change would bring {'an error' if len(new) == 1 else 'errors'}"
        raise error
    return Edit(path, before, after, report)


def _require(hosts: Iterable[str], tree: Tree, path: Path) -> None:
    missing = [host for host in hosts if host not in tree.hosts]
    if missing:
        raise UsageError(f"{path} has no host {missing[0]}", hint=did_you_mean(missing[0], tree.hosts))


def _require_group(group: str, tree: Tree) -> None:
    if group not in tree.groups:
        known = [*dict.fromkeys([*GROUPS, *tree.groups])]
        raise UsageError(f"there is no group {group}", hint=did_you_mean(group, known) or f"groups: {', '.join(known)}")
