"""What was deployed last: `deployed.json` in the state directory of a site, readable by its owner only.

A part is recorded when the phase that puts it in place was done on all hosts that it concerns (see `parts`), and stays
as it was otherwise. So a plan never calls a thing done that a host has not got, and may tell again what a narrower run
did for some:

- a run with --tags or --check records nothing: nobody can say what of a part it did;
- --from and --to, a failure and Ctrl-C record the phases that were done before;
- with --limit, or on the hosts that are left after some were lost, Slurm's files are recorded when the controllers were
  part of the run (they are written there, from the whole site), accounts when the databases were, exports when the
  storage hosts were, the rest only when every host was. Hosts are recorded one by one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from hpcprov.phases import Phase
from hpcprov.plan.description import SCHEMA, Description
from hpcprov.plan.parts import PARTS, SLURM
from hpcprov.rundir import write_atomically
from hpcprov.secrets import private_dir
from hpcprov.site import Site

NAME = "deployed.json"


@dataclass(frozen=True)
class Scope:
    """What a run did: the hosts (of the inventory) on which each phase ended well."""

    hosts: Mapping[str, Collection[str]]

    def covers(self, part: str, site: Site) -> bool:
        """Whether the part is in place now wherever it belongs."""
        rule = PARTS[part]
        wanted = site.cluster_hosts if rule.group is None else site.group(rule.group)
        return rule.phase in self.hosts and {host.name for host in wanted} <= set(self.hosts[rule.phase])


def load(state_dir: Path) -> tuple[Description | None, str]:
    """The last deploy, and a sentence where there is a file that is of no use."""
    path = state_dir / NAME
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, f"{path} cannot be read: {error.strerror}"
    try:
        found = Description.model_validate_json(text)
    except ValidationError:
        return None, f"{path} was written by another hpcprov, or is damaged; what was deployed before is not known"
    if found.schema_version != SCHEMA:
        return None, f"{path} has schema {found.schema_version}, this hpcprov reads {SCHEMA}"
    return found, ""


def record(site: Site, now: Description, scope: Scope) -> bool:
    """Keep what the run did. False where it did nothing that can be kept."""
    before, _ = load(site.state_dir)
    merged = merge(before, now, scope, site)
    if merged is None:
        return False
    private_dir(site.state_dir)
    text = merged.model_dump_json(indent=1, by_alias=True) + "\n"
    write_atomically(site.state_dir / NAME, text)
    return True


def forget(state_dir: Path) -> None:
    """The hosts are gone, and with them all that was deployed."""
    (state_dir / NAME).unlink(missing_ok=True)


def merge(before: Description | None, now: Description, scope: Scope, site: Site) -> Description | None:
    """What is in place after a run; None when that is nothing new."""
    done = [part for part in PARTS if part in now.parts and scope.covers(part, site)]
    slurm = bool(now.files) and all(scope.covers(part, site) for part in SLURM)
    hosts = _hosts(before, now, scope)
    if not done and not slurm and not hosts:
        return None
    parts = {**(before.parts if before else {}), **{part: now.parts[part] for part in done}}
    if hosts and "hosts" not in done:
        parts["hosts"] = hosts
    return Description(
        schema=SCHEMA,
        saved=datetime.now().astimezone().isoformat(timespec="seconds"),
        cluster=now.cluster,
        release=now.release if slurm or before is None else before.release,
        files=now.files if slurm else before.files if before else {},
        parts=parts,
    )


def _hosts(before: Description | None, now: Description, scope: Scope) -> dict[str, dict[str, str]]:
    """The hosts after a run that had some of them; none when it did not come to them."""
    done = scope.hosts.get(Phase.BASE, ())
    mine = {name: values for name, values in now.parts.get("hosts", {}).items() if name in done}
    return mine and {**(before.parts.get("hosts", {}) if before else {}), **mine}
