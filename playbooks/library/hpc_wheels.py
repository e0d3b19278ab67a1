#!/usr/bin/python
"""Resolve the Python wheels of a framework on the control host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: hpc_wheels
short_description: Wheels for the nodes' Python, resolved on the control host
description:
  - Runs on the control host (C(delegate_to) localhost), with its own pip configuration. Calls C(hpcprov.wheels), so
    a set that C(hpcprov deploy) has begun to resolve in the background is waited for, and one that is in the cache
    costs nothing and needs no network.
options:
  framework: {type: str, required: true, description: Which framework., choices: [pytorch, tensorflow, scikit-learn]}
  version: {type: str, default: "", description: 'Its version, with a local label if need be; empty is the newest.'}
  packages: {type: list, elements: str, default: [], description: Requirements that are installed beside it.}
  pip_options: {type: list, elements: str, default: [], description: Further options for pip on this machine.}
  target:
    type: dict
    required: true
    description: What will run the wheels.
    options:
      python: {type: str, required: true, description: 'Version of Python, such as 3.11.2.'}
      machine: {type: str, required: true, description: 'Machine, such as x86_64.'}
      glibc: {type: str, required: true, description: 'Version of the C library, such as 2.36.'}
      accelerator: {type: str, default: cpu, choices: [cpu, cuda], description: Build of the framework.}
  present: {type: list, elements: str, default: [], description: File names of wheels that the host has.}
author: [hpcprov]
"""

EXAMPLES = r"""
- name: wheels | Wheels of PyTorch are on the control host
  hpc_wheels:
    framework: pytorch
    target: {python: 3.11.2, machine: x86_64, glibc: "2.36"}
  delegate_to: localhost
"""

RETURN = r"""
lock:
  description: >-
    C(hash), C(version) of the framework, C(imports), C(warm) and C(wheels) (name, version, filename, sha256, size).
  type: dict
  returned: always
missing: {description: Paths of the wheels that the host lacks., type: list, returned: always}
resolved: {description: Whether pip had to resolve now., type: bool, returned: always}
"""

import traceback
from dataclasses import asdict

from ansible.module_utils.basic import AnsibleModule, missing_required_lib

try:
    from hpcprov.errors import HpcprovError
    from hpcprov.wheels import FRAMEWORKS, Request, Target, resolve

    IMPORT_ERROR = None
except ImportError:
    IMPORT_ERROR = traceback.format_exc()


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "framework": {"type": "str", "required": True, "choices": ["pytorch", "tensorflow", "scikit-learn"]},
            "version": {"type": "str", "default": ""},
            "packages": {"type": "list", "elements": "str", "default": []},
            "pip_options": {"type": "list", "elements": "str", "default": []},
            "target": {
                "type": "dict",
                "required": True,
                "options": {
                    "python": {"type": "str", "required": True},
                    "machine": {"type": "str", "required": True},
                    "glibc": {"type": "str", "required": True},
                    "accelerator": {"type": "str", "default": "cpu", "choices": ["cpu", "cuda"]},
                },
            },
            "present": {"type": "list", "elements": "str", "default": []},
        }
    )
    if IMPORT_ERROR:
        module.fail_json(msg=missing_required_lib("hpcprov"), exception=IMPORT_ERROR)
    params = module.params
    request = Request(
        framework=params["framework"],
        target=Target(**params["target"]),
        version=params["version"],
        packages=tuple(params["packages"]),
        pip_options=tuple(params["pip_options"]),
    )
    try:
        lock = resolve(request, say=module.log)
        framework = FRAMEWORKS[request.framework]
        version = lock.version_of(framework.project_in(lock))
    except HpcprovError as error:
        text = ": ".join(part for part in (error.message, error.why, error.hint) if part)
        module.fail_json(msg=text, journal=error.journal)
    for warning in lock.warnings:
        module.warn(warning)
    module.exit_json(
        changed=False,
        resolved=lock.resolved_now,
        missing=[str(lock.directory / w.filename) for w in lock.wheels if w.filename not in params["present"]],
        lock={
            "key": lock.key,
            "hash": lock.hash,
            "version": version,
            "imports": list(framework.imports),
            "warm": list(framework.warm),
            "module": framework.module,
            "wheels": [asdict(wheel) for wheel in lock.wheels],
        },
    )


if __name__ == "__main__":
    main()
