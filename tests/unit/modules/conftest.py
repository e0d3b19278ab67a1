"""Run our Ansible modules in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args


@pytest.fixture
def run_module(capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Call `main()` of a module with arguments; gives what it reports to Ansible."""

    def run(module: ModuleType, *, check: bool = False, **arguments: Any) -> dict[str, Any]:
        arguments = {**arguments, "_ansible_check_mode": check, "_ansible_diff": True}
        with patch_module_args(arguments), pytest.raises(SystemExit):
            module.main()
        return json.loads(capsys.readouterr().out)

    return run
