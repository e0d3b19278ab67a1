#!/usr/bin/python
"""What a node says about itself, as far as Slurm, MPI and storage need to know."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hpc_node_facts
short_description: Hardware, cgroup layout, GPUs and Slurm's own view of a node
description:
  - Reads only. Gives C(ansible_facts.hpc_node), which the control host keeps in the site's state directory, so that
    slurm.conf can be written for nodes that are not part of a run.
options:
  cluster_network:
    description: CIDR whose interface is looked for.
    type: str
author: [hpcprov]
"""

EXAMPLES = r"""
- name: facts | The node is measured
  hpc_node_facts: {cluster_network: "{{ cluster_network }}"}
"""

RETURN = r"""
ansible_facts:
  description: C(hpc_node) with slurmd_c, slurm_version, cgroup, container, gpus, pmix, mpi_types, nfsd, interface.
  type: dict
  returned: always
"""

import glob
import ipaddress
import json
import os
import re
import struct

from ansible.module_utils.basic import AnsibleModule

NEEDED_CONTROLLERS = {"cpuset", "memory"}


def read(path, default=""):
    """Text of a file, `default` when it cannot be read."""
    try:
        with open(path) as handle:
            return handle.read()
    except OSError:
        return default


def cgroup_layout():
    """v2, v1, hybrid or none, and the controllers that jobs could be constrained with."""
    root = "/sys/fs/cgroup"
    if os.path.exists(root + "/cgroup.controllers"):
        return "v2", read(root + "/cgroup.controllers").split()
    v1 = [os.path.basename(p) for p in glob.glob(root + "/*") if os.path.exists(p + "/tasks")]
    hybrid = os.path.exists(root + "/unified/cgroup.controllers")
    if not v1:
        return "none", []
    return ("hybrid" if hybrid else "v1"), sorted(v1)


def in_container():
    """True in a container of any kind (systemd leaves the kind in the environment of PID 1)."""
    return (
        os.path.exists("/run/.containerenv")
        or os.path.exists("/.dockerenv")
        or bool(read("/run/systemd/container").strip())
    )


def gpus():
    """One entry per NVIDIA device node: its file, and its type from the driver where that is loaded."""
    found = []
    names = {}
    for path in glob.glob("/proc/driver/nvidia/gpus/*/information"):
        text = read(path)
        minor = re.search(r"Device Minor:\s*(\d+)", text)
        model = re.search(r"Model:\s*(.+)", text)
        if minor and model:
            names[int(minor.group(1))] = model.group(1).strip()
    for device in glob.glob("/dev/nvidia[0-9]*"):
        minor = int(re.sub(r"\D", "", device))
        found.append({"file": device, "model": names.get(minor), "type": gpu_type(names.get(minor))})
    return sorted(found, key=lambda gpu: int(re.sub(r"\D", "", gpu["file"])))


def gpu_type(model):
    """The word of a model name that admins use: "NVIDIA A100-SXM4-80GB" is a100."""
    if not model:
        return None
    words = re.sub(r"(?i)nvidia|tesla|geforce|quadro", "", model).replace("-", " ").split()
    named = [word.lower() for word in words if re.search(r"\d", word)]
    if not named:
        return None
    prefix = "rtx" if "RTX" in words else "gtx" if "GTX" in words else ""
    return prefix + named[0]


def interfaces():
    """Name and IPv4 address of every interface, through `ip`-less sysfs and one ioctl."""
    import fcntl
    import socket

    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    result = {}
    for name in sorted(os.listdir("/sys/class/net")):
        try:
            raw = fcntl.ioctl(probe.fileno(), 0x8915, struct.pack("256s", name[:15].encode()))  # SIOCGIFADDR
        except OSError:
            continue
        result[name] = socket.inet_ntoa(raw[20:24])
    probe.close()
    return result


def cluster_interface(network):
    """The interface whose address lies in `network`; None when there is none."""
    if not network:
        return None
    wanted = ipaddress.ip_network(network, strict=False)
    for name, address in interfaces().items():
        if ipaddress.ip_address(address) in wanted:
            return name
    return None


def slurm(module):
    """Version, `slurmd -C` and MPI plugins, as far as Slurm is installed."""
    facts = {"slurm_version": None, "slurmd_c": None, "mpi_types": [], "pmix": []}
    slurmd = module.get_bin_path("slurmd", opt_dirs=["/usr/sbin", "/usr/local/sbin", "/opt/slurm/sbin"])
    if not slurmd:
        return facts
    _, out, _ = module.run_command([slurmd, "-V"])
    version = re.search(r"(\d+\.\d+\.\d+\S*)", out)
    facts["slurm_version"] = version.group(1) if version else None
    rc, out, _ = module.run_command([slurmd, "-C"])
    if rc == 0:
        facts["slurmd_c"] = next((line for line in out.splitlines() if line.startswith("NodeName=")), None)
    plugins = set()
    for folder in ("/usr/lib/*/slurm*", "/usr/lib64/slurm", "/usr/lib/slurm", "/usr/local/lib/slurm"):
        for path in glob.glob(folder + "/mpi_*.so"):
            plugins.add(os.path.basename(path)[len("mpi_") : -len(".so")])
    facts["mpi_types"] = sorted(plugins)
    facts["pmix"] = sorted(name for name in plugins if name.startswith("pmix"))
    facts["gpu_nvml"] = bool(glob.glob("/usr/lib/*/slurm*/gpu_nvml.so") + glob.glob("/usr/lib64/slurm/gpu_nvml.so"))
    facts["cgroup_plugins"] = sorted(
        {
            os.path.basename(path)[len("cgroup_") : -len(".so")]
            for path in glob.glob("/usr/lib/*/slurm*/cgroup_v*.so") + glob.glob("/usr/lib64/slurm/cgroup_v*.so")
        }
    )
    return facts


def main():
    """Entry point of the module."""
    module = AnsibleModule(argument_spec={"cluster_network": {"type": "str"}}, supports_check_mode=True)
    layout, controllers = cgroup_layout()
    facts = {
        "cgroup": layout,
        "cgroup_controllers": controllers,
        "container": in_container(),
        "gpus": gpus(),
        "memory_mib": int(re.search(r"MemTotal:\s+(\d+)", read("/proc/meminfo")).group(1)) // 1024,
        "nfsd": "nfsd" in read("/proc/filesystems"),
        "interface": cluster_interface(module.params["cluster_network"]),
        "rdma": sorted(os.path.basename(path) for path in glob.glob("/sys/class/infiniband/*")),
        "python": ".".join(str(part) for part in __import__("sys").version_info[:3]),
        "glibc": os.confstr("CS_GNU_LIBC_VERSION") if hasattr(os, "confstr") else None,
        "machine": os.uname()[4],
    }
    facts.update(slurm(module))
    module.exit_json(changed=False, ansible_facts={"hpc_node": json.loads(json.dumps(facts))})


if __name__ == "__main__":
    main()
