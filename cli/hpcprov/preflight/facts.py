"""What the probe printed on a host, as typed facts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from hpcprov.preflight.firewall import UNREADABLE, Filter, parse_iptables, parse_nft

MARK = "@@ "
NO_ANSWER = "timeout"


@dataclass(frozen=True)
class System:
    """The operating system, from os-release."""

    id: str
    like: tuple[str, ...]
    version: str
    name: str

    @property
    def family(self) -> str | None:
        """`debian`, `rhel`, or None for systems that our roles do not know."""
        return next((family for family in ("debian", "rhel") if family in (self.id, *self.like)), None)


@dataclass(frozen=True)
class Python:
    """An interpreter. `version` is such as 3.11.2."""

    path: str
    version: str

    @property
    def release(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self.version.split(".")[:2] if part.isdecimal())


@dataclass(frozen=True)
class Room:
    """How much there is and is free on a file system, in KiB or inodes."""

    mount: str
    total: int
    free: int


@dataclass(frozen=True)
class Listener:
    """A TCP socket that waits for connections; `pid` is None for the kernel's own."""

    address: str
    port: int
    program: str
    pid: int | None


@dataclass(frozen=True)
class Process:
    """`unit` is its systemd unit, empty where there is none."""

    pid: int
    name: str
    unit: str


@dataclass(frozen=True)
class LockHolder:
    """A process that holds a lock of the package manager."""

    pid: int
    lock: str
    command: str


@dataclass(frozen=True)
class Entry:
    """A line of the user or group database; `gid` is 0 for groups."""

    name: str
    id: int
    gid: int = 0


@dataclass(frozen=True)
class Facts:
    """The sections of one probe. `sent` and `received` are our clock's readings around it, seconds."""

    sections: Mapping[str, tuple[str, ...]]
    sent: float = 0.0
    received: float = 0.0

    def lines(self, section: str) -> tuple[str, ...]:
        """Raw lines of a section, none where the probe did not get there."""
        return self.sections.get(section, ())

    @property
    def complete(self) -> bool:
        """Whether the probe came to its end."""
        return "end" in self.sections

    @cached_property
    def identity(self) -> dict[str, str]:
        """Single values by name."""
        return dict(line.split("=", 1) for line in self.lines("identity") if "=" in line)

    @property
    def privileged(self) -> bool:
        """Whether the probe ran as root; otherwise it could not see everything."""
        return self.identity.get("uid") == "0"

    @property
    def sudo(self) -> str:
        """`root` (no need for it), `yes`, or what sudo said."""
        return " ".join(self.lines("sudo")).strip() or "root"

    @property
    def hostname(self) -> str:
        """As the kernel has it, perhaps with a domain."""
        return self.identity.get("hostname", "")

    @property
    def container(self) -> bool:
        return "container" in self.identity

    @property
    def has_slurm(self) -> bool:
        """Some part of Slurm is installed: a deploy was here before."""
        return "slurm" in self.identity

    @cached_property
    def clock_bounds(self) -> tuple[float, float] | None:
        """The host's clock is ahead of ours by something between these seconds; None where it told no time.

        Its first word came after we sent, its last one before we received; the gap is the time on the way.
        """
        started, finished = _time(self.lines("started")), _time(self.lines("finished"))
        if not started or not finished:
            return None
        return finished[0] - self.received, started[1] - self.sent

    @cached_property
    def system(self) -> System:
        pairs = dict(_assignments(self.lines("os-release")))
        name = pairs.get("PRETTY_NAME") or pairs.get("NAME", "")
        return System(pairs.get("ID", ""), tuple(pairs.get("ID_LIKE", "").split()), pairs.get("VERSION_ID", ""), name)

    @cached_property
    def pythons(self) -> tuple[Python, ...]:
        """Interpreters in the order in which they are preferred; the search ends at one that is new enough."""
        pairs = (line.split() for line in self.lines("pythons"))
        return tuple(Python(*pair) for pair in pairs if len(pair) == 2)

    @cached_property
    def mounts(self) -> dict[str, str]:
        """Mount point to options."""
        fields = (line.split() for line in self.lines("mounts"))
        return {entry[1]: entry[3] for entry in fields if len(entry) >= 4}

    def mount_of(self, directory: str) -> str:
        """The mount point that holds a directory."""
        inside = [mount for mount in self.mounts if directory == mount or directory.startswith(mount.rstrip("/") + "/")]
        return max(inside, key=len, default="/")

    @cached_property
    def disk(self) -> tuple[Room, ...]:
        """In KiB."""
        return _rooms(self.lines("disk"))

    @cached_property
    def inodes(self) -> tuple[Room, ...]:
        """In inodes; file systems that do not count them have a total of 0."""
        return _rooms(self.lines("inodes"))

    @cached_property
    def writable(self) -> dict[str, bool]:
        """Directory to whether root may write there."""
        pairs = (line.split(" ", 1) for line in self.lines("writable"))
        return {pair[1]: pair[0] == "yes" for pair in pairs if len(pair) == 2}

    @cached_property
    def memory_mib(self) -> int | None:
        """All of the memory."""
        found = re.search(r"^MemTotal:\s+(\d+) kB", "\n".join(self.lines("memory")), re.M)
        return int(found.group(1)) // 1024 if found else None

    @property
    def cpus(self) -> int | None:
        text = self.identity.get("cpus", "")
        return int(text) if text.isdecimal() and int(text) else None

    @cached_property
    def users(self) -> tuple[Entry, ...]:
        return tuple(_entries(self.lines("users")))

    @cached_property
    def groups(self) -> tuple[Entry, ...]:
        return tuple(_entries(self.lines("groups")))

    @property
    def own_addresses(self) -> list[str]:
        """What the own name resolves to."""
        return sorted({line.strip() for line in self.lines("own-name") if line.strip()})

    @property
    def hosts_file_is_ours(self) -> bool:
        return any("nsible managed" in line for line in self.lines("hosts-file"))

    @property
    def wrong_names(self) -> dict[str, str]:
        """The site's names that lead elsewhere, with the address that the host finds, or `nothing`."""
        pairs = (line.split() for line in self.lines("site-names"))
        return {words[0]: words[1] for words in pairs if len(words) == 2}

    @property
    def names_time_out(self) -> bool:
        """Looking names up did not come to an end."""
        return NO_ANSWER in self.lines("site-names")

    @cached_property
    def interfaces(self) -> dict[str, str]:
        """Address to the interface that has it."""
        found = (re.match(r"\d+:\s+(\S+?)(?:@\S+)?\s+inet6?\s+([^\s/]+)", line) for line in self.lines("addresses"))
        return {match.group(2): match.group(1) for match in found if match}

    @cached_property
    def filter(self) -> Filter:
        """What the packet filters of the host let through."""
        return _filter(self.lines("iptables"), self.lines("nft"))

    @cached_property
    def listeners(self) -> tuple[Listener, ...]:
        return tuple(filter(None, map(_listener, self.lines("listening"))))

    @cached_property
    def processes(self) -> dict[int, Process]:
        """The processes that listen."""
        fields = (line.split(" ", 2) for line in self.lines("processes"))
        return {int(f[0]): Process(int(f[0]), f[1], f[2] if len(f) > 2 else "") for f in fields if len(f) > 1}

    @cached_property
    def lock_holders(self) -> tuple[LockHolder, ...]:
        fields = (line.split(" ", 2) for line in self.lines("package-locks"))
        return tuple(LockHolder(int(f[0]), f[1], f[2].strip()) for f in fields if len(f) == 3 and f[0].isdecimal())


def parse(text: str, *, sent: float = 0.0, received: float = 0.0) -> Facts:
    """Facts from the probe's output; what a login shell says before the first section is not part of it."""
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        if line.startswith(MARK):
            current = sections.setdefault(line.removeprefix(MARK).strip(), [])
        elif line.strip():
            current.append(line)
    return Facts({name: tuple(lines) for name, lines in sections.items()}, sent, received)


@lru_cache(maxsize=1024)
def _filter(iptables: tuple[str, ...], nft: tuple[str, ...]) -> Filter:
    """Nodes with the same rules share what was worked out from them."""
    if "truncated" in (*iptables[-1:], *nft[-1:]):
        return Filter([UNREADABLE])
    # iptables on top of nftables shows in both; its own words come first.
    return Filter([*parse_iptables(iptables), *parse_nft(nft)])


def _time(lines: tuple[str, ...]) -> tuple[float, float] | None:
    """The bounds of a time; `date` of busybox knows no fractions."""
    found = re.match(r"(\d+)(\.\d+)?", lines[0]) if lines else None
    if not found:
        return None
    value = float(found.group())
    return value, value if found.group(2) else value + 1.0


def _assignments(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        key, separator, value = line.partition("=")
        if separator:
            try:
                words = shlex.split(value)
            except ValueError:  # an open quote
                words = [value]
            yield key.strip(), " ".join(words)


def _rooms(lines: Iterable[str]) -> tuple[Room, ...]:
    """`df -P`: file system, total, used, free, percent, mount point; a line for each directory, doubles left out."""
    found: dict[str, Room] = {}
    for line in lines:
        words = line.split(None, 5)
        if len(words) == 6 and words[3].lstrip("-").isdecimal():
            total = int(words[1]) if words[1].isdecimal() else 0
            found[words[5]] = Room(words[5], total, int(words[3]))
    return tuple(found.values())


def _entries(lines: Iterable[str]) -> Iterator[Entry]:
    """name:x:id and for users :gid."""
    for line in lines:
        parts = line.split(":")
        if len(parts) >= 3 and parts[2].isdecimal():
            gid = int(parts[3]) if len(parts) > 3 and parts[3].isdecimal() else 0
            yield Entry(parts[0], int(parts[2]), gid)


def _listener(line: str) -> Listener | None:
    """`ss -Hltnp`: state, two queues, local and peer address, users."""
    words = line.split()
    if len(words) < 4:
        return None
    address, _, port = words[3].rpartition(":")
    if not port.isdecimal():
        return None
    owner = re.search(r'\(\("([^"]+)",pid=(\d+)', line)
    address = address.strip("[]").partition("%")[0]
    return Listener(address, int(port), owner.group(1) if owner else "", int(owner.group(2)) if owner else None)
