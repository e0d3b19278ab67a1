"""Names of hosts, of the cluster and of its domain."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hpcprov.errors import Finding
from hpcprov.site.model import is_address, short_name
from hpcprov.site.rules.registry import Draft, rule
from hpcprov.site.templating import is_template

_LABEL = re.compile(r"^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$")
_CLUSTER = re.compile(r"^[a-z][a-z0-9_-]*$")


def label_problem(label: str) -> str | None:
    """Why `label` is no DNS label, if so."""
    if len(label) > 63:
        return f"is {len(label)} characters long; a label has at most 63"
    if "_" in label:
        return "holds an underscore; a host name has letters, digits and hyphens"
    if label.startswith("-") or label.endswith("-"):
        return "starts or ends with a hyphen"
    if not _LABEL.match(label):
        return "is no DNS label: letters, digits and hyphens only" if label else "holds an empty label"
    return None


@rule("host-name")
def host_names(draft: Draft) -> Iterator[Finding]:
    """A host's first label becomes its hostname and its NodeName, so it must be a DNS label."""
    told = set()
    for host in draft.site.cluster_hosts:
        place = draft.host_place(host.name)
        problem = _host_name_problem(host.name)
        # One finding for a range such as node_[001:064], not sixty-four.
        if problem and (place, problem[0]) not in told:
            told.add((place, problem[0]))
            yield place.finding("host-name", f'host name "{host.name}" {problem[0]}', hint=problem[1])


def _host_name_problem(name: str) -> tuple[str, str | None] | None:
    if is_address(name):
        return "is an address; Slurm needs a name", f"write a name with ansible_host: {name}"
    for label in name.split("."):
        problem = label_problem(label)
        if problem:
            good = re.sub(r"[^a-z0-9.-]+", "-", name.lower()).strip("-")
            return problem, f'for example "{good}"' if len(label) <= 63 and good else None
    return ("is longer than 253 characters", None) if len(name) > 253 else None


@rule("short-name-twice")
def short_names(draft: Draft) -> Iterator[Finding]:
    """NodeName and hostname are the first label, so that label must be the host's alone."""
    owners: dict[str, str] = {}
    for host in draft.site.cluster_hosts:
        first = owners.setdefault(host.node_name.lower(), host.name)
        if first == host.name or is_address(host.name):
            continue
        line = draft.host_place(first).line
        same = "differ only by case" if first.lower() == host.name.lower() else f'are both "{host.node_name}" for Slurm'
        yield draft.host_place(host.name).finding(
            "short-name-twice",
            f'"{host.name}" and "{first}" (line {line}) {same}',
            hint="give one of them another name",
        )


@rule("host-and-group-name")
def host_and_group(draft: Draft) -> Iterator[Finding]:
    """One name for a host and a group: Ansible and partitions cannot tell which is meant."""
    for name, entry in draft.tree.hosts.items():
        if name in draft.tree.groups:
            yield entry.place.finding(
                "host-and-group-name", f'"{name}" is a host and a group', level="warning", hint="rename one of them"
            )


@rule("cluster-name")
def cluster_name(draft: Draft) -> Iterator[Finding]:
    """Slurm's ClusterName; slurmdbd keeps it in lower case, and state lies under it."""
    name, place = draft.site.cluster_name, draft.site_place("cluster_name")
    if not name:
        yield place.finding("cluster-name", "cluster_name is not set", hint="write it under all: vars:")
    elif is_template(name):
        yield place.finding("cluster-name", f'cluster_name stays the template "{name}"', hint="write the name itself")
    elif not _CLUSTER.match(name) or len(name) > 40:
        good = re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-_")[:40]
        yield place.finding(
            "cluster-name",
            f'cluster_name "{name}" must be lower-case letters, digits, "-" and "_", at most 40',
            hint=f'for example "{good}"' if _CLUSTER.match(good) else None,
        )


@rule("cluster-name-differs")
def cluster_name_differs(draft: Draft) -> Iterator[Finding]:
    """Variables of the whole site have one value; a second one on a host or group splits the cluster."""
    for variable in ("cluster_name", "cluster_network", "cluster_domain"):
        common: str | None = None
        for host in draft.site.cluster_hosts:
            value = host.vars.get(variable)
            if value is None:
                continue
            if common is None:
                common = str(value)
            elif str(value) != common:
                yield draft.place_of(host, variable).finding(
                    "cluster-name-differs",
                    f'{variable} is "{value}" for {host.name}, "{common}" for others',
                    hint="write it once, under all: vars:",
                )
                break


@rule("cluster-domain")
def cluster_domain(draft: Draft) -> Iterator[Finding]:
    """The domain of the hosts' full names."""
    domain = draft.site.cluster_domain
    problems = [problem for label in domain.split(".") if (problem := label_problem(label))]
    if problems and not is_template(domain):
        yield draft.site_place("cluster_domain").finding(
            "cluster-domain", f'cluster_domain "{domain}" {problems[0]}', hint="for example cluster.internal"
        )


@rule("host-alias")
def aliases(draft: Draft) -> Iterator[Finding]:
    """Further names of a host are names of that host alone."""
    owners = {name: host.name for host in draft.site.cluster_hosts for name in (host.name, short_name(host.name))}
    for host in draft.site.cluster_hosts:
        names = host.vars.get("cluster_aliases")
        for index, name in enumerate(names if isinstance(names, list) else []):
            place = draft.place_of(host, "cluster_aliases", index)
            problem = next((p for label in str(name).split(".") if (p := label_problem(label))), None)
            if problem:
                yield place.finding("host-alias", f'alias "{name}" {problem}')
            elif owners.setdefault(str(name), host.name) != host.name:
                yield place.finding("host-alias", f'alias "{name}" belongs to host {owners[str(name)]}')
