"""Keys: unknown, misspelt, too new, gone, old, in the wrong place."""

from __future__ import annotations

from collections.abc import Iterator

from hpcprov.errors import Finding
from hpcprov.slurm.keys import Key, KeyTable, table
from hpcprov.slurm.lint.configuration import Configuration, main_table, record_table
from hpcprov.slurm.lint.registry import rule
from hpcprov.slurm.obsolete import gone, outdated
from hpcprov.slurm.read import Line, Setting

# Where a key may belong that stands in another place.
_PLACES = (
    *("slurm.conf", "slurm.conf NodeName", "slurm.conf PartitionName", "gres.conf NodeName"),
    *("cgroup.conf", "slurmdbd.conf", "topology.conf SwitchName"),
)
# Options of slurm.conf that may stand on several lines, and all of them count.
_REPEATED = frozenset({"slurmctldhost", "prolog", "epilog", "prologslurmctld", "epilogslurmctld"})


def _settings(configuration: Configuration) -> Iterator[tuple[KeyTable, Setting]]:
    """Each setting with the table of the keys that may stand there."""
    for kind, lines in configuration.files.items():
        for line in lines:
            yield from _with_tables(kind, line)


def _with_tables(kind: str, line: Line) -> Iterator[tuple[KeyTable, Setting]]:
    if not line.settings:
        return
    yield main_table(kind), line.settings[0]
    inside = record_table(kind, line)
    for setting in line.settings[1:] if inside else ():
        yield inside or main_table(kind), setting


@rule("unknown-key")
def unknown(configuration: Configuration) -> Iterator[Finding]:
    """A key that no release of Slurm knows keeps its daemon from starting."""
    for known, setting in _settings(configuration):
        if known.find(setting.key) is not None:
            continue
        instead = gone(known.what, setting.key)
        if instead:
            message = f"{setting.key} went before Slurm 22.05"
            yield setting.place.finding("unknown-key", message, hint=_write(instead))
        else:
            message = f'{known.what} has no option "{setting.key}"'
            yield setting.place.finding("unknown-key", message, hint=_hint(known, setting.key))


def _hint(known: KeyTable, key: str) -> str:
    near = known.suggestion(key).removeprefix(", ")
    elsewhere = [name for name in _PLACES if name != known.what and table(name).find(key)]
    if elsewhere and (not near or known.find_loose(key) is None):
        where = " or ".join(f"lines of {name.split()[1]}" if " " in name else name for name in elsewhere)
        return f"it belongs into {where}" + (f"; {near}" if near else "")
    return near or "remove it"


@rule("key-version")
def versions(configuration: Configuration) -> Iterator[Finding]:
    """A key that this release of Slurm does not know, or ignores."""
    release = configuration.release
    for known, setting in _settings(configuration):
        key = known.find(setting.key)
        if key is None:
            continue
        instead = outdated(known.what, key.name)
        problem = _too_new_or_gone(key, release)
        if problem:
            hint = _write(instead) if instead else "remove it"
            ignored = release is None or not _refused(key, release)
            level = "warning" if ignored else "error"
            yield setting.place.finding("key-version", problem, level=level, hint=hint)


def _too_new_or_gone(key: Key, release: str | None) -> str | None:
    if release is not None:
        return key.problem(release)
    if key.last:
        return f"{key.name} went after Slurm {key.last}"
    return f"{key.name} does nothing since Slurm {key.defunct_since}" if key.defunct_since else None


def _refused(key: Key, release: str) -> bool:
    return bool((key.since and release < key.since) or (key.last and release > key.last))


@rule("old-key")
def old(configuration: Configuration) -> Iterator[Finding]:
    """A key that Slurm still reads, and that is written otherwise today."""
    for known, setting in _settings(configuration):
        key = known.find(setting.key)
        if key is None or _too_new_or_gone(key, configuration.release):
            continue  # told already
        instead = outdated(known.what, key.name)
        if instead:
            yield setting.place.finding("old-key", f"{key.name} is the old way", level="warning", hint=_write(instead))


def _write(instead: str) -> str:
    return f"write {instead}"


@rule("key-twice")
def twice(configuration: Configuration) -> Iterator[Finding]:
    """An option that stands twice: Slurm takes the last one and says an error."""
    for kind, lines in configuration.files.items():
        seen: dict[str, Setting] = {}
        for line in lines:
            inside = record_table(kind, line)
            if inside is not None:
                yield from _twice_in_record(inside, line)
            elif line.settings and line.key not in _REPEATED:
                yield from _again(seen, line.settings[0], line.key)


def _twice_in_record(known: KeyTable, line: Line) -> Iterator[Finding]:
    seen: dict[str, Setting] = {}
    for setting in line.settings[1:]:
        key = known.find(setting.key)
        yield from _again(seen, setting, key.name if key else setting.key.lower())


def _again(seen: dict[str, Setting], setting: Setting, name: str) -> Iterator[Finding]:
    first = seen.setdefault(name, setting)
    if first is not setting:
        message = f"{setting.key} stands already in line {first.place.line}; the last one counts"
        yield setting.place.finding("key-twice", message, level="warning", hint="keep one of the two")
