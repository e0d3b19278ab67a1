"""A YAML file whose values know where they stand."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from hpcprov.site.findings import Findings, Place
from hpcprov.site.scalars import read_scalar
from hpcprov.site.syntax import syntax_error

try:
    from yaml import CSafeLoader as _Loader
except ImportError:  # PyYAML without libyaml: slower, the same result
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

_MERGE = "tag:yaml.org,2002:merge"
_TEXT = "tag:yaml.org,2002:str"
_Entry = tuple[yaml.Node, yaml.Node]
_KNOWN_TAGS = frozenset(
    {"!vault", "!vault-encrypted", "!unsafe"}
    | {f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float", "str", "timestamp", "merge", "value")}
    | {f"tag:yaml.org,2002:{kind}" for kind in ("seq", "map")}
)
# Aliases are written out when a file is read: nine levels of nine aliases make 387 million values of 90.
_MOST_VALUES = 1_000_000


@dataclass
class Document:
    """A parsed file: `root` for places, `data` for values."""

    path: Path
    root: yaml.Node | None = None
    data: Any = None
    # Entries of a mapping node by key, for nodes that were asked: thousands of hosts stand in one mapping.
    _entries: dict[int, dict[Hashable, _Entry]] = field(default_factory=dict, repr=False)

    def place(self, *keys: Hashable, of_key: bool = True) -> Place:
        """Where the value under `keys` stands: its key (the default) or the value itself.

        The nearest enclosing place is given when the path leads nowhere.
        """
        node, mark = self.root, None
        for key in keys:
            found = self._step(node, key)
            if found is None:
                break
            key_node, node = found
            mark = (key_node if of_key or node is None else node).start_mark
        if mark is None:
            return Place(self.path)
        return Place(self.path, mark.line + 1, mark.column + 1)

    def _step(self, node: yaml.Node | None, key: Hashable) -> _Entry | None:
        if isinstance(node, yaml.SequenceNode):
            known = isinstance(key, int) and key < len(node.value)
            return (node.value[key], node.value[key]) if known else None
        if not isinstance(node, yaml.MappingNode):
            return None
        if id(node) not in self._entries:
            self._entries[id(node)] = dict(_mapping_entries(node))
        return self._entries[id(node)].get(key)


def _mapping_entries(node: yaml.MappingNode, inside: frozenset[int] = frozenset()) -> Iterator[tuple[Hashable, _Entry]]:
    """Keys with their nodes; those of merged mappings first, so that own keys win."""
    inside = inside | {id(node)}
    for key_node, value_node in node.value:
        if key_node.tag == _MERGE:
            sources = value_node.value if isinstance(value_node, yaml.SequenceNode) else [value_node]
            for source in sources:
                if isinstance(source, yaml.MappingNode) and id(source) not in inside:
                    yield from _mapping_entries(source, inside)
    for key_node, value_node in node.value:
        if isinstance(key_node, yaml.ScalarNode):
            yield key_node.value, (key_node, value_node)
            if key_node.tag != _TEXT:
                yield read_scalar(key_node), (key_node, value_node)


def read_document(path: Path, findings: Findings, *, text: str | None = None) -> Document | None:
    """Parse `path`. A file that cannot be read or parsed gives one finding and no document."""
    try:
        content = path.read_text(encoding="utf-8") if text is None else text
    except UnicodeDecodeError as error:
        findings.error(Place(path), "yaml-syntax", f"is not UTF-8 text: {error.reason}")
        return None
    except OSError as error:
        findings.error(Place(path), "file-missing", f"cannot be read: {error.strerror}")
        return None
    try:
        loader = _Loader(content)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        findings.error(*syntax_error(path, content, error))
        return None
    document = Document(path, root)
    if root is not None and "*" in content and _written_out(root, {}) > _MOST_VALUES:
        message = f"its aliases (*name) come to more than {_MOST_VALUES} values when they are written out"
        findings.error(Place(path, 1, 1), "yaml-aliases", message, "an alias of aliases multiplies; write the values")
        return None
    if root is not None:
        document.data = _Builder(document, findings).value(root)
    return document


def _written_out(node: yaml.Node, known: dict[int, int]) -> int:
    """How many values a node makes with every alias in it written out. One that holds itself is told later."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in known:
        known[id(node)] = 0
        pairs = isinstance(node, yaml.MappingNode)
        parts = (part for item in node.value for part in (item if pairs else (item,)))
        known[id(node)] = 1 + sum(_written_out(part, known) for part in parts)
    return known[id(node)]


class _Builder:
    """Turns nodes into values; tells duplicate and unusable keys."""

    def __init__(self, document: Document, findings: Findings) -> None:
        self.path = document.path
        self.findings = findings
        self._open: set[int] = set()

    def place(self, node: yaml.Node) -> Place:
        return Place(self.path, node.start_mark.line + 1, node.start_mark.column + 1)

    def value(self, node: yaml.Node) -> Any:
        if node.tag not in _KNOWN_TAGS:
            hint = "remove it; Ansible knows !vault and !unsafe"
            self.findings.error(self.place(node), "yaml-tag", f"unknown tag {_tag_text(node.tag)}", hint)
            return None
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if id(node) in self._open:
            self.findings.error(self.place(node), "yaml-recursion", "refers to itself")
            return None
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.value(item) for item in node.value]
            return self._mapping(node)
        finally:
            self._open.discard(id(node))

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        if node.tag.startswith("!vault") and not str(node.value).lstrip().startswith("$ANSIBLE_VAULT;"):
            hint = "what ansible-vault encrypt_string prints begins with $ANSIBLE_VAULT"
            self.findings.error(self.place(node), "yaml-value", "is marked !vault and is not encrypted", hint)
            return None
        try:
            return read_scalar(node)
        except (ValueError, KeyError):
            self.findings.error(self.place(node), "yaml-value", f"cannot read {node.value!r} as {node.tag}")
            return None

    def _mapping(self, node: yaml.Node) -> dict[Any, Any]:
        built: dict[Any, Any] = {}
        merged: dict[Any, Any] = {}
        first: dict[Any, yaml.Node] = {}
        for key_node, value_node in node.value:
            if key_node.tag == _MERGE:
                for source in self._merge_sources(value_node):
                    merged = source | merged
                continue
            key = self._key(key_node)
            if key in first:
                before = first[key].start_mark.line + 1
                self.findings.error(
                    self.place(key_node),
                    "duplicate-key",
                    f'"{key}" stands here and in line {before}; Ansible would keep only the last',
                    "remove one of the two, or merge them",
                )
            first[key] = key_node
            built[key] = self.value(value_node)
        return merged | built

    def _key(self, node: yaml.Node) -> Hashable:
        if isinstance(node, yaml.ScalarNode):
            key = self._scalar(node)
            return key if isinstance(key, Hashable) else str(key)
        self.findings.error(
            self.place(node), "yaml-key", "a key must be text", 'quote a value that starts with "{{" or "["'
        )
        return f"line {node.start_mark.line + 1}"

    def _merge_sources(self, node: yaml.Node) -> Iterator[dict[Any, Any]]:
        sources: Sequence[yaml.Node] = node.value if isinstance(node, yaml.SequenceNode) else [node]
        for source in sources:
            value = self.value(source)
            if isinstance(value, dict):
                yield value
            else:
                self.findings.error(self.place(source), "yaml-merge", "<< needs a mapping to merge")


def _tag_text(tag: str) -> str:
    """A tag as it is written in a file."""
    return tag.replace("tag:yaml.org,2002:", "!!", 1)
