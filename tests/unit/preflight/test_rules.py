"""Each rule against what hosts really print: one case file for each situation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hpcprov.paths import project_root
from hpcprov.preflight.report import render
from hpcprov.preflight.rules import load_rules, run_rules

from .cluster_look import PROBES, look

CASES = sorted((Path(__file__).parent / "cases").glob("*/*.yaml"))


def read(path: Path) -> dict[str, Any]:
    case: dict[str, Any] = yaml.safe_load(path.read_text())
    return case


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_case(path: Path) -> None:
    case = read(path)
    assert render(run_rules(look(case))) == (case["expect"] or "").splitlines()


def test_each_rule_has_a_case_that_finds_and_one_that_does_not() -> None:
    found = {
        match.group(1)
        for path in CASES
        for line in (read(path)["expect"] or "").splitlines()
        if (match := re.search(r"^\w+: .*\(([\w-]+)\)$", line))
    }
    assert found == set(load_rules())
    assert {path.parent.name for path in CASES} == {*load_rules(), "healthy"}


@pytest.mark.parametrize("path", sorted(PROBES.glob("*.txt")), ids=lambda path: path.stem)
def test_saved_probe_is_complete(path: Path) -> None:
    from hpcprov.preflight.facts import parse

    facts = parse(path.read_text())
    assert facts.complete and facts.privileged and facts.hostname == "node01"
    assert facts.system.family and facts.pythons and facts.memory_mib and facts.cpus and facts.disk and facts.inodes
    assert facts.mounts["/"] and facts.listeners and facts.interfaces["10.89.101.21"]
    assert all(facts.writable.values())


def test_docs_name_each_rule_with_its_reason() -> None:
    page = (project_root() / "docs" / "preflight.md").read_text()
    assert re.findall(r"^\| `([\w-]+)` \|", page, re.M) == list(load_rules())


def test_each_rule_says_why() -> None:
    for name, entry in load_rules().items():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name) and entry.about.endswith("."), name
