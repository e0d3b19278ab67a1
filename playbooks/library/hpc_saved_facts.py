#!/usr/bin/python
"""Keep the facts of hosts on the control host, one JSON file each."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hpc_saved_facts
short_description: Save the facts of hosts beside the site file
description:
  - Runs on the control host. What derives from the whole site (slurm.conf, reports) reads these files, so a run that
    is limited to one node, or a node that is down, changes nothing for the others.
  - Never reports a change; the saved facts are the control host's memory, not a state of the cluster.
options:
  directory: {type: path, required: true, description: Where the files go.}
  facts: {type: dict, required: true, description: Facts by host name.}
author: [hpcprov]
"""

EXAMPLES = r"""
- name: measure | The facts are saved
  hpc_saved_facts: {directory: /srv/site/.hpcprov/lab/facts, facts: {node01: {}}}
  delegate_to: localhost
"""

RETURN = r"""
saved: {description: Hosts whose facts differ from the saved ones., type: list, returned: always}
"""

import json
import os
import tempfile
import time

from ansible.module_utils.basic import AnsibleModule


def save(path, facts):
    """Write the facts unless the file already holds them; tell whether it was written."""
    record = {"facts": facts, "source": "hpc_node_facts"}
    try:
        with open(path) as handle:
            before = json.load(handle)
        known = before.get("facts") or {}
        # A node without Slurm (a check of a fresh one) must not erase what it said when it had it.
        if known == facts or (known.get("slurmd_c") and not facts.get("slurmd_c")):
            return False
    except (OSError, ValueError):
        pass
    record["time"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path))
    with os.fdopen(handle, "w") as stream:
        json.dump(record, stream, indent=2, sort_keys=True)
        stream.write("\n")
    os.rename(temporary, path)
    return True


def main():
    """Entry point of the module."""
    module = AnsibleModule(
        argument_spec={
            "directory": {"type": "path", "required": True},
            "facts": {"type": "dict", "required": True},
        },
        supports_check_mode=True,
    )
    directory = module.params["directory"]
    if not os.path.isdir(directory):
        os.makedirs(directory, 0o700)
    facts = module.params["facts"]
    saved = [host for host in sorted(facts) if save(os.path.join(directory, host + ".json"), facts[host])]
    module.exit_json(changed=False, saved=saved)


if __name__ == "__main__":
    main()
