"""What an input file says, read without the importers: each of it must be told."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import yaml
from hpcprov.slurm.read import read

# Line and word; the word must stand in what is told about the line.
Said = tuple[int, str]


def slurm(text: str, path: Path) -> Iterator[Said]:
    for line in read(text, path):
        for setting in line.settings:
            yield setting.place.line, setting.key


def ini(text: str, _: Path) -> Iterator[Said]:
    for number, line in enumerate(text.splitlines(), 1):
        said = line.strip()
        if not said or said[0] in "#;":
            continue
        if said.startswith("["):
            yield number, said.strip("[]").split(":")[0]
        else:
            bare = re.sub(r"'[^']*'|\"[^\"]*\"", "''", re.split(r"\s#", said)[0])
            yield from ((number, name) for name in re.findall(r"([A-Za-z_]\w*)\s*=", bare))
            if "=" not in bare.split()[0]:
                yield number, ""


def yaml_inventory(text: str, _: Path) -> Iterator[Said]:
    """Groups, hosts and the names of their variables."""

    def group(node: yaml.Node) -> Iterator[Said]:
        for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
            if key.value == "vars":
                yield from ((name.start_mark.line + 1, name.value) for name, _ in value.value)
            elif key.value == "hosts":
                for host, variables in value.value:
                    yield host.start_mark.line + 1, ""
                    if isinstance(variables, yaml.MappingNode):
                        yield from ((name.start_mark.line + 1, name.value) for name, _ in variables.value)
            elif key.value == "children":
                yield from groups(value)

    def groups(node: yaml.Node) -> Iterator[Said]:
        for name, content in node.value if isinstance(node, yaml.MappingNode) else ():
            if name.value != "all":
                yield name.start_mark.line + 1, name.value
            yield from group(content)

    yield from groups(yaml.compose(text, yaml.SafeLoader))


def variables(text: str, _: Path) -> Iterator[Said]:
    node = yaml.compose(text, yaml.SafeLoader)
    yield from ((name.start_mark.line + 1, name.value) for name, _ in node.value)


def cells(text: str, _: Path) -> Iterator[Said]:
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if not line.startswith("#"))
    delimiter = ";" if ";" in lines[start] else ","
    header = [re.sub(r"\W+", "_", name.lower()) for name in lines[start].split(delimiter)]
    for number, row in enumerate(csv.reader(lines[start + 1 :], delimiter=delimiter), start + 2):
        yield from ((number, name) for name, cell in zip(header, row, strict=True) if cell)


def addresses(text: str, _: Path) -> Iterator[Said]:
    """Every MAC and IP address and name in quotes, wherever it is told."""
    bare = re.sub(r"(?m)(?:^|\s)(?://|#).*$|(?s:/\*.*?\*/)", "", text)
    yield from ((0, found) for found in re.findall(r"(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}|\d+(?:\.\d+){3}", bare))


def lines(text: str, _: Path) -> Iterator[Said]:
    for number, line in enumerate(text.splitlines(), 1):
        if line.split("#")[0].strip():
            yield number, ""


READERS = {
    "slurm.conf": slurm,
    "gres.conf": slurm,
    "cgroup.conf": slurm,
    "topology.conf": slurm,
    "slurmdbd.conf": slurm,
    "inventory": ini,
    "hosts.ini": ini,
    "inventory.yml": yaml_inventory,
    "nodes.yml": yaml_inventory,
    "all.yml": variables,
    "nodes.csv": cells,
    "mapping.csv": cells,
    "dhcpd.conf": addresses,
    "dhcpd.leases": addresses,
    "dnsmasq.conf": addresses,
    "dnsmasq.leases": addresses,
    "kea-dhcp4.conf": addresses,
    "kea-leases4.csv": addresses,
    "hosts": lines,
}
