"""Placeholders and example secrets that were never replaced."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hpcprov.errors import Finding
from hpcprov.site.rules.registry import Draft, rule
from hpcprov.site.scalars import Vaulted
from hpcprov.site.templating import is_template

_PLACEHOLDER = re.compile(
    r"^(?:<[^<>]+>|\.\.\.|…|(?:change|replace|fill)[-_ ]?(?:me|this|it|in)|(?:to[-_ ]?do|fixme|tbd)"
    r"|your[-_ ].+|x{2}(?:[:-][xyzabc]{2}){5}|x{3,}|(?:\w*[-_])?node[-_]?name|a\.b\.c\.d|x\.x\.x\.x)$",
    re.IGNORECASE,
)
_SECRET = re.compile(r"(?:^|_)(?:password|passwd|pass|secret)$")
_EASY = """
admin password passw0rd secret vagrant root calvin changeme changeit hpc slurm ubuntu debian letmein default test
linux1 superuser adminadmin 12345678
"""
_KNOWN = frozenset(_EASY.split())


def is_placeholder(text: str) -> bool:
    return bool(_PLACEHOLDER.match(text.strip()))


def is_known_secret(text: str) -> bool:
    """Whether a password is one of those that everybody tries first."""
    return text.strip().lower() in _KNOWN


@rule("placeholder")
def placeholders(draft: Draft) -> Iterator[Finding]:
    """Text from an example that means: write your own here."""
    for layer in draft.variables.all_layers():
        for path, value in layer.texts():
            if is_placeholder(value):
                where = ".".join(str(part) for part in path)
                yield layer.place(*path).finding("placeholder", f'{where} is the placeholder "{value}"')
    for name, entry in draft.tree.hosts.items():
        if is_placeholder(name):
            yield entry.place.finding("placeholder", f'host name "{name}" is a placeholder')


@rule("secret")
def secrets(draft: Draft) -> Iterator[Finding]:
    """Passwords that everybody knows, and passwords that everybody who reads the file knows."""
    for layer in draft.variables.all_layers():
        for path, value in layer.texts():
            if not _SECRET.search(str(path[-1])) or isinstance(value, Vaulted) or is_template(value) or not value:
                continue
            where = ".".join(str(part) for part in path)
            if is_known_secret(value):
                message, level = f"{where} is a password that everybody knows", "error"
            else:
                message, level = f"{where} stands here in plain text", "warning"
            hint = "encrypt it: ansible-vault encrypt_string"
            yield layer.place(*path).finding("secret", message, level=level, hint=hint)


@rule("host-keys")
def host_keys(draft: Draft) -> Iterator[Finding]:
    """SSH without checked host keys talks to anybody."""
    for layer in draft.variables.all_layers():
        for name in ("ansible_ssh_common_args", "ansible_ssh_extra_args", "ansible_ssh_args"):
            value = layer.values.get(name)
            if isinstance(value, str) and re.search(r"StrictHostKeyChecking[= ]\s*(?:no|off)\b", value):
                yield layer.place(name).finding(
                    "host-keys", f"{name} switches the check of host keys off", level="warning"
                )
