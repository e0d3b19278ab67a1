"""docs/validate.md is in step with the rules."""

from __future__ import annotations

import re

from hpcprov.site.rules import rule_texts
from write_validate_page import PAGE, page


def test_page_is_in_step() -> None:
    again = "python tests/unit/site/write_validate_page.py"
    assert PAGE.read_text() == re.sub(r"\n{3,}", "\n\n", page()), f"run {again}"


def test_every_rule_has_an_example() -> None:
    sections = re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    named = {section.split("\n")[0]: "```" in section for section in sections}
    assert set(named) == set(rule_texts())
    assert {name for name, has_example in named.items() if not has_example} == {"file-missing", "file-name"}
