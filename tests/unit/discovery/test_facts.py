"""Each fact, from what hosts print: one small file for each case. A new case needs no code."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from hpcprov.discovery.facts import read
from hpcprov.discovery.new_site import Found, new_site
from hpcprov.discovery.reach import Access
from hpcprov.preflight.facts import parse
from hypothesis import given, settings
from hypothesis import strategies as st

from .machines import target

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


LINES = sorted(
    {
        line
        for path in CASES
        for text in yaml.safe_load(path.read_text())["sections"].values()
        for line in text.splitlines()
    }
)
SECTIONS = sorted({name for path in CASES for name in yaml.safe_load(path.read_text())["sections"]})


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A line of a case, cut, with a piece of another in it, in any section."""
    line, other = draw(st.sampled_from(LINES)), draw(st.sampled_from(LINES))
    first, second = draw(st.integers(0, len(line))), draw(st.integers(0, len(other)))
    return line[:first] + draw(st.text(max_size=3)) + other[second:]


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(SECTIONS), st.lists(damaged(), max_size=6).map("\n".join)))
def test_no_output_makes_it_crash(sections: dict[str, str]) -> None:
    """Not the parsers, and not what is made of them."""
    facts = read(parse(probe_output(sections), sent=1000.0, received=1000.2))
    json.dumps(facts.as_dict())
    text = new_site([Found("n1", target("n1", "10.0.0.1"), facts)], Access(), "atlas")
    assert yaml.safe_load(text)["compute"]["hosts"]
