"""What groups of other tools are called, and which of our groups they are.

Names are compared in lower case with `_` for `-`. Facts from the published inventories of DeepOps, the OpenHPC role
and the Slurm appliance of StackHPC, BlueBanquise, Omnia, ElastiCluster, galaxyproject.slurm, nebari-slurm, fgci,
TrinityX and oci-hpc.
"""

from __future__ import annotations

import re

from hpcprov.site.model import GROUPS

# One name: the roles of its hosts.
ROLES: dict[str, tuple[str, ...]] = {
    # our own
    **{name: (name,) for name in GROUPS},
    # DeepOps
    "slurm_master": ("controller", "database"),
    "slurm_node": ("compute",),
    "slurm_login": ("login",),
    "slurm_nfs": ("storage",),
    "slurm_metric": ("monitoring",),
    "slurm_monitoring": ("monitoring",),
    # StackHPC
    "control": ("controller",),
    "batch": ("compute",),
    "mysql": ("database",),
    "nfs_server": ("storage",),
    "prometheus": ("monitoring",),
    "grafana": ("monitoring",),
    # BlueBanquise, new and old
    "fn_management": ("controller", "database", "provisioner"),
    "fn_compute": ("compute",),
    "fn_login": ("login",),
    "fn_loging": ("login",),
    "fn_storage": ("storage",),
    "mg_managements": ("controller", "database", "provisioner"),
    "mg_computes": ("compute",),
    "mg_logins": ("login",),
    "mg_storages": ("storage",),
    # Omnia, new and old
    "slurm_control_node": ("controller", "database"),
    "manager": ("controller", "database"),
    "login_node": ("login",),
    "login_compiler_node": ("login",),
    "nfs_node": ("storage",),
    "oim": ("provisioner",),
    # ElastiCluster
    "slurm_worker": ("compute",),
    "slurm_workers": ("compute",),
    "slurm_clients": ("compute",),
    "slurm_submit": ("login",),
    "frontend": ("controller", "database"),
    # galaxyproject.slurm
    "slurmservers": ("controller",),
    "slurmdbdservers": ("database",),
    "slurmexechosts": ("compute",),
    # others
    "hpc_master": ("controller", "database"),
    "hpc_worker": ("compute",),
    "hpc_node": ("compute",),
    "head": ("controller", "database"),
    "headnode": ("controller", "database"),
    "head_node": ("controller", "database"),
    "bastion": ("controller", "database", "login"),
    "slurm_backup": ("controller",),
    "slurm_control": ("controller",),
    "slurm_controller": ("controller",),
    "slurmctld": ("controller",),
    "slurmdbd": ("database",),
    "slurm_dbd": ("database",),
    "slurmd": ("compute",),
    "slurm_compute": ("compute",),
    "computes": ("compute",),
    "compute_nodes": ("compute",),
    "compute_node": ("compute",),
    "compute_configured": ("compute",),
    "compute_to_add": ("compute",),
    "gpu_nodes": ("compute",),
    "nodes": ("compute",),
    "workers": ("compute",),
    "submit": ("login",),
    "logins": ("login",),
    "user_interface": ("login",),
    "nfs": ("storage",),
    "fileserver": ("storage",),
    "install": ("provisioner",),
    "db": ("database",),
    "mariadb": ("database",),
}
# The last word of a name such as atlas_control, where nothing else is known of it.
_LAST = {"control": ("controller",), "login": ("login",), "compute": ("compute",), "batch": ("compute",)}

# Groups that only hold others.
CONTAINERS = frozenset({"all", "ungrouped", "slurm_cluster", "openhpc", "cluster", "hpc", "nodes_all", "slurm"})

# Groups of services that hpcprov does not install.
SERVICES = {
    **dict.fromkeys(
        ("kube_master", "kube_node", "kube_control_plane", "k8s_cluster", "etcd", "calico_rr", "vault"),
        "hpcprov makes no Kubernetes cluster",
    ),
    **dict.fromkeys(("auth_server", "freeipa", "ldap", "ipa"), "hpcprov installs no directory service"),
    **dict.fromkeys(("slurm_cache", "slurm_apt_mirror", "docker_registry"), "hpcprov needs no such service"),
}


def normal(name: str) -> str:
    """The name as the tables have it."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return re.sub(r"^(?:service_)?(.*?)(?:_(?:x86_64|aarch64))?$", r"\1", plain)


def roles_of(name: str) -> tuple[str, ...]:
    """Our groups for a group of another tool; none when the name says nothing."""
    plain = normal(name)
    if plain in ROLES:
        return ROLES[plain]
    return () if plain in SERVICES else _LAST.get(plain.rpartition("_")[2], ())


# What the name of a host says, where no file tells what it is for.
_NAMES = (
    (r"(?:head|ctl|slurmctld?|control(?:ler)?|mgmt|mngt|mgt|management|master|admin|adm|mn)", ("controller",)),
    (r"(?:login|lgn|fe|frontend|submit|ui)", ("login",)),
    (r"(?:db|sql|mysql|mariadb|slurmdbd?)", ("database",)),
    (r"(?:nfs|stor|store|storage|nas|fileserver|fs)", ("storage",)),
    (r"(?:boot|pxe|prov|deploy)", ("provisioner",)),
)


def guessed_roles(host: str) -> tuple[str, ...]:
    """What a host is for, guessed by its name: a compute node unless the name says otherwise."""
    shape = r"(?:[-_]?(?:node|server|srv|host))?[-_]?\d*"
    return next((roles for sign, roles in _NAMES if re.fullmatch(sign + shape, host.lower())), ("compute",))
