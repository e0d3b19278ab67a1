"""Rules as `nft list ruleset` prints them; firewalld writes such rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hpcprov.preflight.firewall.chains import Chain, Rule, Ruleset, Test

PRIORITIES = {"raw": -300, "mangle": -150, "dstnat": -100, "filter": 0, "security": 50, "srcnat": 100}
FAMILIES = {"ip": (4,), "ip6": (6,), "inet": (4, 6)}  # versions of IP whose packets a table sees
VERDICTS = {"accept", "drop", "return", "continue"}
# Statements that test nothing and end nothing, with the number of words that follow.
HARMLESS = {"counter": 0, "log": 0, "notrack": 0, "comment": 1}
LOG_OPTIONS = ("prefix", "level", "flags", "group", "snaplen", "queue-threshold")
# What a test is about, as our packets know it.
KINDS = {
    "ip saddr": "source", "ip6 saddr": "source", "ip daddr": "target", "ip6 daddr": "target",
    "tcp dport": "port", "th dport": "port", "meta l4proto": "protocol", "ip protocol": "protocol",
    "ip6 nexthdr": "protocol", "ct state": "state", "iifname": "interface", "iif": "interface",
    "meta iifname": "interface", "meta iif": "interface", "meta nfproto": "family", "ct status": "never",
}  # fmt: skip
OTHER_PROTOCOLS = ("udp", "icmp", "icmpv6", "sctp", "dccp", "esp", "ah", "udplite", "igmp")
_TOKEN = re.compile(r'"[^"]*"|\{[^{}]*\}|[^\s{}"]+')
_CHAIN = re.compile(r"type (\w+) hook (\w+).* priority (\w+)?\s*([+-]?\s*\d+)?;(?:.*policy (\w+);)?")


def parse_nft(lines: Iterable[str]) -> list[Ruleset]:
    """The tables that IPv4 and IPv6 packets pass."""
    tables: list[Ruleset] = []
    table: Ruleset | None = None
    chain: Chain | None = None
    depth = 0
    for line in map(str.strip, _joined(lines)):
        if line.startswith("#"):
            continue
        words = line.split()
        if words[:1] == ["table"] and depth == 0:
            table = Ruleset("nft table " + " ".join(line.split("{")[0].split()[1:]), FAMILIES.get(words[1], ()))
            tables.append(table)
        elif words[:1] == ["chain"] and depth == 1 and table is not None:
            chain = table.chains.setdefault(words[1], Chain(words[1]))
        elif chain is not None and depth == 2 and words and words[0] != "}":
            _into(chain, line)
        depth += line.count("{") - line.count("}")
        if depth < 2:
            chain = None
    return tables


def _joined(lines: Iterable[str]) -> Iterator[str]:
    """A set inside a rule may go over several lines."""
    pending = ""
    for line in lines:
        text = f"{pending} {line.strip()}" if pending else line
        inside = re.search(
            r"(?:dport|sport|saddr|daddr|iifname|oifname|state|vmap|protocol|l4proto)\s[^{}]*\{[^{}]*$", text
        )
        pending = text if inside else ""
        if not pending:
            yield text
    if pending:
        yield pending


def _into(chain: Chain, line: str) -> None:
    header = _CHAIN.match(line)
    if header:
        kind, chain.hook, name, number, policy = header.groups()
        if kind != "filter":  # nat and route decide nothing
            chain.hook = None
        chain.priority = PRIORITIES.get(name or "", 0 if not (name or "").lstrip("-").isdecimal() else int(name))
        chain.priority += int(number.replace(" ", "")) if number else 0
        chain.policy = policy or "accept"
    elif not line.startswith(("policy ", "comment ", "flags ")):
        chain.rules += _rules(line)


def _rules(line: str) -> list[Rule]:
    """A rule; a verdict map is several."""
    tokens = _TOKEN.findall(re.sub(r"counter packets \d+ bytes \d+", "counter", line.split(" # ", maxsplit=1)[0]))
    tests: list[Test] = []
    verdict = "continue"
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token in VERDICTS:
            verdict = token
            position += 1
        elif token in ("jump", "goto"):
            verdict = " ".join(tokens[position : position + 2])
            position += 2
        elif token == "reject":
            verdict = token
            break  # "with icmp port-unreachable" says how
        elif "vmap" in tokens[position : position + 3]:
            return _verdict_map(line, tokens, position, tests)
        elif token in HARMLESS:
            position = _after_harmless(tokens, position)
        else:
            test, position = _test(tokens, position)
            tests.append(test)
    return [Rule(line, verdict, tuple(tests))]


def _verdict_map(line: str, tokens: list[str], position: int, before: list[Test]) -> list[Rule]:
    """`tcp dport vmap { 22 : accept, 6818 : drop }`; a named map is filled elsewhere."""
    middle = tokens.index("vmap", position)
    kind = KINDS.get(" ".join(tokens[position:middle]))
    entries = re.findall(r"([^,{}]+?)\s*:\s*([a-z]+(?: [\w-]+)?)\s*(?=[,}])", " ".join(tokens[middle + 1 : middle + 2]))
    if kind is None or not entries:
        return [Rule(line, "unknown", tuple(before))]
    return [Rule(line, verdict, (*before, Test(kind, (key.strip().strip('"'),)))) for key, verdict in entries]


def _after_harmless(tokens: list[str], position: int) -> int:
    """Behind a statement that tests nothing, and behind its options."""
    token = tokens[position]
    position += 1 + HARMLESS[token]
    while token == "log" and tokens[position : position + 1] and tokens[position] in LOG_OPTIONS:
        position += 2
    return position


def _test(tokens: list[str], position: int) -> tuple[Test, int]:
    """The test that begins here, and where the next statement does."""
    for length in (2, 1):
        kind = KINDS.get(" ".join(tokens[position : position + length]))
        if kind is not None:
            values, negated, position = _values(tokens, position + length)
            return Test(kind, values, negated), position
    if tokens[position] in OTHER_PROTOCOLS:
        return Test("never"), position + 1
    return Test("unknown"), position + 1


def _values(tokens: list[str], position: int) -> tuple[tuple[str, ...], bool, int]:
    negated = False
    if tokens[position : position + 1] in (["!="], ["=="]):
        negated = tokens[position] == "!="
        position += 1
    text = tokens[position] if position < len(tokens) else ""
    return (
        tuple(value.strip().strip('"') for value in text.strip("{} ").split(",") if value.strip()),
        negated,
        position + 1,
    )
