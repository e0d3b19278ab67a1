"""Disks, by lsblk or sysfs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hpcprov.discovery.facts.model import Disk

_PAIR = re.compile(r'([A-Z:_-]+)="((?:[^"\\]|\\.)*)"')
_SYSTEM = ("/", "/boot", "/boot/efi", "/usr", "/var", "[SWAP]")
_SECTOR = 512  # bytes; what /sys/block/*/size counts, whatever the disk's own sectors are
# loop devices, RAM disks, floppies, optical drives, and what stands on top of disks.
_NO_DISK = re.compile(r"^(?:loop|ram|zram|fd|sr|dm-|md|nbd|drbd)")


def parse(lsblk: Iterable[str], block: Iterable[str] = ()) -> tuple[Disk, ...]:
    """`lsblk` is `lsblk -b -P` of everything, `block` has name, sectors, rotational, removable of /sys/block."""
    read = (dict(_PAIR.findall(line)) for line in lsblk)
    rows = [row for row in read if row.get("NAME") and row.get("KNAME")]
    if not rows:
        return tuple(_from_sysfs(block))
    return tuple(_disk(row, rows) for row in rows if _is_disk(row))


def _is_disk(row: Mapping[str, str]) -> bool:
    name = row.get("NAME", "")
    return row.get("TYPE") == "disk" and row.get("RM") != "1" and not _NO_DISK.match(name) and _size(row) > 0


def _size(row: Mapping[str, str]) -> int:
    return int(row["SIZE"]) if row.get("SIZE", "").isdecimal() else 0


def _disk(row: Mapping[str, str], rows: list[dict[str, str]]) -> Disk:
    inside = _below(row["KNAME"], rows)
    mounts = tuple(dict.fromkeys(each["MOUNTPOINT"] for each in (row, *inside) if each.get("MOUNTPOINT")))
    return Disk(
        name=row["NAME"],
        bytes=_size(row),
        rotational=row.get("ROTA") == "1",
        model=row.get("MODEL", "").strip(),
        mounts=mounts,
        system=any(mount in _SYSTEM for mount in mounts),
        used=bool(inside or mounts or row.get("FSTYPE")),
    )


def _below(kname: str, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Partitions, volumes and arrays on a device."""
    found: list[dict[str, str]] = []
    seen, todo = {kname}, [kname]
    while todo:
        parent = todo.pop()
        for row in rows:
            if row.get("PKNAME") == parent and row not in found:
                found.append(row)
                if row["KNAME"] not in seen:
                    seen.add(row["KNAME"])
                    todo.append(row["KNAME"])
    return found


def _from_sysfs(block: Iterable[str]) -> Iterable[Disk]:
    for words in map(str.split, block):
        if len(words) != 4 or _NO_DISK.match(words[0]) or not words[1].isdecimal():
            continue
        if int(words[1]) and words[3] == "0":
            yield Disk(words[0], int(words[1]) * _SECTOR, words[2] == "1")
