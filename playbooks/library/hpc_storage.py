#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Look at a host's shared directories: how they can be served, and whether they are there."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hpc_storage
short_description: Probe and check shared directories
description:
  - C(phase=probe), before anything is changed. On a host that serves, decides what C(auto) means there. On each host,
    tells a directory that is provided from outside from one that has to be mounted.
  - C(phase=check), at the end. Each path has to be there, mounted from the right place, and writable.
  - Changes nothing.
options:
  phase: {type: str, choices: [probe, check], required: true, description: What to do.}
  backend: {type: str, choices: [kernel, ganesha, external, auto], default: auto, description: What the site asks for.}
  exports: {type: list, elements: str, default: [], description: Directories that this host serves.}
  mounts:
    description: Directories that this host uses, from the filter C(hpcprov_storage_plan).
    type: list
    elements: dict
    default: []
  kernel: {type: bool, default: true, description: False while an image is made; its kernel is not the one that runs.}
  nfs_backend: {type: str, default: "", description: What the probe found; handed back for the report.}
  timeout: {type: int, default: 60, description: Seconds to wait for a mount to answer.}
author: [hpcprov]
"""

EXAMPLES = r"""
- name: probe | What serves the shared directories is known
  hpc_storage:
    phase: probe
    backend: auto
    exports: [/shared]
"""

RETURN = r"""
nfs_backend:
  description: kernel, ganesha or external; absent on a host that only mounts.
  type: str
  returned: on hosts that serve
actions:
  description: What has to be done per path (nfs, bind, none or external).
  type: dict
  returned: probe
"""

import errno
import os
import tempfile

from ansible.module_utils.basic import AnsibleModule

# File systems that come from elsewhere; whoever mounts one of them has not asked us to serve it again.
NETWORK_FILESYSTEMS = (
    "nfs",
    "nfs4",
    "lustre",
    "ceph",
    "fuse.ceph",
    "gpfs",
    "beegfs",
    "beegfs_nodev",
    "glusterfs",
    "fuse.glusterfs",
    "orangefs",
    "pvfs2",
    "wekafs",
    "cifs",
    "smb3",
    "9p",
    "virtiofs",
)
UNIT_DIR = "/etc/systemd/system"


class StorageError(Exception):
    """A shared directory cannot be had; the text says why and what to do."""


# ---------------------------------------------------------------- pure


def parse_mountinfo(text):
    """Mount point -> (file system type, source, options) of the topmost mount, from /proc/self/mountinfo."""
    mounts = {}
    for line in text.splitlines():
        left, _, right = line.partition(" - ")
        fields, kind = left.split(), right.split()
        if len(fields) >= 6 and len(kind) >= 2:
            point = fields[4].encode().decode("unicode_escape")
            mounts[point] = (kind[0], kind[1], fields[5])
    return mounts


def filesystem_of(path, mounts):
    """File system type of the mount that `path` lies on."""
    while path not in mounts and path != "/":
        path = os.path.dirname(path)
    return mounts.get(path, ("", "", ""))[0]


def decide_server(backend, host, exports, mounts, has_nfsd, our_mounts):
    """What `backend` means on a host that serves `exports`. Raises StorageError."""
    if backend != "auto":
        if backend == "kernel" and not has_nfsd:
            raise StorageError(
                "the kernel of %s has no nfsd, so it cannot serve NFS. Use nfs_backend: ganesha, or external when the "
                "directory is provided from outside" % host
            )
        return backend
    from_outside = [path for path in exports if path in mounts and path not in our_mounts]
    if exports and all(path in from_outside and mounts[path][0] in NETWORK_FILESYSTEMS for path in exports):
        return "external"
    # The kernel cannot export what lies on the overlay of a container.
    if has_nfsd and not any(filesystem_of(path, mounts) == "overlay" for path in exports):
        return "kernel"
    if exports and len(from_outside) == len(exports):
        return "external"
    missing = [path for path in exports if path not in from_outside]
    why = "its kernel has no nfsd"
    if has_nfsd:
        why = "%s lies on the overlay of a container" % (missing or exports)[0]
    raise StorageError(
        "%s cannot serve %s: %s, and nothing is mounted there from outside. Use nfs_backend: ganesha, or mount a "
        "shared volume there on all hosts" % (host, " and ".join(missing), why)
    )


def decide_mount(backend, host, mount, mounts, is_ours):
    """What has to be done for one path on a host that uses it. Raises StorageError."""
    path, action = mount["path"], mount["action"]
    present = path in mounts and not is_ours
    if action == "nfs" and present:
        kind, source, _ = mounts[path]
        if source == mount["what"] and kind.startswith("nfs"):
            return "nfs"
        if backend == "auto":
            return "external"
        raise StorageError(
            "%s on %s is already a mount of %s (%s), the site says %s. Unmount it, or say nfs_backend: external"
            % (path, host, source, kind, mount["what"])
        )
    if action == "bind" and present and backend == "auto":
        return "external"
    if action == "external" and mount["check"] == "mount" and path not in mounts:
        raise StorageError(
            "%s is no mount on %s, and no host of group storage exports it. Mount it, add it to nfs_exports, or name "
            "the server in nfs_mounts (check: directory accepts a plain directory)" % (path, host)
        )
    return action


def check_mount(host, mount, mounts):
    """Raise StorageError when a path is not what it has to be."""
    path, action = mount["path"], mount["action"]
    kind, source, options = mounts.get(path, ("", "", ""))
    if action == "nfs":
        if not kind.startswith("nfs"):
            raise StorageError("%s is not mounted on %s: journalctl -u %s" % (path, host, mount["unit"]))
        if source != mount["what"]:
            raise StorageError(
                "%s on %s is mounted from %s, the site says %s. Drain the node, umount %s, and run again"
                % (path, host, source, mount["what"], path)
            )
    if action in ("external", "bind") and mount["check"] == "mount" and not kind:
        raise StorageError("%s is no mount on %s" % (path, host))
    wants_ro = "ro" in (mount.get("options") or "").split(",")
    if kind and "ro" in options.split(",") and not wants_ro:
        raise StorageError("%s is mounted read-only on %s" % (path, host))


# ---------------------------------------------------------------- the host


def read(path):
    """Text of a file of the kernel."""
    with open(path) as handle:
        return handle.read()


def knows_filesystem(module, name):
    """Whether the kernel has a file system, built in or as a module (which is loaded, except in check mode)."""
    if not module.params["kernel"]:
        return True
    if any(line.split()[-1] == name for line in read("/proc/filesystems").splitlines()):
        return True
    if not module.get_bin_path("modprobe"):
        return False
    options = ["-q"] + (["-n"] if module.check_mode else [])
    return module.run_command(["modprobe", *options, name])[0] == 0


def has_our_unit(unit):
    """Whether we have written the mount unit."""
    return os.path.exists(os.path.join(UNIT_DIR, unit))


def probe(module, host):
    """Decide what is served and what has to be mounted."""
    parameters = module.params
    mounts = parse_mountinfo(read("/proc/self/mountinfo"))
    result = {"actions": {}}
    ours = [mount["path"] for mount in parameters["mounts"] if has_our_unit(mount["unit"])]
    if parameters["exports"]:
        has_nfsd = parameters["backend"] in ("auto", "kernel") and knows_filesystem(module, "nfsd")
        result["nfs_backend"] = decide_server(
            parameters["backend"], host, parameters["exports"], mounts, has_nfsd, ours
        )
    for mount in parameters["mounts"]:
        action = decide_mount(parameters["backend"], host, mount, mounts, mount["path"] in ours)
        if action == "nfs" and not knows_filesystem(module, "nfs"):
            raise StorageError(
                "the kernel of %s cannot mount NFS (no module nfs), so it cannot use %s of %s"
                % (host, mount["path"], mount["server"])
            )
        result["actions"][mount["path"]] = action
    return result


def is_reachable(module, path):
    """Use a path as a job would, which mounts it; a dead server does not hold us up for ever."""
    rc, _, err = module.run_command(["timeout", str(module.params["timeout"]), "ls", "-d", path + "/."])
    if rc == 124:
        return "does not answer within %d s" % module.params["timeout"]
    return "" if rc == 0 else err.strip().splitlines()[-1]


def try_to_write(path, host):
    """A share that refuses root (root_squash) is fine, one that refuses everybody is not."""
    try:
        handle, name = tempfile.mkstemp(prefix=".hpcprov-", dir=path)
        os.close(handle)
        os.unlink(name)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EPERM):
            raise StorageError("%s on %s cannot be written: %s" % (path, host, os.strerror(error.errno))) from error


def check(module, host):
    """Prove each path."""
    for mount in module.params["mounts"]:
        why = is_reachable(module, mount["path"])
        if why:
            raise StorageError("%s on %s: %s" % (mount["path"], host, why))
        check_mount(host, mount, parse_mountinfo(read("/proc/self/mountinfo")))
        if mount["action"] == "external":
            try_to_write(mount["path"], host)


def main():
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "phase": {"type": "str", "choices": ["probe", "check"], "required": True},
            "backend": {"type": "str", "choices": ["kernel", "ganesha", "external", "auto"], "default": "auto"},
            "exports": {"type": "list", "elements": "str", "default": []},
            "mounts": {"type": "list", "elements": "dict", "default": []},
            "kernel": {"type": "bool", "default": True},
            "nfs_backend": {"type": "str", "default": ""},
            "timeout": {"type": "int", "default": 60},
        },
        supports_check_mode=True,
    )
    host = os.uname()[1].split(".")[0]
    result = {}
    try:
        if module.params["phase"] == "probe":
            result = probe(module, host)
        elif not module.check_mode:
            check(module, host)
    except StorageError as error:
        module.fail_json(msg=str(error))
    if module.params["nfs_backend"]:
        result["nfs_backend"] = module.params["nfs_backend"]
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
