"""Secrets that a site keeps in files of its own, instead of those that hpcprov makes."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator
from pathlib import Path

from hpcprov.errors import Finding
from hpcprov.site.rules.leftovers import is_known_secret, is_placeholder
from hpcprov.site.rules.registry import Draft, rule
from hpcprov.site.scalars import Vaulted
from hpcprov.site.templating import is_template

# Variable: the fewest bytes, and who wants them.
_LEAST = {
    "munge_key_file": (32, "munged"),
    "slurm_dbd_password_file": (12, "role mariadb"),
    "mariadb_password_file": (12, "role mariadb"),
}
_FEWEST_DIFFERENT = 4
_HINT = "leave it out, and hpcprov makes one"


@rule("secret-file")
def secret_files(draft: Draft) -> Iterator[Finding]:
    """A key that is missing, empty, too short or known to everybody is found only when a daemon does not start."""
    for layer in draft.variables.all_layers():
        for variable in filter(layer.values.__contains__, _LEAST):
            value = layer.values[variable]
            if not isinstance(value, str) or not value or isinstance(value, Vaulted) or is_template(value):
                continue
            place = layer.place(variable)
            problem = file_problem(variable, Path(value).expanduser(), draft.site.path.parent)
            if problem:
                message, hint = problem
                yield place.finding("secret-file", f"{variable}: {message}", hint=hint)
            elif stat.S_IMODE(Path(value).expanduser().stat().st_mode) & 0o077:
                message = f"{variable}: {value} is open to other users of this machine"
                yield place.finding("secret-file", message, level="warning", hint=f"chmod 600 {value}")


def file_problem(variable: str, path: Path, beside: Path) -> tuple[str, str] | None:
    """Why the file cannot hold this secret, with what to do. `beside`: the folder of the site file."""
    if not path.is_absolute():
        return f"{path} is no absolute path, and Ansible looks for it beside its playbooks", f"write {beside / path}"
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return f"{path} is missing on this machine", _HINT
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}", _HINT
    problem = None if content.startswith(b"$ANSIBLE_VAULT;") else content_problem(variable, content)
    return (f"{path} {problem}", _HINT) if problem else None


def content_problem(variable: str, content: bytes) -> str | None:
    """Why these bytes are no secret, without showing any of them."""
    least, who = _LEAST[variable]
    secret = content if variable == "munge_key_file" else content.strip()
    if not secret:
        return "is empty"
    if _is_known(content):
        return "holds an example that everybody knows"
    if len(secret) < least:
        return f"holds {len(secret)} bytes, and {who} wants {least} or more"
    return None


def _is_known(content: bytes) -> bool:
    """Placeholders, words that everybody knows and their digests, and one or two bytes over and over."""
    text = content.decode("utf-8", errors="replace").strip()
    # The manual of munge shows how to make a key from the digest of a word.
    digests = {hashlib.new(name, b"foo").hexdigest() for name in ("sha1", "sha256", "sha512")}
    return (
        is_placeholder(text)
        or is_known_secret(text)
        or "example" in text.lower()
        or text.lower() in digests
        or len(set(content)) < _FEWEST_DIFFERENT <= len(content)
    )
