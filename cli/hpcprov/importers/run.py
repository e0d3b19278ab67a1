"""From files of other tools to a site file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hpcprov.errors import UsageError
from hpcprov.importers.draft import Draft
from hpcprov.importers.finish import finish
from hpcprov.importers.format import Format
from hpcprov.importers.formats import FORMATS, format_of
from hpcprov.importers.notes import Fate, Note
from hpcprov.importers.write import site_text
from hpcprov.site.findings import Place


@dataclass(frozen=True)
class Imported:
    """The text of a site file, and what became of everything that was read."""

    text: str
    notes: list[Note]

    @property
    def is_complete(self) -> bool:
        """Whether validate has no error in it."""
        return not any(note.fate is Fate.FILL for note in self.notes)


def import_files(paths: Sequence[Path], output: Path, format_name: str | None = None) -> Imported:
    """Read files into one site. `output` is only named in what is told; nothing is written.

    Raises UsageError when a file cannot be read, or its format cannot be told.
    """
    draft = Draft()
    read = [(path, *_read(path, format_name)) for path in paths]
    # Files that say what belongs to the cluster come first; the others know names and addresses, leases for a while.
    for path, kind, text in sorted(read, key=lambda entry: (not entry[1].defines, "lease" in entry[0].name)):
        kind.read_into(draft, path, text)
    finish(draft)
    text = site_text(draft, paths)
    notes = [*draft.notes.items, *_to_fill(text, output)]
    return Imported(text, notes)


def _read(path: Path, format_name: str | None) -> tuple[Format, str]:
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if "\0" in text:
        raise UsageError(f"{path} is no text file")
    if text.startswith("$ANSIBLE_VAULT;"):
        raise UsageError(f"{path} is encrypted", hint="decrypt it with ansible-vault, and import it then")
    kind = FORMATS.get(format_name) if format_name else format_of(path, text)
    if kind is None:
        hint = f"name it with --format: {', '.join(FORMATS)}"
        raise UsageError(f"{path}: its format cannot be told", hint=hint)
    return kind, text


def _to_fill(text: str, output: Path) -> list[Note]:
    """What validate says about the new file: the admin has to write it."""
    from hpcprov.site.load import check_site

    # Beside the output, since variables lie there too; what the output holds now does not count.
    path = output.with_name(f".{output.stem}.imported.yaml")
    return [
        Note(Fate.FILL, Place(output, one.line, one.column), one.rule, one.rule, one.message, one.hint)
        for one in check_site(path, text=text).findings
        if one.level == "error"
    ]
