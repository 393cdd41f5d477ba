"""What is told of a pull request comes from stored facts: which runs count, and what is known of each failed job."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.config import Settings
from buildeye.model import (
    WHOLE_RUN,
    Cause,
    Culprit,
    Level,
    MergeRange,
    PersonVerdict,
    PullRequestFinding,
    Run,
    UsageError,
)
from buildeye.pipeline.pullrequests import finding_of_pull_request, speaks_for, that_count
from buildeye.reports.comment import render_comment
from buildeye.warehouse import Warehouse
from tests.warehouse.facts import REPOSITORY, a_diagnosis, a_job, a_pull, a_run, a_verdict, at

OLD, NEW = "0" * 40, "a" * 40


def settings(*workflows: str) -> Settings:
    owner, _, repo = REPOSITORY.partition("/")
    return Settings.model_validate(
        {"target_repository": {"owner": owner, "repo": repo}, "monitored_workflows": workflows}
    )


def found(warehouse: Warehouse, *workflows: str) -> PullRequestFinding:
    return finding_of_pull_request(warehouse, settings(*workflows), 7)


def run(
    number: int, conclusion: str | None = "failure", *, workflow: int = 5, minutes: float = 0, sha: str = NEW
) -> Run:
    status = "completed" if conclusion else "in_progress"
    base = a_run(number, status=status, conclusion=conclusion)
    path = f".github/workflows/{workflow}.yml"
    return replace(base, workflow_id=workflow, path=path, created_at=at(minutes), head_sha=sha)


def test_a_pull_request_that_is_not_known_is_told_with_what_to_do(warehouse: Warehouse) -> None:
    with pytest.raises(UsageError, match=r"pull request 7 of octo/widgets is not in .*; run build-eye monitor"):
        found(warehouse)


def test_one_without_runs_has_nothing_to_tell(warehouse: Warehouse) -> None:
    warehouse.write_pull_requests([a_pull()])
    assert found(warehouse) == PullRequestFinding(a_pull(), NEW, None)


def test_failed_jobs_come_with_their_diagnosis_and_verdict_and_other_runs_are_counted(warehouse: Warehouse) -> None:
    warehouse.write_pull_requests([a_pull()])
    others = [run(101, "success", workflow=6), run(102, None, workflow=7), run(103, "skipped", workflow=8)]
    warehouse.write_runs([run(100), *others])
    warehouse.write_jobs([a_job(1000), a_job(1001, conclusion="success"), a_job(2000, run=101, conclusion="success")])
    diagnosis = a_diagnosis()
    warehouse.write_diagnoses([diagnosis])
    told = replace(
        a_verdict(),
        merge_range=MergeRange("g" * 40, "b" * 40, 2),
        culprits=(Culprit("c" * 40, 0.6, "it touches the file", 9),),
        related_pull_requests=(8, 9),
    )
    warehouse.write_verdicts([told], REPOSITORY)
    finding = found(warehouse)
    assert (finding.head_sha, finding.passed, finding.pending, finding.verdict) == (NEW, 1, 1, told)
    (failed,) = finding.runs
    (job,) = failed.jobs
    assert (failed.run.id, job.job, job.diagnosis, job.verdict) == (100, a_job(1000), diagnosis.diagnosis, told)
    assert failed.suggestions


def test_only_the_newest_commit_that_ran_is_told(warehouse: Warehouse) -> None:
    warehouse.write_pull_requests([replace(a_pull(), head_sha="f" * 40)])
    warehouse.write_runs([run(100, sha=OLD, minutes=-30), run(101, "success", workflow=6), run(102, workflow=7)])
    warehouse.write_jobs([a_job(1000), a_job(1001, run=102)])
    finding = found(warehouse)
    assert (finding.head_sha, [each.run.id for each in finding.runs], finding.passed) == (NEW, [102], 1)
    assert finding.pull_request.head_sha == "f" * 40


def test_runs_of_a_fork_that_name_no_pull_request_count_with_its_commit(warehouse: Warehouse) -> None:
    warehouse.write_pull_requests([a_pull()])
    nameless = replace(run(101, "success", workflow=6), pull_requests=())
    push = replace(run(102, "success", workflow=7), pull_requests=(), event="push")
    other = replace(run(103, "success", workflow=8), pull_requests=(8,))
    warehouse.write_runs([run(100, "success"), nameless, push, other])
    assert found(warehouse).passed == 2


def test_a_failed_job_without_a_verdict_is_not_judged(warehouse: Warehouse) -> None:
    warehouse.write_pull_requests([a_pull()])
    warehouse.write_runs([run(100)])
    warehouse.write_jobs([a_job(1000), a_job(1001)])
    warehouse.write_diagnoses([a_diagnosis(1001)])
    warehouse.write_verdicts([a_verdict(1001)], REPOSITORY)
    finding = found(warehouse)
    first, second = finding.runs[0].jobs
    assert (first.verdict.judged_at, first.verdict.cause, first.verdict.level) == (None, Cause.UNKNOWN, Level.NONE)
    assert finding.verdict == second.verdict


def test_what_a_person_said_wins_also_where_nobody_judged_before(warehouse: Warehouse) -> None:
    warehouse.write_pull_requests([a_pull()])
    warehouse.write_runs([run(100)])
    warehouse.write_jobs([a_job(1000), a_job(1001)])
    warehouse.write_verdicts([a_verdict(1001)], REPOSITORY)
    said = PersonVerdict(REPOSITORY, 100, WHOLE_RUN, Cause.INFRASTRUCTURE, "", "the pool was down", "octo", at(60))
    warehouse.write_person_verdicts([said])
    finding = found(warehouse)
    assert {(job.verdict.cause, job.verdict.person) for job in finding.runs[0].jobs} == {(Cause.INFRASTRUCTURE, "octo")}
    comment = render_comment(finding)
    assert "### Not this change: " in comment
    assert "`octo` says so" in comment and "Not judged yet" not in comment


def test_a_run_that_failed_without_a_job_stands_for_one(warehouse: Warehouse) -> None:
    warehouse.write_pull_requests([a_pull()])
    warehouse.write_runs([run(100, "startup_failure")])
    warehouse.write_verdicts([a_verdict(100, cause=Cause.CONFIGURATION)], REPOSITORY)
    (job,) = found(warehouse).runs[0].jobs
    assert (job.job.name, job.job.html_url, job.verdict.cause) == ("CI", run(100).html_url, Cause.CONFIGURATION)


def test_jobs_of_an_earlier_attempt_are_not_told(warehouse: Warehouse) -> None:
    warehouse.write_pull_requests([a_pull()])
    warehouse.write_runs([replace(run(100), run_attempt=2)])
    warehouse.write_jobs([a_job(1000), replace(a_job(1001, name="e2e"), run_attempt=2)])
    assert [job.job.id for job in found(warehouse).runs[0].jobs] == [1001]


def test_the_run_that_asks_does_not_count(warehouse: Warehouse) -> None:
    warehouse.write_pull_requests([a_pull()])
    warehouse.write_runs([run(100, "success"), run(101, None, workflow=6)])
    finding = finding_of_pull_request(warehouse, settings(), 7, without_run=101)
    assert (finding.passed, finding.pending) == (1, 0)


def test_only_watched_workflows_count(warehouse: Warehouse) -> None:
    warehouse.write_pull_requests([a_pull()])
    warehouse.write_runs([run(100), run(101, "success", workflow=6)])
    warehouse.write_jobs([a_job(1000)])
    finding = found(warehouse, "6.yml")
    assert (finding.runs, finding.passed) == ((), 1)


@pytest.mark.parametrize(
    ("runs", "failed", "counted"),
    [
        ([run(1), run(2, "success", minutes=9)], [1], [2]),
        ([run(1), run(2, "skipped", minutes=9)], [1], [1]),
        ([run(1), run(2, "cancelled", minutes=9)], [1], [1]),
        ([run(1), run(2, "cancelled", minutes=9)], [1, 2], [2]),
        ([run(1), run(2, None, minutes=9)], [1], [2]),
        ([run(1), run(2, workflow=6)], [1, 2], [1, 2]),
        ([run(1), run(2, "success")], [1], [2]),
        ([run(1, "skipped")], [], []),
    ],
    ids=["newer", "skipped", "superseded", "stopped after a failure", "running", "workflows", "same moment", "none"],
)
def test_which_runs_of_a_commit_count(runs: list[Run], failed: list[int], counted: list[int]) -> None:
    assert sorted(each.id for each in that_count(runs, failed)) == counted


@given(st.permutations([run(n, c, workflow=n % 3, minutes=n) for n, c in enumerate(["failure", "success", None] * 3)]))
def test_the_order_of_runs_does_not_matter(runs: list[Run]) -> None:
    expected = sorted(runs, key=lambda each: each.id)
    assert that_count(runs, ()) == that_count(expected, ())


def test_a_verdict_that_was_judged_speaks_before_one_that_was_not() -> None:
    judged = replace(a_verdict(1), confidence=0.1, cause=Cause.UNKNOWN)
    waiting = replace(a_verdict(2), judged_at=None)
    assert speaks_for([waiting, judged]) == judged
    assert speaks_for([waiting]) == waiting
    assert speaks_for([]) is None
