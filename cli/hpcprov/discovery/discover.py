"""`hpcprov discover`: the survey, and the change of the site file that follows from it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from hpcprov.discovery import store
from hpcprov.discovery.names import inventory_names
from hpcprov.discovery.new_site import Found, default_cluster_name, new_site
from hpcprov.discovery.reach import Access
from hpcprov.discovery.survey import Survey
from hpcprov.discovery.update import update
from hpcprov.errors import SiteError, UsageError
from hpcprov.paths import state_dir
from hpcprov.site import Site, check_site
from hpcprov.site.edit import Edit
from hpcprov.site.model import short_name


@dataclass
class Proposal:
    """What discover would write. `names` has what each target is called in the site."""

    edit: Edit
    is_new: bool
    cluster_name: str
    names: dict[str, str]
    notes: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """The site says all of it already."""
        return self.edit.before == self.edit.after


def site_names(result: Survey, site: Site | None) -> dict[str, str]:
    """A name for each host that answered: hosts of the site keep theirs."""
    known = {name: name for name in result.found if site and name in site.hosts}
    taken = [short_name(name) for name in site.hosts] if site else []
    return known | inventory_names({name: facts for name, facts in result.found.items() if name not in known}, taken)


def propose(path: Path, site: Site | None, result: Survey, access: Access, cluster_name: str | None) -> Proposal:
    """The new text of a site file. Nothing is written.

    `site` is the one at `path`, None where there is none yet. Raises UsageError when nothing was found, and what
    the edits raise.
    """
    if not result.found:
        raise UsageError("no host answered, so there is nothing to write")
    names = site_names(result, site)
    hosts = [Found(names[name], result.targets[name], facts) for name, facts in result.found.items()]
    if site is None:
        name = cluster_name or default_cluster_name(path)
        text = new_site(hosts, access, name)
        return Proposal(Edit(path, "", text, check_site(path, text=text)), True, name, names)
    network = ipaddress.ip_network(site.cluster_network)
    known = {host.name: host.facts for host in hosts if host.name in site.hosts}
    made = update(site, known, [host for host in hosts if host.name not in site.hosts], network)
    notes = [f"{name}: new, in group {group}: {why}" for name, (group, why) in made.placed.items()] + made.notes
    return Proposal(made.edit, False, site.cluster_name, names, notes)


def create(edit: Edit) -> None:
    """Write a new site file. Raises UsageError; never overwrites one that appeared meanwhile."""
    try:
        edit.path.parent.mkdir(parents=True, exist_ok=True)
        with edit.path.open("x", encoding="utf-8") as stream:
            stream.write(edit.after)
    except FileExistsError:
        raise UsageError(f"{edit.path} appeared meanwhile", hint="try again") from None
    except OSError as error:
        raise UsageError(f"{edit.path} cannot be written: {error.strerror}") from error


def save_facts(path: Path, cluster_name: str, result: Survey, names: dict[str, str]) -> Path:
    """Keep the facts beside the site file. Returns the folder. Raises UsageError."""
    try:
        return store.save(
            state_dir(path, cluster_name),
            {names[target]: facts for target, facts in result.found.items()},
            {names[target]: result.targets[target].route.address for target in result.found},
        )
    except OSError as error:
        raise UsageError(f"facts cannot be saved beside {path}: {error.strerror}") from error


def existing(path: Path) -> Site | None:
    """The site at `path`, None where there is no file. Raises SiteError when it is not valid."""
    if not path.exists():
        if path.suffix not in (".yaml", ".yml"):
            raise UsageError(f"{path} must end in .yaml or .yml", hint="Ansible reads YAML only from such names")
        return None
    report = check_site(path)
    if report.site is None:
        raise SiteError(
            f"{path} is not valid, so nothing can be added to it",
            report.findings,
            hint="mend it first, or name a new file with --site",
        )
    return report.site
