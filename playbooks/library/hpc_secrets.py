#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Make the secrets of a site on the control host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hpc_secrets
short_description: Make the munge key and the database password of a site, once
description:
  - Creates C(secrets/munge.key) and C(secrets/database_password) below I(state_dir) with mode 0600.
  - A file that exists is never read and never replaced, so it may be encrypted with ansible-vault.
  - Runs on the control host, C(delegate_to) localhost with C(run_once) and C(become) false. No secret is returned.
options:
  state_dir:
    description: Directory beside the site file that keeps what belongs to the site (C(cluster_state_dir)).
    type: path
    required: true
author: hpcprov
"""

EXAMPLES = r"""
- name: secrets | Munge key and database password of the site exist
  hpc_secrets:
    state_dir: "{{ cluster_state_dir }}"
  delegate_to: localhost
  run_once: true
  become: false
"""

RETURN = r"""
created:
  description: Names of the files that were made now.
  type: list
  returned: always
munge_key_file:
  description: Path of the munge key.
  type: str
  returned: always
database_password_file:
  description: Path of the database password.
  type: str
  returned: always
"""

import sys
import traceback
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

try:
    from hpcprov.secrets import ensure

    IMPORT_ERROR = None
except ImportError:
    IMPORT_ERROR = traceback.format_exc()


def main() -> None:
    module = AnsibleModule(
        argument_spec={"state_dir": {"type": "path", "required": True}},
        supports_check_mode=True,
    )
    if IMPORT_ERROR:
        module.fail_json(
            msg=missing_required_lib("hpcprov", reason=f"in {sys.executable}: delegate this task to localhost"),
            exception=IMPORT_ERROR,
        )
    try:
        made = ensure(Path(module.params["state_dir"]), check=module.check_mode)
    except OSError as error:
        module.fail_json(msg=f"cannot keep secrets in {module.params['state_dir']}: {error.strerror}")
    module.exit_json(
        changed=bool(made.created or made.tightened),
        created=made.created,
        munge_key_file=str(made.munge_key),
        database_password_file=str(made.database_password),
    )


if __name__ == "__main__":
    main()
