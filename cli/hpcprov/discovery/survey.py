"""Ask hosts what they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from hpcprov.discovery.connect import Target
from hpcprov.discovery.facts import HostFacts, read
from hpcprov.discovery.reach import Access, Confirm, Report, ask, silent_addresses
from hpcprov.preflight.facts import parse
from hpcprov.remote.connection import ConnectionFailedError, Trouble


@dataclass
class Survey:
    """`found` by the name of the target; `silent` are addresses of networks where nobody answers."""

    targets: dict[str, Target]
    found: dict[str, HostFacts] = field(default_factory=dict)
    failures: dict[str, ConnectionFailedError] = field(default_factory=dict)
    silent: list[str] = field(default_factory=list)
    # A host that answers under several addresses: the target that was left out, and the one that stands for it.
    same: dict[str, str] = field(default_factory=dict)


def survey(targets: Sequence[Target], access: Access, confirm: Confirm, report: Report) -> Survey:
    """Facts of all targets, asked side by side. Raises as `reach.ask` does, never because of a host."""
    script = files("hpcprov.discovery").joinpath("probe.sh").read_text(encoding="utf-8")
    said = ask(targets, lambda _: script, access, confirm, report)
    result = Survey({target.name: target for target in targets}, failures=dict(said.failures))
    result.silent = silent_addresses(targets, said)
    for name in result.silent:
        del result.failures[name]
    for target in targets:
        output = said.outputs.get(target.name)
        if output is None:
            continue
        facts = parse(output.text, sent=output.sent, received=output.received)
        if facts.complete:
            result.found[target.name] = read(facts)
        else:
            last = (output.text.strip().splitlines() or ["no output"])[-1]
            result.failures[target.name] = ConnectionFailedError(
                f"the probe did not come to its end; its last line: {last[:200]}", Trouble.SSH, host=target.name,
                hint="run `sh` there by hand: does it find the usual programs?",
            )  # fmt: skip
    _fold_same(result)
    return result


def _fold_same(result: Survey) -> None:
    """A machine that was asked under two addresses counts once; the admin's own word goes before a network's."""
    owners: dict[str, str] = {}
    order = sorted(result.found, key=lambda name: not result.targets[name].is_named)
    for name in order:
        instance = result.found[name].instance
        first = owners.setdefault(instance, name) if instance else name
        if first != name:
            result.same[name] = first
    for name in result.same:
        del result.found[name]
