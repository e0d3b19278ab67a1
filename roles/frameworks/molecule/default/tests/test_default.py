"""Role frameworks: users on every node work with the environment on the share, and a failed build changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

PYTHON = "/shared/software/scikit-learn/current/bin/python"
FIT = (
    "import sklearn.linear_model as m, numpy as n; x = n.arange(9.).reshape(-1, 1);"
    " print(round(float(m.LinearRegression().fit(x, 3 * x + 1).predict([[100.]])[0][0])))"
)


@pytest.fixture
def node01(nodes: Callable[[str], Any]) -> Any:
    return nodes("node01")


@pytest.mark.groups("compute")
def test_user_of_a_node_works_with_the_framework(node: Any) -> None:
    assert node.check_output("runuser -u hpcsmoke -- %s -c %s", PYTHON, FIT) == "301"


def test_environment_is_a_build_of_its_own_behind_a_link(node01: Any) -> None:
    link = node01.file("/shared/software/scikit-learn/current")
    assert link.is_symlink
    builds = node01.check_output("find /shared/software/scikit-learn -mindepth 1 -maxdepth 1 -type d -not -name '.*'")
    assert builds.split() == [node01.check_output("readlink -f /shared/software/scikit-learn/current")]


def test_users_cannot_change_it(node01: Any) -> None:
    """SEC-06, also for what the installer leaves behind."""
    assert node01.check_output("find /shared/software -perm -0002 ! -type l") == ""
    refused = node01.run("runuser -u hpcsmoke -- touch /shared/software/scikit-learn/current/bin/mine")
    assert refused.rc != 0


def test_modulefile_leads_to_it(node01: Any) -> None:
    files = node01.check_output("find /shared/software/modulefiles/scikit-learn -name '*.lua'").split()
    assert files
    assert "/shared/software/scikit-learn/" in node01.file(files[0]).content_string


def test_nodes_have_no_pip_of_their_own(node01: Any) -> None:
    """The wheels came from the control host: there is nothing on a node that could have fetched them."""
    assert not node01.package("python3-pip").is_installed
