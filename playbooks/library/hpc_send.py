#!/usr/bin/python
"""Documentation of the action hpc_send, which does its work on the control host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hpc_send
short_description: Send many files to a directory of a host in one stream
description:
  - An action plugin. Files go through the open connection as one stream and appear under their names when whole.
  - Nothing is compared; the caller sends what is missing and checks hashes where the files are used.
options:
  files: {type: list, elements: path, required: true, description: Files on the control host.}
  dest: {type: path, required: true, description: Directory on the host; it has to exist.}
author: [hpcprov]
"""

EXAMPLES = r"""
- name: environment | Wheels that the share lacks are sent
  hpc_send:
    files: [/tmp/numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl]
    dest: /shared/software/.wheels
"""

RETURN = r"""
sent: {description: Names of the files that were sent., type: list, returned: always}
"""
