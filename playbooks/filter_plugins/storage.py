"""Shared directories of a host, for role storage: a thin wrapper over hpcprov.nfs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleFilterError
from hpcprov import nfs


def storage_plan(groups: Mapping[str, Sequence[str]], hostvars: Any, host: str, **options: Any) -> dict[str, Any]:
    """`hpcprov.nfs.plan` with an error that Ansible shows as a sentence."""
    try:
        return nfs.plan(groups, hostvars, host, **options)
    except nfs.NfsError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Filters that Ansible finds in this file."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter functions by name."""
        return {"hpcprov_storage_plan": storage_plan}
