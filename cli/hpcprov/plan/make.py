"""Make the plan of a site: read what was deployed, ask the controller, compare."""

from __future__ import annotations

from collections.abc import Collection

from hpcprov.errors import SiteError
from hpcprov.phases import PLAYBOOKS
from hpcprov.plan import live as controller
from hpcprov.plan import state
from hpcprov.plan.compare import Plan, Run, compare
from hpcprov.plan.description import of_site
from hpcprov.plan.live import Live
from hpcprov.site import Host, Site
from hpcprov.slurm.errors import SlurmConfigError


def make(site: Site, hosts: Collection[Host], phases: Collection[str] = PLAYBOOKS) -> Plan:
    """The plan of a deploy of these phases on these hosts. Raises SiteError when Slurm's files cannot be made."""
    return against(site, controller.ask(site), hosts, phases)


def against(site: Site, live: Live | None, hosts: Collection[Host], phases: Collection[str]) -> Plan:
    """The same, with a controller that was asked already."""
    saved, trouble = state.load(site.state_dir)
    try:
        wanted = of_site(site)
    except SlurmConfigError as error:
        raise SiteError(
            f"{site.path}: Slurm's files cannot be made of it",
            why="\n".join(error.problems),
            hint="correct the site file",
        ) from error
    plan = compare(site, saved, wanted, live, Run(set(phases), {host.name for host in hosts}))
    if not trouble:
        return plan
    return Plan(**{**vars(plan), "notes": (trouble, *plan.notes)})
