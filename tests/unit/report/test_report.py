"""The page as text: verdicts, folding, hostile texts, size and time, and the command that writes it again."""

from __future__ import annotations

import re
import stat
import time
from html import unescape
from pathlib import Path

import pytest
from hpcprov import report
from hpcprov.main import main
from hpcprov.report.folding import names, problems
from hpcprov.report.page import page
from hpcprov.results import FailureResult, Result, VerifyFailure

from . import results_of_runs as runs


def text_of(document: str) -> str:
    """What a reader sees, roughly."""
    body = document[document.index("<body>") :]
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", body)))


DEPLOY = "hpcprov deploy /srv/cluster/inventory/site.yaml"


@pytest.mark.parametrize(
    ("run", "word", "sentence", "command"),
    [
        ("passed", "Passed", "physics works: job 3 trained across 2 nodes.", DEPLOY.replace("deploy", "verify")),
        ("not_proven", "Not proven", "physics is converged, not proven: no training job ran.",
         DEPLOY.replace("deploy", "smoke")),
        ("only_looked", "Not proven", "physics: done up to preflight, nothing was converged.", DEPLOY),
        ("checked", "Nothing was changed", "physics: 48 tasks would change something.", DEPLOY),
        ("failed_verify", "Failed", "physics is not as it should be: 4 checks failed on node01, node02.",
         f"{DEPLOY} --from verify"),
        ("failed_converge", "Failed", "physics: scheduler failed on head.", f"{DEPLOY} --from scheduler"),
        ("interrupted", "Stopped", "physics: stopped by the user. Done: validate, lab, preflight.",
         f"{DEPLOY} --from base"),
        ("killed", "Not finished", "physics: this run still works, or was killed.", DEPLOY),
        ("unreachable", "Failed", "physics: preflight failed on node02.", DEPLOY),
        ("without_a_node", "Failed", "physics is not complete, all was done without node02. The others work: job 3",
         DEPLOY),
        ("unfit", "Failed", "physics: preflight failed on node01, node02.", DEPLOY),
        ("invalid_site", "Failed", "/srv/cluster/inventory/site.yaml is not valid, nothing was touched.", DEPLOY),
        ("large", "Failed", "physics: scheduler failed on node0003, node0800, node1597 and 3 more.",
         f"{DEPLOY} --from scheduler"),
    ],
)  # fmt: skip
def test_verdict_first_and_how_to_go_on(run: str, word: str, sentence: str, command: str) -> None:
    text = text_of(report.render(runs.RUNS[run]()))
    assert text.index(word) < 10
    assert text.index(sentence) < text.index(f" {command} ") < text.index("in all")


def test_everything_of_a_good_run_is_there() -> None:
    text = text_of(report.render(runs.passed()))
    for said in (
        "frameworks: 17.7 s from 54.6 s on, done", "head changed controller, database, login", runs.OS,
        "44 ok, 12 changed", "started munge, slurmd", "1.710 after epoch 1, 0.109 after epoch 6",
        "0.711 after epoch 1, 0.972 after epoch 6", "1,918 images per second", "PyTorch 2.13.0+cpu", "Slurm 22.05.8",
        "main: 2 nodes", "NFS, served by the kernel", "76 checks passed, 0 failed, 7 skipped",
        "passed Clock agrees with the controller 4 hosts",
        "skipped GPUs are seen by Slurm 2 hosts", "Jobs are not confined",
    ):  # fmt: skip
        assert said in text, said
    assert "What is wrong" not in text


def test_a_failed_check_is_told_once_with_all_its_hosts() -> None:
    said = [(problem.title, problem.where, problem.reason) for problem in problems(runs.failed_verify())]
    assert said == [
        ("Munge credentials are accepted both ways", "node02", "unmunge on head says: Invalid credential"),
        ("Clock agrees with the controller", "node01, node02", "node01 is 900 s ahead"),
        ("A job runs on every compute node", "", "srun: 1 of 2 nodes answered"),
    ]


def test_each_check_that_ran_failed_ones_first() -> None:
    said = [(check.state, check.check, check.hosts) for check in page(runs.failed_verify()).checks]
    assert said == [
        ("failed", "Munge credentials are accepted both ways", "1 failed, 3 passed"),
        ("failed", "Clock agrees with the controller", "2 failed, 2 passed"),
        ("failed", "A job runs on every compute node", ""),
        ("passed", "Munge key has its mode and owner", "4 hosts"),
    ]
    assert page(runs.passed()).checks[-1].state == "skipped"


def test_a_check_that_tells_expected_found_cause_and_fix() -> None:
    text = text_of(report.render(runs.failed_in_full()))
    assert "Munge key has its mode and owner on node02: 0644 munge:munge" in text
    assert (
        "Expected 0400 munge:munge Found 0644 munge:munge Cause somebody opened it for all; munged refuses such a key"
        " Fix chmod 0400 /etc/munge/munge.key && systemctl restart munge"
    ) in text
    assert "mode is 0644" not in text  # the same again


def test_findings_of_preflight_with_cause_and_fix() -> None:
    result = runs.unfit()
    assert [(item.title, item.where, item.level) for item in problems(result)] == [
        ("its clock is 7.2 s behind the control host", "node01, node02", "error"),
        ("does not answer", "store", "error"),
        ("has 1.9 GiB of memory", "head", "warning"),
    ]
    text = text_of(report.render(result))
    assert "Cause no time service runs there Fix systemctl start chrony" in text
    assert "1 unreachable" in text and "Worth knowing" in text
    states = {card.hosts[0]: card.state for card in page(result).hosts.cards}
    assert states == {"node01": "failed", "node02": "failed", "store": "unreachable", "head": "not touched"}


def test_journal_and_fix_of_a_failed_role() -> None:
    text = text_of(report.render(runs.failed_converge()))
    assert "slurmctld: Controller is started and answers on head" in text
    assert "Fix journalctl -u slurmctld Journal, the last 20 lines" in text
    assert "fatal: Unable to process configuration file" in text and "12:20:05" not in text


@pytest.mark.parametrize("bad", [5, 4000])
def test_four_thousand_hosts(bad: int) -> None:
    result = runs.large(bad)
    report.render(runs.passed())  # the templates are compiled
    started = time.process_time()
    document = report.render(result)
    assert time.process_time() - started < 2
    assert len(document) < 1_000_000
    view = page(result)
    assert len(view.errors) == 1 and len(view.hosts.cards) <= 24 and len(view.hosts.folded) < 10
    assert {card.state for card in view.hosts.cards} == {"failed"}
    assert len(view.hosts.rows) == 4004
    assert text_of(document).count("node3999 ") == 1


def test_hostile_texts_stay_texts() -> None:
    document = report.render(runs.hostile())
    assert "<script" not in document and "<img" not in document
    assert runs.HOSTILE in unescape(document)
    assert "'alert" not in document
    assert document.count("y" * 50) < 200


def test_nothing_outside_is_named() -> None:
    document = report.render(runs.passed())
    assert re.findall(r"(?:src|href)=\"([^\"]*)\"|url\(|@import", document) == ["data:,"]
    assert "http" not in document.replace("http-equiv", "")


@pytest.mark.parametrize(
    ("hosts", "said"),
    [
        (["a"], "a"),
        (["n2", "n1"], "n2, n1"),
        ([f"n{number}" for number in range(1, 9)], "n[1-8]"),
        ([f"n{number}" for number in range(1, 9999, 2)], ", … (4,999 hosts)"),
    ],
)
def test_names(hosts: list[str], said: str) -> None:
    assert names(hosts).endswith(said) and len(names(hosts)) < 280


def test_the_same_trouble_is_recognised_where_it_names_the_host() -> None:
    result = runs.failed_verify()
    assert result.verify is not None
    result.verify.failures = [
        VerifyFailure(host=host, check="clock", reason=f"{host} differs from node1") for host in ("node1", "node10")
    ]
    assert len(problems(result)) == 2  # `node1` in the text is another host the second time
    result.verify.failures = [VerifyFailure(host=f"n{n}", check="clock", reason=f"n{n}: late") for n in range(9)]
    assert [item.where for item in problems(result)] == ["n[0-8]"]


def test_many_different_failures_are_cut() -> None:
    result = runs.failed_converge()
    result.failures = [FailureResult(phase="base", host="head", reason=f"reason {number}") for number in range(100)]
    assert "60 more are in result.json" in text_of(report.render(result))


def test_files_are_written_for_their_owner_only_and_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "runs" / "2026-12-01T12-00-00"
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(runs.passed().document())
    (folder.parent / "latest").symlink_to(folder.name)
    site = tmp_path / "site.yaml"
    site.write_text("")
    for argument in (site, folder, folder.parent / "latest", folder / "result.json"):
        assert main(["report", str(argument)]) == 0
        assert capsys.readouterr().out == f"{folder}/report.html\n"
        for name in ("report.html", "junit.xml"):
            assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
            (folder / name).unlink()


def test_no_run_and_no_result_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 2
    assert f"there is no run in {tmp_path}" in capsys.readouterr().err
    (tmp_path / "result.json").write_text('{"verdict": "maybe"}')
    assert main(["report", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "result.json is no result of hpcprov, or of another version" in said and "verdict: Input should be" in said


def test_results_of_an_older_version_have_no_spans() -> None:
    result = runs.passed()
    result.phases = [phase.model_copy(update={"spans": []}) for phase in result.phases]
    bars = page(result).timeline.bars
    assert [bar.since for bar in bars[:4]] == ["0.0 s", "0.1 s", "2.2 s", "2.5 s"]


def test_a_result_that_knows_nothing() -> None:
    assert "Not finished" in report.render(Result(site="/s", hpcprov="0", started="now"))
