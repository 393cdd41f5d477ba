"""What a job prints when it passes, kept in a real warehouse and used to read its failures."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from buildeye.logs.environment import Change, changed
from buildeye.logs.ruleset import load_ruleset
from buildeye.logstore import LogStore, open_log_store
from buildeye.model import Job, Thing
from buildeye.pipeline.baselines import keep_baselines, stored_baselines
from buildeye.pipeline.classify import classify
from buildeye.pipeline.metadata import Build, FailedJob
from buildeye.triage.thresholds import Thresholds
from buildeye.warehouse import KeptLog, Warehouse, open_warehouse
from buildeye.warehouse.reading import things_of
from tests.triage.cases import NOW, job, run

REPOSITORY = "octo/app"
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


@pytest.fixture
def logs(tmp_path: Path) -> LogStore:
    return open_log_store("", tmp_path)


def _green(warehouse: Warehouse, logs: LogStore, number: int, at: datetime, text: str) -> Job:
    """A job of main that passed, with its log in the archive."""
    passed = replace(
        job(),
        id=number,
        conclusion="success",
        head_branch="main",
        started_at=at,
        completed_at=at,
        repository_full_name=REPOSITORY,
    )
    kept = logs.keep(f"{REPOSITORY}/{at:%Y-%m-%d}/{number}.log.zst", [text.encode()])
    warehouse.write_jobs([passed])
    warehouse.write_logs([KeptLog(REPOSITORY, passed.run_id, number, at, kept.place)])
    return passed


def test_a_failure_that_no_rule_knows_is_found_by_what_the_green_run_did_not_print(
    warehouse: Warehouse, logs: LogStore
) -> None:
    _green(warehouse, logs, 1, NOW - timedelta(hours=5), GREEN)
    assert keep_baselines(warehouse, logs, REPOSITORY, NOW - timedelta(days=2)) == 1
    assert keep_baselines(warehouse, logs, REPOSITORY, NOW - timedelta(days=2)) == 0
    of = run()
    failed = FailedJob(replace(job(), run_id=of.id), log_excerpt=RED)
    (finding,) = classify(
        [Build(of, "pr", (failed.job,), (failed,))],
        load_ruleset(),
        Thresholds(),
        NOW,
        baselines=lambda names: stored_baselines(warehouse, REPOSITORY, "main", names),
    )
    diagnosis = finding.jobs[0].diagnosis
    assert diagnosis.key_line is not None
    assert diagnosis.key_line.text == "the mesh folded over itself at corner north"
    assert diagnosis.evidence[0].kind == "baseline"


def test_what_green_and_failed_jobs_ran_in_is_kept(warehouse: Warehouse, logs: LogStore) -> None:
    _green(warehouse, logs, 1, NOW - timedelta(hours=5), GREEN + "git version 2.51.0\n")
    _green(warehouse, logs, 2, NOW - timedelta(hours=6), GREEN)
    keep_baselines(warehouse, logs, REPOSITORY, NOW - timedelta(days=2))
    kept = warehouse.query("SELECT run_id, job_id, things FROM buildeye.job_environment_latest").rows
    before = (Thing("tool", "git", "2.51.0"),)
    assert [(run_id, job_id, things_of({"things": things})) for run_id, job_id, things in kept] == [
        (job().run_id, 1, before)
    ]
    of = run()
    failed = FailedJob(replace(job(), run_id=of.id), log_excerpt="git version 2.52.0\n" + RED)
    (finding,) = classify([Build(of, "pr", (failed.job,), (failed,))], load_ruleset(), Thresholds(), NOW)
    assert changed(before, finding.jobs[0].environment) == (Change("tool", "git", "2.51.0", "2.52.0"),)


def test_of_two_green_runs_the_later_one_counts(warehouse: Warehouse, logs: LogStore) -> None:
    _green(warehouse, logs, 2, NOW - timedelta(days=1), "a\nb\nc\n")
    _green(warehouse, logs, 1, NOW - timedelta(days=2), "a\n")
    keep_baselines(warehouse, logs, REPOSITORY, NOW - timedelta(days=3))
    stored = stored_baselines(warehouse, REPOSITORY, "main", [job().name, "never green"])
    assert {name: len(lines) for name, lines in stored.items()} == {job().name: 3}


def test_a_log_that_is_gone_leaves_the_baseline_as_it_was(warehouse: Warehouse, logs: LogStore) -> None:
    passed = _green(warehouse, logs, 1, NOW, "a\n")
    logs.local(f"{REPOSITORY}/{NOW:%Y-%m-%d}/{passed.id}.log.zst").unlink()
    assert keep_baselines(warehouse, logs, REPOSITORY, NOW - timedelta(days=1)) == 0
    assert stored_baselines(warehouse, REPOSITORY, "main", [passed.name]) == {}
