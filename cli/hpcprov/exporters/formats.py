"""The formats by name. A new one is a new module with one function, and a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from hpcprov.exporters.ansible import ansible
from hpcprov.exporters.clustershell import clustershell
from hpcprov.exporters.genders import genders
from hpcprov.exporters.hosts import hosts
from hpcprov.exporters.ssh_config import ssh_config
from hpcprov.site.rules import Draft

FORMATS: Mapping[str, Callable[[Draft], str]] = MappingProxyType(
    {
        "ansible": ansible,
        "hosts": hosts,
        "clustershell": clustershell,
        "genders": genders,
        "ssh-config": ssh_config,
    }
)
