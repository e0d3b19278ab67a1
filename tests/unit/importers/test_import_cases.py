"""Whole inputs and the sites that come of them. A new case is a folder in cases/ with expect.yaml beside its files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hpcprov.importers.notes import Fate, Note
from hpcprov.importers.report import report, to_json
from hpcprov.importers.run import Imported, import_files
from hpcprov.site import check_site
from inputs import READERS

CASES = sorted((Path(__file__).parent / "cases").iterdir())
# Read because they lie beside slurm.conf.
_BESIDE = ("gres.conf", "cgroup.conf", "topology.conf", "slurmdbd.conf")


def inputs(folder: Path) -> list[Path]:
    """The files to name on the command line."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != "expect.yaml")
    return [path for path in files if path.name not in _BESIDE]


def imported(folder: Path) -> Imported:
    return import_files(inputs(folder), Path("site.yaml"))


def parameters() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("folder", CASES, ids=lambda path: path.name)


@parameters()
def test_site(folder: Path) -> None:
    text = imported(folder).text.replace(f"{folder}/", "")
    assert text == (folder / "expect.yaml").read_text()


@parameters()
def test_what_validate_says_is_what_the_admin_is_told_to_fill_in(folder: Path, tmp_path: Path) -> None:
    result = imported(folder)
    path = tmp_path / "site.yaml"
    path.write_text(result.text)
    errors = [(one.line, one.rule) for one in check_site(path).findings if one.level == "error"]
    told = [(note.place.line, note.key) for note in result.notes if note.fate is Fate.FILL and "-" in note.key]
    assert set(errors) <= set(told) | {(note.place.line, note.key) for note in result.notes if note.fate is Fate.FILL}
    # A site that could be filled in needs no other repair than what only the admin can know.
    admin_only = {"cluster-name", "cluster-network", "nfs-nothing", "address-missing", "group-missing", "mac"}
    assert {rule for _, rule in errors} <= admin_only | ({"address-twice"} if folder.name == "openhpc" else set())


@parameters()
def test_nothing_is_dropped_in_silence(folder: Path) -> None:
    notes = imported(folder).notes
    for path in (one for one in folder.rglob("*") if one.is_file() and one.name != "expect.yaml"):
        mine = [note for note in notes if note.place.file.resolve() == path.resolve()]
        for line, word in READERS[path.name](path.read_text(), path):
            told = [note for note in mine if line in (0, note.place.line) and _tells(note, word)]
            assert told, f"{path}:{line}: nothing is told about {word or 'this line'}"


def _tells(note: Note, word: str) -> bool:
    plain = word.lower()
    return plain in f"{note.key} {note.what} {note.result}".lower()


@parameters()
def test_no_secret_is_copied_or_shown(folder: Path) -> None:
    result = imported(folder)
    for text in (result.text, report(result.notes), to_json(result.notes)):
        assert "hunter2" not in text
        assert "hunte" not in text


@parameters()
def test_every_note_says_what_happened(folder: Path) -> None:
    for note in imported(folder).notes:
        assert note.result, note
        assert note.place.file.name, note


def test_a_second_import_gives_the_same() -> None:
    for folder in CASES:
        assert imported(folder) == imported(folder)
