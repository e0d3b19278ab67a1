"""Whole configurations, right and wrong. A new case is a folder in lint_cases/; what is expected stands in `expect`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hpcprov.errors import Finding
from hpcprov.main import main
from hpcprov.paths import project_root
from hpcprov.slurm.keys import releases
from hpcprov.slurm.lint import KINDS, lint, rule_texts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lint_oracle_cases import CASES as ORACLE_CASES

CASES = sorted(path for path in (Path(__file__).parent / "lint_cases").iterdir())


def named(folder: Path) -> list[Path]:
    """The files to name on the command line: slurm.conf leads to the rest."""
    whole = folder / "slurm.conf"
    return [whole] if whole.exists() else sorted(path for path in folder.iterdir() if path.name != "expect")


def told(findings: list[Finding]) -> list[str]:
    return [
        f"{f.file.name}:{f.line}:{f.column} {f.level} {f.rule}: " + f.message.replace(f"{f.file.parent}/", "")
        for f in findings
    ]


def release_of_case(folder: Path) -> str | None:
    return {"versions": "24.05", "old": "23.11", "cgroup_release": "23.02"}.get(folder.name)


@pytest.mark.parametrize("folder", CASES, ids=lambda path: path.name)
def test_case(folder: Path) -> None:
    for path in folder.glob("slurmdbd.conf"):
        path.chmod(0o644)
    found = told(lint(named(folder), release=release_of_case(folder)))
    assert found == (folder / "expect").read_text().splitlines()


def test_every_rule_is_broken_by_a_case() -> None:
    lines = [line for folder in CASES for line in (folder / "expect").read_text().splitlines()]
    broken = {line.split(" ")[2].rstrip(":") for line in lines} | {case.rule for case in ORACLE_CASES}
    assert set(rule_texts()) - broken == {"file"}


def test_every_rule_says_why() -> None:
    assert [name for name, text in rule_texts().items() if len(text) < 20 or not text.endswith(".")] == []


def test_the_page_lists_every_rule() -> None:
    page = (project_root() / "docs" / "slurm-lint.md").read_text()
    listed = re.findall(r"^\| `([\w-]+)` \| (.*) \|$", page.partition("## Rules")[2], re.MULTILINE)
    assert dict(listed) == rule_texts()


def test_every_error_says_what_to_write_instead() -> None:
    assert [str(f) for folder in CASES for f in lint(named(folder)) if f.level == "error" and not f.hint] == []


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "slurm.conf"
    path.write_text("ClusterName=t\nSlurmctldHost=h\nStateSaveLocation=/s\nKilWait=3\nNodeName=n CPUs=1 RealMemory=5\n")
    with path.open("a") as stream:
        stream.write("PartitionName=p Nodes=ALL Default=YES\n")
    assert main(["slurm", "lint", str(path)]) == 3
    shown = capsys.readouterr()
    assert shown.out == (
        f'{path}:4:1: unknown-key: slurm.conf has no option "KilWait"\n'
        '    KilWait=3\n    ^\n    did you mean "KillWait"?\n'
    )
    assert shown.err.endswith("1 error\n")


def test_folder_stands_for_its_files() -> None:
    folder = CASES[0].parent / "gres_wrong"
    assert told(lint([folder])) == (folder / "expect").read_text().splitlines()


def test_json_is_all_that_stdout_gets(capsys: pytest.CaptureFixture[str]) -> None:
    folder = CASES[0].parent / "topology_apart"
    assert main(["slurm", "lint", "--json", str(folder / "slurm.conf")]) == 0
    shown = capsys.readouterr()
    [finding] = json.loads(shown.out)
    assert list(finding) == ["file", "line", "column", "rule", "level", "message", "hint"]
    assert (finding["level"], finding["rule"], shown.err) == ("warning", "topology-apart", "")


def test_password_is_never_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("security/slurm.conf", "dbd/slurmdbd.conf"):
        for option in ([], ["--json"]):
            main(["slurm", "lint", *option, str(CASES[0].parent / name)])
            shown = capsys.readouterr()
            assert "hunter2" not in shown.out + shown.err
            assert "ter2" not in shown.out + shown.err


@pytest.mark.parametrize("arguments", [[], ["x", "--kind", "foo.conf"], ["x", "--slurm-version", "19.05"]])
def test_usage(arguments: list[str]) -> None:
    assert main(["slurm", "lint", *arguments]) == 2


def test_files_are_told_by_content(tmp_path: Path) -> None:
    for number, (text, rule) in enumerate(
        [
            ("# c\nStoragePass=x\nFoo=1\n", "unknown-key"),
            ("Name=gpu File=/dev/x Foo=1\n", "unknown-key"),
            ("SwitchName=a Nodes=n Foo=1\n", "unknown-key"),
            ("ConstrainCores=maybe\n", "value"),
            ("nothing of Slurm\n", "file"),
        ]
    ):
        path = tmp_path / f"{number}.conf"
        path.write_text(text)
        assert rule in [finding.rule for finding in lint([path])]
    assert [finding.rule for finding in lint([tmp_path / "absent.conf"])] == ["file"]
    (tmp_path / "slurm.conf").write_bytes(b"\x7fELF\0")
    assert [finding.message for finding in lint([tmp_path / "slurm.conf"])] == ["cannot be read: it is no text file"]


TEXT = (
    r"NodeName= PartitionName= Nodes= n[1-3] n[1:3] CPUs=4 = # Gres=gpu:2 SwitchName= Switches= BlockSizes= a ALL YES "
    r"File=/dev/x[0-1] Cores=0-3 Name=gpu include"
)
WORDS = st.sampled_from([*TEXT.split(), "\n", "\\\n", " ", '"'])


@given(st.lists(WORDS, max_size=30), st.sampled_from(KINDS), st.sampled_from([None, *releases()]))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_crashes_it(tmp_path: Path, words: list[str], kind: str, release: str | None) -> None:
    path = tmp_path / kind
    path.write_text("".join(words))
    for finding in lint([path], release=release):
        assert finding.message
    path.unlink()
