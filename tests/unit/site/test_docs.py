"""Sites that the documentation shows must be right: they are what a new user starts from."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from hpcprov.paths import project_root
from hpcprov.site import check_site

ROOT = project_root()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^( *)```ya?ml\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


def whole_sites(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of each YAML block that names controllers and compute nodes."""
    for block in _BLOCK.finditer(text):
        site = textwrap.dedent(block.group(2))
        if all(re.search(rf"^\s*{group}:", site, re.MULTILINE) for group in ("controller", "compute")):
            yield text.count("\n", 0, block.start(2)) + 1, site


SITES = {f"{page.name}:{line}": site for page in PAGES for line, site in whole_sites(page.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("where", SITES)
def test_site_in_the_documentation_is_valid(where: str, tmp_path: Path) -> None:
    path = tmp_path / "site.yaml"
    path.write_text(SITES[where], encoding="utf-8")
    assert [str(finding) for finding in check_site(path).findings] == []


def test_the_readme_shows_a_site() -> None:
    assert any(where.startswith("README.md:") for where in SITES)


def test_parts_of_a_site_are_left_alone() -> None:
    text = "1. x\n\n   ```yaml\n   controller:\n   compute:\n   ```\n\n```yaml\nslurm_config: {}\n```\n"
    assert list(whole_sites(text)) == [(4, "controller:\ncompute:\n")]
