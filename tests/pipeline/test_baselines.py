"""What a job prints when it passes, kept in a real warehouse and used to read its failures."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from buildeye.logs.ruleset import load_ruleset
from buildeye.pipeline.baselines import keep_baselines, stored_baselines
from buildeye.pipeline.classify import classify
from buildeye.pipeline.metadata import Build, FailedJob
from buildeye.triage.judge import Thresholds
from buildeye.warehouse import Warehouse, open_warehouse
from tests.triage.cases import NOW, job, run

GREEN = """\
##[group]Run ./simulate.sh
##[endgroup]
2026-05-12T08:14:02.1234567Z loaded 412 tiles in 31 ms
2026-05-12T08:14:03.1234567Z settling the mesh, pass 1
2026-05-12T08:14:04.1234567Z settling the mesh, pass 2
2026-05-12T08:14:05.1234567Z written 7 files
"""
ODD = "2026-05-13T09:00:09.1234567Z the mesh folded over itself at corner north"
RED = GREEN.replace("2026-05-12T08:14:05.1234567Z written 7 files", ODD).replace("412", "398") + (
    "##[error]Process completed with exit code 3.\n"
)


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    with open_warehouse(f"chdb://{tmp_path / 'warehouse'}") as opened:
        yield opened


def _log(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.log"
    path.write_text(text)
    return path


def test_a_failure_that_no_rule_knows_is_found_by_what_the_green_run_did_not_print(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    green = replace(job(), conclusion="success", completed_at=NOW - timedelta(hours=5))
    assert keep_baselines(warehouse, "main", [(green, _log(tmp_path, "green", GREEN))]) == 1
    of = run()
    failed = FailedJob(replace(job(), run_id=of.id), log_excerpt=RED)
    (finding,) = classify(
        [Build(of, "pr", (failed.job,), (failed,))],
        load_ruleset(),
        Thresholds(),
        NOW,
        baselines=lambda names: stored_baselines(warehouse, green.repository_full_name, "main", names),
    )
    diagnosis = finding.jobs[0].diagnosis
    assert diagnosis.key_line is not None
    assert diagnosis.key_line.text == "the mesh folded over itself at corner north"
    assert diagnosis.evidence[0].kind == "baseline"


def test_of_two_green_runs_the_later_one_counts_whichever_is_kept_first(warehouse: Warehouse, tmp_path: Path) -> None:
    old = replace(job(), id=1, completed_at=NOW - timedelta(days=2))
    new = replace(job(), id=2, completed_at=NOW - timedelta(days=1))
    keep_baselines(warehouse, "main", [(new, _log(tmp_path, "new", "a\nb\nc\n"))])
    keep_baselines(warehouse, "main", [(old, _log(tmp_path, "old", "a\n"))])
    stored = stored_baselines(warehouse, job().repository_full_name, "main", [job().name, "never green"])
    assert {name: len(lines) for name, lines in stored.items()} == {job().name: 3}


def test_a_log_that_cannot_be_read_leaves_the_baseline_as_it_was(warehouse: Warehouse, tmp_path: Path) -> None:
    done = replace(job(), completed_at=NOW)
    assert keep_baselines(warehouse, "main", [(done, tmp_path / "missing.log")]) == 0
    assert stored_baselines(warehouse, done.repository_full_name, "main", [done.name]) == {}
