"""Writes docs/validate.md: `python tests/unit/site/write_validate_page.py`. Its examples are the cases beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hpcprov.errors import Finding
from hpcprov.paths import project_root
from hpcprov.site import check_site
from hpcprov.site.rules import rule_texts

CASES = Path(__file__).parent / "cases" / "wrong"
PAGE = project_root() / "docs" / "validate.md"
_WIDTH = 110
_HEAD = """\
# hpcprov validate

`hpcprov validate site.yaml` reads a site file, its `group_vars/` and `host_vars/`, and tells every mistake in one pass,
without touching a host. `hpcprov deploy` does the same first.

```text
site.yaml:9:7: partition-key: unknown key "MaxTim", did you mean "MaxTime"?
      - { name: main, nodes: compute, MaxTim: 90 }
                                      ^
```

- A finding is `file:line:column: rule: message`, the line with a caret, and what to write instead.
- An error stops; a warning (marked so) does not. Exit code 3 with an error, 0 with warnings only.
- `--json` prints a list of `{file, line, column, rule, level, message, hint}` and nothing else on stdout;
  `line` is 0 where the whole file is meant.
- `--rules` lists the rules. Their names are stable.
- The lines of a range (`node[001:064]`) are one finding, and secrets in a shown line are starred.
- Editors complete and check a site file with [inventory/site.schema.json](../inventory/site.schema.json):
  its first line `# yaml-language-server: $schema=site.schema.json` names it.

What needs a host is asked by [preflight](preflight.md); what a node has is compared when it is measured in a deploy.

## Rules

Each with an example: the line, what is said of it, and what to write instead.
"""


def page() -> str:
    """The text of the page."""
    examples = _examples()
    parts = [_HEAD]
    for name, about in sorted(rule_texts().items()):
        parts.append(f"### {name}\n\n{about}\n")
        if name in examples:
            parts.append("```text\n" + "\n".join(_shown(*examples[name])) + "\n```\n")
    return "\n".join(parts)


def _examples() -> dict[str, tuple[Finding, str]]:
    """For each rule a finding with its line: one that says what to write instead if there is one, and a short one."""
    found: dict[str, list[tuple[Finding, str]]] = {}
    for path in sorted(CASES.glob("*.yaml")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for finding in check_site(path).findings:
            line = lines[finding.line - 1] if finding.line else ""
            found.setdefault(finding.rule, []).append((finding, line))
    return {rule: min(members, key=lambda one: (one[0].hint is None, len(one[1]))) for rule, members in found.items()}


def _shown(finding: Finding, line: str) -> Iterator[str]:
    start = len(line) - len(line.lstrip())
    column = finding.column - 1 - start
    text = line.strip()
    if len(text) > _WIDTH:  # the part around the place
        cut = max(column - 10, 0)
        text, column = ("… " if cut else "") + text[cut : cut + 80] + " …", column - cut + (2 if cut else 0)
    if text:
        yield text
        yield " " * column + "^"
    yield f"{finding.level}: {finding.message}".replace(str(CASES) + "/", "")
    if finding.hint:
        yield f"instead: {finding.hint}".replace(str(CASES) + "/", "")


if __name__ == "__main__":
    PAGE.write_text(re.sub(r"\n{3,}", "\n\n", page()), encoding="utf-8")
