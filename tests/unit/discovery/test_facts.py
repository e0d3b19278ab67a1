"""Each fact, from what hosts print: one small file for each case. A new case needs no code."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from hpcprov.discovery.facts import read
from hpcprov.preflight.facts import parse

CASES = sorted((Path(__file__).parent / "cases").glob("*/*.yaml"))


def probe_output(sections: dict[str, str]) -> str:
    """As the probe prints it."""
    return "".join(f"\n@@ {name}\n{text}\n" for name, text in {**sections, "end": ""}.items())


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_case(path: Path) -> None:
    case: dict[str, Any] = yaml.safe_load(path.read_text())
    facts = read(parse(probe_output(case["sections"]), sent=1000.0, received=1000.2)).as_dict()
    found = json.loads(json.dumps({name: facts[name] for name in case["facts"]}))
    assert found == case["facts"]


def test_every_section_of_the_cases_is_one_of_the_probe() -> None:
    script = files("hpcprov.discovery").joinpath("probe.sh").read_text()
    printed = {line.removeprefix("section ") for line in script.splitlines() if line.startswith("section ")}
    used = {name for path in CASES for name in yaml.safe_load(path.read_text())["sections"]}
    assert used <= printed


def test_the_probe_runs_here_and_comes_to_its_end() -> None:
    import subprocess

    script = files("hpcprov.discovery").joinpath("probe.sh").read_text()
    done = subprocess.run(["sh", "-s"], input=script, capture_output=True, text=True, timeout=120, check=False)
    said = parse(done.stdout, sent=0.0, received=0.0)
    assert said.complete
    facts = read(said)
    assert facts.hostname == Path("/proc/sys/kernel/hostname").read_text().strip()
    assert facts.cpu.cpus >= 1
    assert facts.memory_mib
    assert facts.kernel
    assert any(one.name == "lo" for one in facts.interfaces)


def test_nothing_at_all_is_no_crash() -> None:
    facts = read(parse(""))
    assert facts.hostname == ""
    assert facts.gpus == ()
    assert facts.clock_offset is None
