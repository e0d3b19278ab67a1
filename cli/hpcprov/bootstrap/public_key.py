"""The public key that the admin's login gets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hpcprov.errors import UsageError
from hpcprov.remote.host_keys import key_of

_USUAL = ("id_ed25519", "id_ecdsa", "id_rsa")


@dataclass(frozen=True)
class KeyPair:
    """`text` is one line for authorized_keys. `private` is None where only the public half is here."""

    text: str
    private: Path | None


def key_pair(public: Path | None, private: Path | None, home: Path) -> KeyPair:
    """The key named, else the one beside the private key, else the admin's own. Raises UsageError."""
    if public is not None:
        return _read(public.expanduser())
    if private is not None:
        beside = _beside(private.expanduser())
        if not beside.is_file():
            raise UsageError(
                f"{private} has no public half beside it", hint=f"make it: ssh-keygen -y -f {private} > {beside}"
            )
        return _read(beside)
    for name in _USUAL:
        if (file := home / ".ssh" / f"{name}.pub").is_file():
            return _read(file)
    raise UsageError(
        f"there is no SSH key in {home / '.ssh'}", hint="make one: ssh-keygen -t ed25519; or name one with --public-key"
    )


def _beside(private: Path) -> Path:
    return private.with_name(private.name + ".pub")


def _read(file: Path) -> KeyPair:
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {getattr(error, 'strerror', None) or 'is no text'}") from error
    if "PRIVATE KEY" in text:
        raise UsageError(f"{file} is a private key", hint=f"name its public half: {_beside(file)}")
    try:
        key_of(text)
    except ValueError:
        raise UsageError(f"{file} is no public key", hint="one line, such as: ssh-ed25519 AAAA… admin@head") from None
    if "\n" in text:
        raise UsageError(f"{file} has more than one line", hint="name a file with one key")
    private = file.with_suffix("")
    return KeyPair(text, private if file.suffix == ".pub" and private.is_file() else None)
