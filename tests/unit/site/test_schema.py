"""The JSON Schema that editors use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hpcprov.paths import project_root
from hpcprov.site.schema import json_schema
from jsonschema import Draft202012Validator

INVENTORY = project_root() / "inventory"


def test_schema_file_is_in_step() -> None:
    again = "python -m hpcprov.site.schema > inventory/site.schema.json"
    assert (INVENTORY / "site.schema.json").read_text() == json_schema(), f"run {again}"


@pytest.mark.parametrize("name", ["site.yaml", "lab.yaml"])
def test_our_sites_fit_the_schema(name: str) -> None:
    validator = Draft202012Validator(json.loads(json_schema()))
    site = yaml.safe_load((INVENTORY / name).read_text())
    assert [error.message for error in validator.iter_errors(site)] == []


def test_schema_refuses_a_wrong_site() -> None:
    validator = Draft202012Validator(json.loads(json_schema()))
    assert list(validator.iter_errors({"compute": {"host": {"c1": None}}}))
    assert list(validator.iter_errors({"all": {"vars": {"nfs_backend": "kernal"}}}))
    assert Path(INVENTORY / "site.yaml").read_text().startswith("# yaml-language-server: $schema=site.schema.json")
