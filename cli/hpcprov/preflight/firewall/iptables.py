"""Rules as `iptables-save` prints them; ufw writes such rules, and firewalld with its old backend."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from hpcprov.preflight.firewall.chains import Chain, Rule, Ruleset, Test

HOOKS = {"INPUT": "input", "OUTPUT": "output"}
VERDICTS = {"ACCEPT": "accept", "DROP": "drop", "REJECT": "reject", "RETURN": "return"}
# Targets after which the next rule is asked.
PASSING = {"LOG", "NFLOG", "ULOG", "MARK", "CONNMARK", "TRACE", "SET", "AUDIT", "CT", "NOTRACK", "TCPMSS"}
# Option: the kind of test, None where it only loads a module.
OPTIONS = {
    "-s": "source", "--source": "source", "-d": "target", "--destination": "target", "-p": "protocol",
    "--protocol": "protocol", "-i": "interface", "--in-interface": "interface", "--dport": "port", "--dports": "port",
    "--destination-port": "port", "--destination-ports": "port", "--ctstate": "state", "--state": "state",
    "--src-range": "source", "--dst-range": "target",
}  # fmt: skip
# Modules whose own option is one of those above.
PLAIN_MODULES = {"tcp", "udp", "multiport", "conntrack", "state", "iprange", "comment"}


def parse_iptables(lines: Iterable[str]) -> list[Ruleset]:
    """The filter table. Rules of other protocols than TCP never match."""
    table = Ruleset("iptables", (4,))
    for line in lines:
        if line.startswith(":"):
            name, policy, *_ = line[1:].split()
            hook = HOOKS.get(name)
            table.chains[name] = Chain(name, hook, 0, VERDICTS.get(policy, "accept") if hook else "accept")
        elif line.startswith("-A "):
            words = _words(line)
            table.chains.setdefault(words[1], Chain(words[1])).rules.append(_rule(line, words[2:]))
    if any(name.startswith("ufw-") for name in table.chains):
        table.label = "ufw (iptables)"
    return [table] if table.chains else []


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _rule(line: str, words: list[str]) -> Rule:
    tests: list[Test] = []
    verdict = "continue"
    negated = False
    rest = iter(words)
    for word in rest:
        if word == "!":
            negated = True
            continue
        match word:
            case "-j" | "--jump":
                verdict = _verdict(next(rest, ""))
                break  # what follows are options of the target
            case "-g" | "--goto":
                verdict = f"goto {next(rest, '')}"
            case "-m" | "--match":
                if next(rest, "") not in PLAIN_MODULES:
                    tests.append(Test("unknown"))
            case "--comment":
                next(rest, "")
            case _ if word in OPTIONS:
                tests.append(Test(OPTIONS[word], tuple(next(rest, "").split(",")), negated))
            case _:
                tests.append(Test("unknown"))
        negated = False
    return Rule(line, verdict, tuple(tests))


def _verdict(target: str) -> str:
    if target in VERDICTS:
        return VERDICTS[target]
    if target in PASSING:
        return "continue"
    return f"jump {target}"  # a chain; where there is none of that name, it is a module that we do not know
