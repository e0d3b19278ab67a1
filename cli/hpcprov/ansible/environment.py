"""The environment that Ansible runs in: the project's ansible.cfg and plugins, whatever the current directory is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from hpcprov.paths import project_root


def environment() -> dict[str, str]:
    """Variables for `ansible-playbook`, to be laid over the caller's own environment."""
    root = project_root()
    return {
        "ANSIBLE_CONFIG": str(root / "ansible.cfg"),
        "ANSIBLE_ROLES_PATH": str(root / "roles"),
        "ANSIBLE_LIBRARY": str(root / "playbooks" / "library"),
        "ANSIBLE_ACTION_PLUGINS": str(root / "playbooks" / "action_plugins"),
        "ANSIBLE_FILTER_PLUGINS": str(root / "playbooks" / "filter_plugins"),
        "ANSIBLE_MODULE_UTILS": str(root / "playbooks" / "module_utils"),
        # ansible-runner switches the check off wherever nobody says otherwise.
        "ANSIBLE_HOST_KEY_CHECKING": "True",
        # Ansible writes to a pseudo terminal here, yet its output ends in a log.
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_FORCE_COLOR": "0",
        # The ansible that this Python has, not one that happens to come first in PATH.
        "PATH": os.pathsep.join([str(Path(sys.prefix) / "bin"), os.environ.get("PATH", os.defpath)]),
    }
