"""What is learnt later changes verdicts that were given, and the change is kept."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from buildeye.config import Settings
from buildeye.model import Cause, Diagnosis, Job, KeyLine, PullRequest, Run, Verdict
from buildeye.pipeline.history import diagnoses_of, history_around, subjects_between
from buildeye.pipeline.reconsider import change_of, keep_diagnoses, keep_verdicts, reconsider, stored_verdicts
from buildeye.triage.facts import diagnose_facts
from buildeye.triage.judge import judge
from buildeye.warehouse import JobDiagnosis, Warehouse, open_warehouse
from buildeye.warehouse.reading import verdict_change_of

NOW = datetime(2026, 5, 28, 12, tzinfo=UTC)
REPOSITORY = "octo/widgets"
SIGNATURE = "pytest.failed|tests/ops/test_rope.py::test_cache_is_shared|AssertionError"
SETTINGS = Settings.model_validate({"target_repository": {"owner": "octo", "repo": "widgets", "branch": "main"}})


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Warehouse]:
    with open_warehouse(f"chdb://{tmp_path / 'warehouse'}") as opened:
        yield opened


def a_run(number: int, hours: float, *, pull: int | None, conclusion: str = "failure", attempt: int = 1) -> Run:
    """A run of a pull request by its own author, or of main; created `hours` before now."""
    at = NOW - timedelta(hours=hours)
    return Run(
        id=number, name="E2E", status="completed", conclusion=conclusion, event="pull_request" if pull else "push",
        workflow_id=9, path=".github/workflows/e2e.yaml", head_sha=f"{number:040x}",
        head_branch=f"topic-{pull}" if pull else "main", run_attempt=attempt, created_at=at, run_started_at=at,
        updated_at=at + timedelta(minutes=30), actor=f"dev-{pull}" if pull else "maint",
        pull_requests=(pull,) if pull else (), repository_full_name=REPOSITORY,
    )  # fmt: skip


def keep(warehouse: Warehouse, run: Run) -> Job:
    """The run with its one job in the warehouse; of a failure also what its log says."""
    assert run.created_at is not None
    job = Job(
        id=run.id * 10 + run.run_attempt, run_id=run.id, name="unit", status="completed", conclusion=run.conclusion,
        run_attempt=run.run_attempt, workflow_name=run.name, head_sha=run.head_sha, head_branch=run.head_branch,
        created_at=run.created_at, started_at=run.created_at + timedelta(minutes=1),
        completed_at=run.created_at + timedelta(minutes=20 * run.run_attempt), runner_name=f"runner-{run.id}",
        labels=("cpu",), repository_full_name=REPOSITORY,
    )  # fmt: skip
    warehouse.write_runs([run])
    warehouse.write_jobs([job])
    for number in run.pull_requests:
        warehouse.write_pull_requests(
            [
                PullRequest(
                    number, author=f"dev-{number}", base_ref="main", head_sha=run.head_sha,
                    head_ref=run.head_branch, created_at=run.created_at,
                    updated_at=run.created_at, repository_full_name=REPOSITORY,
                )
            ]
        )  # fmt: skip
    if run.conclusion == "failure":
        said = Diagnosis(
            f"job {job.id}", Cause.CODE, "test-failure", confidence=0.9, signature=SIGNATURE, rule_set="rules",
            key_line=KeyLine(7, "FAILED tests/ops/test_rope.py::test_cache_is_shared - AssertionError"),
            files=("tests/ops/test_rope.py",), tests=("tests/ops/test_rope.py::test_cache_is_shared",),
        )  # fmt: skip
        warehouse.write_diagnoses([JobDiagnosis(REPOSITORY, run.id, job.id, said, NOW)])
    return job


def first_look(warehouse: Warehouse, now: datetime) -> Verdict:
    """The verdict on the only failure, as a pass gave and kept it."""
    [subject] = subjects_between(warehouse, SETTINGS, now - timedelta(hours=6), now)
    verdict = judge(subject, history_around(warehouse, SETTINGS, now - timedelta(hours=6), now, now), now=now)
    assert keep_verdicts(warehouse, [verdict], REPOSITORY, now) == []
    return verdict


def changes(warehouse: Warehouse, run: int) -> list[str]:
    return [
        verdict_change_of(row).why
        for row in warehouse.ask("verdict_changes", repository=REPOSITORY, runs=[run])
    ]  # fmt: skip


def test_a_failure_that_main_turns_out_to_have_had_before_becomes_interference(warehouse: Warehouse) -> None:
    job = keep(warehouse, a_run(5, 9, pull=7))
    before = first_look(warehouse, NOW - timedelta(hours=6))
    assert before.cause is Cause.CODE
    for number, hours in ((2, 10.0), (3, 8.5), (4, 8.0)):
        keep(warehouse, a_run(number, hours, pull=None))
    for number in (20, 21, 22):
        keep(warehouse, a_run(number, 8.7, pull=number))
    found = [change for change in reconsider(warehouse, SETTINGS, NOW, set()) if change.job_id == job.id]
    assert [(c.cause_before, c.cause, c.category) for c in found] == [
        (Cause.CODE, Cause.INTERFERENCE, "broken-trunk")
    ]  # fmt: skip
    assert "base-broken" in found[0].reasons
    assert changes(warehouse, 5) == [found[0].why]
    assert stored_verdicts(warehouse, REPOSITORY, [job.id])[job.id].cause is Cause.INTERFERENCE


def test_judging_again_what_nothing_new_is_known_of_changes_nothing(warehouse: Warehouse) -> None:
    job = keep(warehouse, a_run(5, 9, pull=7))
    before = first_look(warehouse, NOW - timedelta(hours=6))
    assert reconsider(warehouse, SETTINGS, NOW - timedelta(hours=6), set()) == []
    assert stored_verdicts(warehouse, REPOSITORY, [job.id])[job.id] == before
    assert changes(warehouse, 5) == []


def test_a_job_that_this_pass_judged_and_one_nobody_judged_are_left_alone(warehouse: Warehouse) -> None:
    job = keep(warehouse, a_run(5, 9, pull=7))
    first_look(warehouse, NOW - timedelta(hours=6))
    keep(warehouse, a_run(2, 10, pull=None))
    assert reconsider(warehouse, SETTINGS, NOW, {job.id}) == []
    assert stored_verdicts(warehouse, REPOSITORY, [21]) == {}


def test_days_of_zero_mean_never(warehouse: Warehouse) -> None:
    keep(warehouse, a_run(5, 9, pull=7))
    first_look(warehouse, NOW - timedelta(hours=6))
    keep(warehouse, a_run(2, 10, pull=None))
    never = Settings.model_validate({"classification": {"reconsider_days": 0}})
    assert reconsider(warehouse, never, NOW, set()) == []


def test_what_was_stopped_gets_its_verdict_without_a_log(warehouse: Warehouse) -> None:
    keep(warehouse, a_run(5, 2, pull=7, conclusion="cancelled"))
    keep(warehouse, a_run(6, 1.9, pull=7, conclusion="success"))
    assert reconsider(warehouse, SETTINGS, NOW, set()) == []
    [verdict] = stored_verdicts(warehouse, REPOSITORY, [51]).values()
    assert (verdict.cause, verdict.category) == (Cause.CANCELLED, "superseded")


def test_the_same_verdicts_twice_are_kept_once_and_a_kill_between_change_and_verdict_loses_nothing(
    warehouse: Warehouse,
) -> None:
    keep(warehouse, a_run(5, 9, pull=7))
    before = first_look(warehouse, NOW - timedelta(hours=6))
    after = replace(before, cause=Cause.INTERFERENCE, category="broken-trunk", judged_at=NOW)
    warehouse.write_verdict_changes([change_of(before, after, REPOSITORY, NOW)])  # killed here, before the verdict
    assert keep_verdicts(warehouse, [after], REPOSITORY, NOW)
    assert keep_verdicts(warehouse, [replace(after, judged_at=NOW)], REPOSITORY, NOW) == []
    assert len(changes(warehouse, 5)) == 1


def test_a_log_that_cannot_be_read_any_more_does_not_wipe_out_what_it_said(warehouse: Warehouse) -> None:
    job = keep(warehouse, a_run(5, 9, pull=7))
    gone = diagnose_facts(job, "GitHub no longer has its log")
    later = [
        JobDiagnosis(REPOSITORY, 5, number, gone, NOW + timedelta(hours=1)) for number in (job.id, job.id + 1)
    ]  # fmt: skip
    keep_diagnoses(warehouse, REPOSITORY, later)
    kept = diagnoses_of(warehouse, REPOSITORY, [job.id, job.id + 1])
    assert kept[job.id].signature == SIGNATURE
    assert kept[job.id + 1].signature == gone.signature
