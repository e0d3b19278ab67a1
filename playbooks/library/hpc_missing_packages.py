#!/usr/bin/python
"""Which packages are not installed, without opening the package manager's index."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hpc_missing_packages
short_description: Name the packages that are not installed
description:
  - Asks the package database (dpkg or rpm) once. That takes a few milliseconds, where apt and dnf need seconds to open
    their indexes only to find that there is nothing to do.
options:
  names: {type: list, elements: str, required: true, description: Package names without versions.}
author: [hpcprov]
"""

EXAMPLES = r"""
- name: packages | What is missing is known
  hpc_missing_packages: {names: [munge, slurmd]}
  register: __missing
"""

RETURN = r"""
missing: {description: The packages that are not installed., type: list, returned: always}
"""

from ansible.module_utils.basic import AnsibleModule


def dpkg_missing(module, names):
    """Names that dpkg does not hold as installed; a virtual package counts when something provides it."""
    _, out, _ = module.run_command(
        ["dpkg-query", "--show", "--showformat", "${db:Status-Abbrev}|${Package}|${Provides}\n"]
    )
    installed = set()
    for line in out.splitlines():
        status, package, provides = line.split("|", 2)
        if status.startswith("ii"):
            installed.add(package)
            installed.update(item.split()[0] for item in provides.split(",") if item.strip())
    return [name for name in names if name.split("=")[0].split(":")[0] not in installed]


def rpm_missing(module, names):
    """Names that no installed rpm provides."""
    rc, out, _ = module.run_command(["rpm", "--query", "--whatprovides", *names])
    if rc == 0:
        return []
    return [name for name in names if "no package provides %s\n" % name in out + "\n"]


def main():
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={"names": {"type": "list", "elements": "str", "required": True}}, supports_check_mode=True
    )
    names = module.params["names"]
    find = dpkg_missing if module.get_bin_path("dpkg-query") else rpm_missing
    module.exit_json(changed=False, missing=find(module, names) if names else [])


if __name__ == "__main__":
    main()
