"""From a site file to a Site, or to everything that is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcprov.errors import Finding
from hpcprov.site.document import Document, read_document
from hpcprov.site.findings import Findings, Place, errors_of, site_error, without_consequences
from hpcprov.site.folding import fold_ranges
from hpcprov.site.model import DEFAULT_DOMAIN, Host, Site, build_host, short_name, text_of
from hpcprov.site.reader import read_tree
from hpcprov.site.rules import Draft, run_rules
from hpcprov.site.templating import Resolver, holds_template
from hpcprov.site.tree import Layer, Tree
from hpcprov.site.variables import Variables


@dataclass(frozen=True)
class Report:
    """The outcome of a check. `site` is there unless a finding is an error, `draft` where hosts could be read."""

    site: Site | None
    findings: list[Finding]
    draft: Draft | None = None


def load_site(path: Path) -> Site:
    """Read and check a site file. Raises SiteError with all findings when one of them is an error."""
    report = check_site(path)
    if report.site is None:
        raise site_error(path, report.findings)
    return report.site


def load_draft(path: Path) -> Draft:
    """As `load_site`, with the places where everything was written."""
    report = check_site(path)
    if report.site is None or report.draft is None:
        raise site_error(path, report.findings)
    return report.draft


def check_site(path: Path, *, text: str | None = None) -> Report:
    """Read a site file and tell every mistake in one pass. `text` is judged as if the file held it."""
    findings = Findings()
    draft = _draft(path, findings, text)
    if draft is not None:
        run_rules(draft, findings)
    told = without_consequences(findings.ordered())
    ordered = fold_ranges(told, draft.site.hosts if draft is not None else ())
    site = draft.site if draft is not None and not errors_of(ordered) else None
    return Report(site, ordered, draft)


def _draft(path: Path, findings: Findings, text: str | None) -> Draft | None:
    document = _readable(path, findings, text)
    if document is None:
        return None
    tree = read_tree(document, findings)
    variables = Variables(tree, path.resolve().parent, findings)
    if not tree.hosts:
        if not errors_of(findings.items):
            findings.error(Place(path), "no-hosts", "names no hosts", "add hosts to the groups of the site")
        return None
    return _Assembly(path, tree, variables).draft(misread=bool(errors_of(findings.items)))


def _readable(path: Path, findings: Findings, text: str | None) -> Document | None:
    """The document, unless it is no YAML inventory at all."""
    obstacle = _not_yaml(path)
    if obstacle is not None:
        findings.error(Place(path), *obstacle)
        return None
    document = read_document(path, findings, text=text)
    if document is None:
        return None
    obstacle = _not_inventory(document)
    if obstacle is not None:
        findings.error(document.place(*_first_key(document)), *obstacle)
        return None
    return document


def _not_yaml(path: Path) -> tuple[str, str, str] | None:
    """Rule, message and hint when the file cannot be a YAML inventory."""
    if path.is_dir():
        return "file-missing", "is a directory", "name the file itself, such as site.yaml"
    if path.suffix not in (".yaml", ".yml", ".json") and path.exists():
        hint = "Ansible reads YAML only from such names; rename the file"
        return "file-name", "must end in .yaml, .yml or .json", hint
    if _starts_with(path, b"$ANSIBLE_VAULT;"):
        hint = "decrypt it with ansible-vault, and encrypt the secrets in it alone: ansible-vault encrypt_string"
        return "encrypted", "is encrypted as a whole, and hpcprov reads it without Ansible", hint
    if _is_ini(path):
        hint = f"make a site file of it: hpcprov import {path} --output site.yaml"
        return "ini-inventory", "is an INI inventory, expected YAML", hint
    return None


def _not_inventory(document: Document) -> tuple[str, str, str] | None:
    """Rule, message and hint when the YAML is something else."""
    if document.data is None or document.data == {}:
        return "no-hosts", "is empty", "inventory/site.yaml is a complete example"
    if not isinstance(document.data, dict):
        hint = 'write "all:" and below it "children:" with the groups'
        return "not-an-inventory", "must be a mapping of groups", hint
    if "plugin" in document.data:
        return "not-an-inventory", "is the configuration of an inventory plugin", "name the site file itself"
    return None


def _first_key(document: Document) -> list[str]:
    return list(document.data)[:1] if isinstance(document.data, dict) else []


def _starts_with(path: Path, mark: bytes) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(len(mark)) == mark
    except OSError:
        return False


def _is_ini(path: Path) -> bool:
    """Whether the first line that says something is an INI section such as `[compute]`."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    for line in lines:
        text = line.split("#", 1)[0].strip()
        if text and not text.startswith(";"):
            return text.startswith("[") and text.endswith("]") and "," not in text
    return False


class _Assembly:
    """Puts hosts together from the tree and its variables."""

    def __init__(self, path: Path, tree: Tree, variables: Variables) -> None:
        self.path = path
        self.tree = tree
        self.variables = variables
        self.members = {name: list(hosts) for name, hosts in tree.members().items()}
        self._group_values: dict[tuple[str, ...], tuple[dict[str, Any], list[Layer]]] = {}
        self._templated: dict[int, bool] = {}

    def draft(self, *, misread: bool) -> Draft:
        hosts = {name: self._host(name) for name in self.tree.hosts}
        shared = self._resolved({}, self._merged(("all",)))
        site = Site(
            path=self.path,
            cluster_name=self._site_text("cluster_name", hosts, shared) or "",
            cluster_network=self._site_text("cluster_network", hosts, shared) or "",
            cluster_domain=self._site_text("cluster_domain", hosts, shared) or DEFAULT_DOMAIN,
            hosts=hosts,
            groups=self.members,
            vars=shared,
            children={name: list(entry.children) for name, entry in self.tree.groups.items() if entry.children},
        )
        return Draft(site, self.tree, self.variables, misread)

    def _site_text(self, name: str, hosts: dict[str, Host], shared: dict[str, Any]) -> str | None:
        """A variable of the whole site. One that stands on a group counts too, as the roles would see it."""
        if name in shared:
            return text_of(shared[name])
        for host in (*self.members.get("controller", []), *hosts):
            if name in hosts[host].vars:
                return text_of(hosts[host].vars[name])
        return None

    def _host(self, name: str) -> Host:
        entry = self.tree.hosts[name]
        groups = self.variables.group_names(entry)
        raw = dict(self._merged(groups))
        for layer in self.variables.host_layers(entry):
            raw.update(layer.values)
        magic = {
            "inventory_hostname": name,
            "inventory_hostname_short": short_name(name),
            "group_names": sorted(group for group in groups if group != "all"),
        }
        return build_host(name, self._resolved(magic, raw), frozenset(groups))

    def _merged(self, groups: tuple[str, ...]) -> dict[str, Any]:
        if groups not in self._group_values:
            layers = self.variables.group_layers(groups)
            merged: dict[str, Any] = {}
            for layer in layers:
                merged.update(layer.values)
            merged.pop("ansible_group_priority", None)  # a property of the group, not a variable of its hosts
            self._group_values[groups] = merged, layers
        return self._group_values[groups][0]

    def _resolved(self, magic: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
        file = self.path.resolve()
        world = {"inventory_dir": str(file.parent), "inventory_file": str(file), "groups": self.members}
        resolver = Resolver({**raw, **world, **magic}, self._holds_template)
        return {name: resolver.get(name) for name in raw}

    def _holds_template(self, value: object) -> bool:
        """As `holds_template`, remembered for the lists and mappings that all hosts share."""
        if not isinstance(value, dict | list):
            return holds_template(value)
        if id(value) not in self._templated:
            self._templated[id(value)] = holds_template(value)
        return self._templated[id(value)]
