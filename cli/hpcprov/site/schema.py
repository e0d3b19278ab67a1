"""The variables that a site file may set, with their types, and the JSON Schema made from them.

Ansible takes any variable at any level, so one model serves `vars:` and hosts. Unknown variables are the admin's.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, StrictBool, StrictInt, StrictStr

# A number, or a template that comes to one.
Template = Annotated[str, Field(pattern=r"\{\{|\{%|^\d+$", strict=True)]
Number = Annotated[StrictInt | Template, Field(union_mode="left_to_right")]
Text = StrictStr
# A whole number or text, such as 90 and "1-00:00:00".
Scalar = StrictBool | StrictInt | float | StrictStr
Free = dict[str, Scalar | list[Scalar] | None]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Open(BaseModel):
    model_config = ConfigDict(extra="allow")


class User(_Closed):
    """An ordinary user, present on all hosts with the same ids."""

    name: Text
    uid: Number
    gid: Number | None = Field(None, description="Id of the group of the same name; default the uid.")
    group: Text | None = Field(None, description="Primary group; default one of the same name and id.")
    groups: list[Text] | None = Field(None, description="Further groups; they have to exist.")
    home: Text | None = None
    create_home: StrictBool | None = None
    shell: Text | None = None
    comment: Text | None = None


class Partition(_Open):
    """A Slurm partition; any further key is Slurm's own, as MaxNodes or max_nodes."""

    name: Text
    nodes: Text | list[Text] | None = Field(
        None, description="A group, a Slurm hostlist such as node[001-064], or ALL."
    )
    default: StrictBool | None = None
    max_time: Text | StrictInt | None = Field(None, description='Minutes, or quoted text such as "1-00:00:00".')


class Gres(_Closed):
    """A generic resource with its device files."""

    name: Text
    type: Text | None = None
    count: Scalar | None = None
    file: Text | list[Text] | None = None
    flags: Text | None = None


class NfsExport(_Closed):
    """A directory that a storage host shares."""

    path: Text
    clients: list[Text] | None = Field(None, description="Networks or hosts; default cluster_network.")
    options: Text | None = Field(None, description="Options of exports(5).")


class NfsMount(_Closed):
    """A directory that the other hosts mount."""

    path: Text
    server: Text | None = Field(None, description="Default: the storage host that exports the path.")
    export: Text | None = Field(None, description="Path on the server; default the same.")
    options: Text | None = Field(None, description="Options of nfs(5).")
    check: Literal["mount", "directory"] | None = Field(None, description="A path from outside, and what it is.")


class Variables(_Open):
    """Variables of a site, a group or a host."""

    cluster_name: Text | None = Field(None, description="Name of the cluster, for Slurm too. Never change it later.")
    cluster_network: Text | None = Field(None, description="Network between the hosts, as 10.1.0.0/16.")
    cluster_domain: Text | None = Field(None, description="Domain of the hosts; default cluster.internal.")
    cluster_address: Text | None = Field(None, description="Address in cluster_network; default ansible_host.")
    cluster_aliases: list[Text] | None = Field(None, description="Further names of the host for the hosts file.")
    cluster_mac: Text | None = Field(None, description='MAC address, quoted: "52:54:00:12:34:56".')
    cluster_state_dir: Text | None = Field(None, description="Secrets, keys and saved facts on the control host.")
    cluster_users: list[User] | None = None
    cluster_smoke_user: User | None = Field(None, description="The user whose jobs prove the cluster.")
    bmc_address: Text | None = Field(None, description="Address of the management controller.")
    bmc_name: Text | None = None
    bmc_user: Text | None = None
    bmc_password: Text | None = None
    hpc_target: Literal["live", "image", "lab"] | None = None
    lab: dict[str, Any] | None = Field(None, description="Marks a site as a lab of local containers.")

    slurm_partitions: list[Partition] | None = Field(None, description="Default: the child groups of compute.")
    slurm_config: Free | None = Field(None, description="Any key of slurm.conf; wins over ours, null removes.")
    slurm_dbd_config: Free | None = Field(None, description="Any key of slurmdbd.conf.")
    slurm_cgroup_config: Free | None = Field(None, description="Any key of cgroup.conf.")
    slurm_accounts: list[dict[str, Any]] | None = None
    slurm_qos: list[dict[str, Any]] | None = None
    slurm_gres: Text | Gres | list[Text | Gres] | None = Field(
        None, description="As gpu:a100:4; default: what is there."
    )
    slurm_features: Text | list[Text] | None = None
    slurm_weight: Number | None = None
    slurm_node: Free | None = Field(None, description="NodeName keys that override what was measured.")

    nfs_backend: Literal["kernel", "ganesha", "external", "auto"] | None = None
    nfs_exports: list[NfsExport] | None = None
    nfs_mounts: list[NfsMount] | None = None
    nfs_clients: list[Text] | None = None

    ansible_host: Text | None = Field(None, description="Name or address for SSH; default the host's name.")
    ansible_port: Number | None = None
    ansible_user: Text | None = None
    ansible_connection: Text | None = None
    ansible_ssh_private_key_file: Text | None = None
    ansible_ssh_common_args: Text | None = None
    ansible_ssh_extra_args: Text | None = None
    ansible_python_interpreter: Text | None = None


class Group(_Closed):
    """A group of an inventory."""

    hosts: dict[str, Variables | None] | Text | None = Field(
        None, description="Hosts; a range is written node[001:064]."
    )
    children: dict[str, Group | None] | Text | None = None
    vars: Variables | None = None


class SiteFile(RootModel[dict[str, Group | None]]):
    """A site: an Ansible inventory in YAML."""


KNOWN = tuple(Variables.model_fields)


def json_schema() -> str:
    """The text of inventory/site.schema.json."""
    schema = SiteFile.model_json_schema()
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hpcprov site file",
        "$comment": "Generated: python -m hpcprov.site.schema > inventory/site.schema.json",
    }
    return json.dumps({**head, **{k: v for k, v in schema.items() if k != "title"}}, indent=2) + "\n"


if __name__ == "__main__":
    print(json_schema(), end="")
