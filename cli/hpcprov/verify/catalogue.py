"""All checks with their names, read from tests/cluster without running anything."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hpcprov.paths import project_root


@dataclass(frozen=True)
class Check:
    """One check. `area` and `name` are words that `-k` accepts; `groups` is empty where it is about all hosts."""

    area: str
    name: str
    text: str
    groups: tuple[str, ...]
    per_host: bool


def checks(folder: Path | None = None) -> list[Check]:
    """The checks in the order in which they run: causes before what follows from them."""
    tests = folder or project_root() / "tests" / "cluster"
    order = _order(ast.parse((tests / "conftest.py").read_text(encoding="utf-8")))
    return [check for area in order for check in _of_file(tests / f"test_{area}.py", area)]


def table(found: Iterable[Check]) -> str:
    """As a table in Markdown, which docs/verify.md has."""
    lines = ["| `-k` | check | hosts |", "|---|---|---|"]
    lines += [f"| `{check.area}` `{check.name}` | {check.text} | {hosts(check)} |" for check in found]
    return "\n".join(lines) + "\n"


def hosts(check: Check) -> str:
    """Which hosts a check is about, in words."""
    if not check.per_host:
        return "the site"
    return ", ".join(check.groups) if check.groups else "all"


def _order(tree: ast.Module) -> list[str]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ORDER":
            return [str(name) for name in ast.literal_eval(node.value)]
    raise LookupError("tests/cluster/conftest.py has no ORDER")


def _of_file(path: Path, area: str) -> Iterator[Check]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    shared = next(
        (
            _groups([node.value])
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
        ),
        (),
    )
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            asked = {argument.arg for argument in node.args.args}
            text = (ast.get_docstring(node) or node.name).splitlines()[0].rstrip(".")
            per_host = bool(asked & {"probe", "part", "node", "told"})
            yield Check(area, node.name.removeprefix("test_"), text, _groups(node.decorator_list) or shared, per_host)


def _groups(marks: Iterable[ast.expr]) -> tuple[str, ...]:
    for mark in marks:
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.groups":
            if any(isinstance(argument, ast.Starred) for argument in mark.args):
                from hpcprov.verify.expect import MUNGE_GROUPS

                return MUNGE_GROUPS
            return tuple(str(ast.literal_eval(argument)) for argument in mark.args)
    return ()
