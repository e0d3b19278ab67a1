"""Text that Slurm's parser cannot read."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hpcprov.errors import Finding
from hpcprov.slurm.lint.configuration import Configuration, record_table
from hpcprov.slurm.lint.registry import rule
from hpcprov.slurm.read import Line


@rule("syntax")
def unreadable(configuration: Configuration) -> Iterator[Finding]:
    """A line that is no key=value keeps Slurm from starting."""
    for kind, lines in configuration.files.items():
        for line in lines:
            if line.rest and line.rest_place is not None:
                message, hint = _problem(kind, line)
                yield line.rest_place.finding("syntax", message, hint=hint)


def _problem(kind: str, line: Line) -> tuple[str, str]:
    if line.settings and "pass" in line.settings[-1].key.lower():
        return f"{line.settings[-1].key} ends at a blank, and more follows", "quote the value"  # it is a secret
    empty = re.match(r"(\S+?)\s*=\s*$", line.rest)
    if empty:
        return f"{empty.group(1)} has no value", f'remove it, or write {empty.group(1)}="" for an empty one'
    if line.rest.count('"') % 2:
        return f'cannot read "{line.rest}": a quote is not closed', 'close it with "'
    if not line.settings:
        return f'"{line.rest}" is no key=value', "write key=value; a comment begins with #"
    last = line.settings[-1]
    whole = f'{last.key}="{last.value} {line.rest}"'
    if "=" in line.rest.split()[0]:
        return f'cannot read "{line.rest}"', "separate settings with blanks"
    return f'"{line.rest}" belongs to nothing: a value ends at a blank', f"quote the value: {whole}"


@rule("quote")
def quotes(configuration: Configuration) -> Iterator[Finding]:
    """A quote that is not closed becomes a part of the value."""
    for lines in configuration.files.values():
        for setting in (setting for line in lines for setting in line.settings):
            if setting.value.startswith('"'):
                message = f"the value of {setting.key} begins with a quote that is not closed before a blank"
                yield setting.value_place.finding("quote", message, hint='close it with " at its end')


@rule("one-setting-a-line")
def several(configuration: Configuration) -> Iterator[Finding]:
    """Slurm reads one setting a line, except in records such as NodeName; a second one is an error to it."""
    for kind, lines in configuration.files.items():
        for line in lines:
            known = record_table(kind, line)
            if known is None and len(line.settings) > 1:
                extra = line.settings[1]
                message = f"{extra.key} stands behind {line.settings[0].key}; a line holds one setting"
                yield extra.place.finding("one-setting-a-line", message, hint="put it on a line of its own")


@rule("hostlist")
def hostlists(configuration: Configuration) -> Iterator[Finding]:
    """A hostlist that Slurm cannot read, such as an Ansible range."""
    for node in (*configuration.nodes, *configuration.node_sets):
        if node.problem:
            yield node.name.value_place.finding("hostlist", node.problem, hint=hint_for(node.name.value))


def hint_for(text: str) -> str:
    """What to write instead, above all of an Ansible range."""
    good = re.sub(r"\[(\d+):(\d+)\]", r"[\1-\2]", text)
    return f"write {good}" if good != text else "a hostlist is written n1,n[2-9],n[010-020]"
