"""What a fault is: how it comes into the lab, what one command must say about it, and what mends it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from hpcprov.slurm import hostlist

if TYPE_CHECKING:
    from faults_lab import FaultsLab

VERIFY = ("verify", "{site}")
PREFLIGHT = ("preflight", "{site}")
VERIFY_FAILED = 6
HOSTS_UNFIT = 4


class Step(Protocol):
    """Something that is done to the lab."""

    def run(self, lab: FaultsLab) -> None:
        """Do it; raise AssertionError when it does not work."""


@dataclass(frozen=True)
class On:
    """A shell command on a node, as root."""

    host: str
    command: str

    def run(self, lab: FaultsLab) -> None:
        """Over SSH."""
        lab.node(self.host, self.command)


@dataclass(frozen=True)
class Inside:
    """A shell command in a node's container, for what must work without its network or SSH server."""

    host: str
    command: str

    def run(self, lab: FaultsLab) -> None:
        """By podman."""
        lab.podman.run("exec", lab.container(self.host), "sh", "-c", self.command)


@dataclass(frozen=True)
class Hpcprov:
    """A command on the control host that has to succeed. `{site}` is the site file."""

    arguments: tuple[str, ...]

    def run(self, lab: FaultsLab) -> None:
        """As an admin types it."""
        lab.succeed(*self.arguments)


@dataclass(frozen=True)
class Shows:
    """A shell command on a node has to print these words."""

    host: str
    command: str
    words: str

    def run(self, lab: FaultsLab) -> None:
        """Over SSH."""
        said = lab.node(self.host, self.command)
        assert self.words in said, f"{self.host}: {self.command}: {said!r} has no {self.words!r}"


@dataclass(frozen=True)
class EditSite:
    """The admin changes a line of the site file."""

    old: str
    new: str

    def run(self, lab: FaultsLab) -> None:
        """Exactly one place has to match."""
        text = lab.site.read_text()
        assert text.count(self.old) == 1, f"{self.old!r} stands {text.count(self.old)} times in {lab.site}"
        lab.site.write_text(text.replace(self.old, self.new))


@dataclass(frozen=True)
class PowerOff:
    """A node goes away without a word."""

    host: str

    def run(self, lab: FaultsLab) -> None:
        """Kill all that runs on it."""
        lab.podman.run("stop", "--time=0", lab.container(self.host))


@dataclass(frozen=True)
class Fix:
    """Do what the message itself says in its line `fix:`.

    Understood are `on HOST: COMMAND`, `there: COMMAND` and `hpcprov …`, up to an alternative (`; or …`) or an advice
    (`, and …`). A fix that cannot be followed to the letter is a bad fix.
    """

    def run(self, lab: FaultsLab) -> None:
        """The fix of the message that named the fault."""
        assert lab.naming and lab.naming.fix, "the message has no fix"
        text = re.split(r"; or |, and ", lab.naming.fix)[0].strip()
        if text.startswith("hpcprov "):
            lab.succeed(*text.split()[1:])
            return
        found = re.fullmatch(r"(?:as root )?(?:on (\S+)|there): (.+)", text)
        assert found, f"cannot be followed to the letter: {text}"
        lab.node(found[1] or lab.naming.host, found[2])


@dataclass(frozen=True)
class Fault:
    """One line of the matrix.

    `cause` are words that must all stand in the message about `host`. `repair` mends the fault as the message says,
    `restore` removes what the injection left beside it, and runs whatever happened before.
    """

    name: str
    host: str
    inject: Sequence[Step]
    cause: Sequence[str]
    command: Sequence[str] = VERIFY
    exit_code: int = VERIFY_FAILED
    repair: Sequence[Step] = (Fix(),)
    restore: Sequence[Step] = ()
    # More hosts that the fault is on.
    also: Sequence[str] = ()


@dataclass(frozen=True)
class Message:
    """One failure as it was printed: the host (empty: the site as a whole), what is wrong, how to mend it."""

    host: str
    text: str
    fix: str = ""

    def with_line(self, kind: str, text: str) -> Message:
        """What a line below it adds."""
        if kind == "cause":
            return replace(self, text=f"{self.text}; {text}")
        return replace(self, fix=text)

    @property
    def follows(self) -> bool:
        """It says itself that it is a consequence, and of what."""
        return "It follows from: " in self.text

    def tells(self, host: str, words: Sequence[str]) -> bool:
        """It is about this host and has all these words, as a cause."""
        about = self.host == host or re.search(rf"(?<![\w.-]){re.escape(host)}(?![\w-])", self.text)
        return bool(about) and not self.follows and all(word in self.text for word in words)


HOSTS = r"[\w.\[\],-]+"
# A check's verdict, a line of preflight, and a line about a host in a deploy.
VERIFY_LINE = re.compile(rf"(?:(?P<hosts>{HOSTS}): )?(?P<text>expected .*)")
PREFLIGHT_LINE = re.compile(rf"(?:error|warning): (?P<hosts>{HOSTS}): (?P<text>.*)")
DEPLOY_LINE = re.compile(rf"(?P<hosts>{HOSTS}): (?P<text>.*)")


def messages(output: str, known: Sequence[str]) -> list[Message]:
    """The failures in what a command printed, in their order; `known` are the site's hosts."""
    found: list[Message] = []
    check = ""
    for line in map(str.strip, output.splitlines()):
        if line.startswith("FAIL  "):
            check = line.removeprefix("FAIL  ")
        elif added := re.match(r"(cause|fix|next): +(.*)", line):
            if found:
                found[-1] = found[-1].with_line(added[1], added[2])
        elif told := VERIFY_LINE.match(line):
            found.append(Message(told["hosts"] or "", f"{check}: {told['text']}"))
        elif told := PREFLIGHT_LINE.match(line) or DEPLOY_LINE.match(line):
            found += [Message(host, told["text"]) for host in hosts_in(told["hosts"], known)]
    return found


def hosts_in(text: str, known: Sequence[str]) -> list[str]:
    """The known hosts of a hostlist, none when it is not one."""
    try:
        return [host for host in hostlist.expand(text) if host in known]
    except ValueError:
        return []


@dataclass
class Row:
    """What came of one fault."""

    fault: Fault
    exit_code: int | None = None
    named_host: bool = False
    named_cause: bool = False
    accused: list[str] = field(default_factory=list)
    verdict_seconds: float = 0.0
    repaired_by: str = ""
    green: bool = False
    seconds: float = 0.0
    error: str = ""

    @property
    def passed(self) -> bool:
        """Named, without accusing the innocent, and green again."""
        return self.named_host and self.named_cause and not self.accused and self.green and not self.error
