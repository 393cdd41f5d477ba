"""Where a failure came from, in the words of judges: what they say is understood, not only what samples make up."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta

import pytest

from buildeye.model import (
    Cause,
    Determinism,
    Diagnosis,
    Finding,
    Job,
    JobFinding,
    PoolLoad,
    Reason,
    Run,
    Thing,
    Verdict,
)
from buildeye.reports import headline, render_report
from buildeye.triage.evidence import Window, gather
from buildeye.triage.history import History
from buildeye.triage.results import Result, Subject, subject_of
from tests.reports.conftest import NOON, history, machine, make_finding, make_job

POOL = "linux-a3"
MINUTE = timedelta(minutes=1)


def subject(name: str = "unit", **of_job: object) -> Subject:
    """A failed job of a run of a branch, half an hour old."""
    run = Run(9, "E2E", "completed", conclusion="failure", head_sha="a" * 40, created_at=NOON, event="pull_request")
    job = Job(90, 9, name, "completed", "failure", completed_at=NOON + 30 * MINUTE, **of_job)  # type: ignore[arg-type]  # fields
    diagnosis = Diagnosis("log", signature="pytest.failed|tests/test_a.py::test_b", cause=Cause.CODE)
    own = replace(subject_of(run, job, diagnosis, None, "main").own, pool=POOL)
    return Subject(run, job, diagnosis, own, None)


def other(number: int, minutes: float, conclusion: str = "success", **fields: object) -> Result:
    """Another job, so many minutes after the run began."""
    at = NOON + minutes * MINUTE
    defaults: dict[str, object] = {"runner": f"r{number}", "pool": POOL, "attempt": 1, "workflow": "E2E"}
    row = {"job_id": number, "run_id": number, "name": "unit", "head_sha": f"{number:040x}", "built": at, "ended": at}
    return Result(conclusion=conclusion, **(defaults | row | fields))  # type: ignore[arg-type]  # a table of fields


def told(given: Subject, rows: Iterable[Result], cause: Cause, category: str, **known: object) -> Finding:
    """What would be told if all that judges find in a history spoke for this cause."""
    past = History(results=(given.own, *rows), **known)  # type: ignore[arg-type]  # fields
    reasons = tuple(Reason(p.kind, p.id, p.quote, p.why, weight=1.0) for p in gather(given, past, Window()))
    job = make_job(given.job.name, cause=cause, category=category, reasons=reasons)
    return make_finding(job)


def origin(finding: Finding) -> str:
    return headline.title([finding], "en").partition(". ")[2]


def test_a_long_wait_is_told_as_the_judge_of_queues_measured_it() -> None:
    given = subject()
    given = replace(given, own=replace(given.own, waited=48 * MINUTE))
    rows = [other(n, -600 + n, waited=2 * MINUTE) for n in range(20)]
    finding = told(given, rows, Cause.INTERFERENCE, "runner-contention")
    assert origin(finding) == "Jobs waited 48 min for `linux-a3`, usual are 2 min"


def test_hours_of_waiting_are_told_in_hours() -> None:
    why = "jobs waited 1440 min for a runner of linux-a3; usual are 90 s"
    job = make_job(
        cause=Cause.INTERFERENCE, category="runner-contention", reasons=(machine("queue-deep", POOL, why, 1),)
    )
    assert origin(make_finding(job)) == "Jobs waited 24 h for `linux-a3`, usual are 90 s"


def test_a_loaded_pool_is_told_as_the_judge_of_queues_counted_it() -> None:
    rows = [other(n, -600 + n, waited=MINUTE) for n in range(20)]
    loads = [PoolLoad(POOL, NOON + n * MINUTE, 1.0, 8.0) for n in range(-60, 0, 5)]
    loads.append(PoolLoad(POOL, NOON + 25 * MINUTE, 31.0, 8.0))
    finding = told(subject(), rows, Cause.INTERFERENCE, "runner-contention", loads=loads)
    assert origin(finding) == "31 jobs waited for `linux-a3` while 8 ran, usually 1 wait"


def test_how_often_it_passed_when_tried_again_is_told_as_the_judge_of_chance_counted_it() -> None:
    given = subject()
    rows = [
        other(n * 10 + attempt, -900 + n, "success" if attempt == 2 else "failure", run_id=n, attempt=attempt,
              signature=given.own.signature)
        for n in range(20, 24)
        for attempt in (1, 2)
    ]  # fmt: skip
    job = told(given, rows, Cause.CODE, "test-failure").jobs[0]
    flaky = [reason for reason in job.verdict.reasons if reason.id == "known-flaky"]
    finding = make_finding(flaky_job(*flaky))
    assert headline.title([finding], "en").endswith("; of 4 commits that failed so and were tried again, 4 passed")


def test_that_it_passed_in_another_attempt_is_told_as_the_judge_of_commits_saw_it() -> None:
    given = subject()
    again = replace(given.own, job_id=91, attempt=2, conclusion="success")
    seen = [r for r in told(given, [again], Cause.CODE, "x").verdict.reasons if r.id == "same-run-passed"]
    assert headline.title([make_finding(flaky_job(*seen))], "en").endswith("; the job passed in attempt 2")


def flaky_job(*reasons: Reason) -> JobFinding:
    """A failed test that another try may pass."""
    return make_job(
        cause=Cause.CODE,
        category="test-failure",
        determinism=Determinism.FLAKY,
        tests=("a.py::test_b",),
        reasons=reasons,
    )


def test_the_leg_that_fails_is_told_as_the_judge_of_matrices_found_it() -> None:
    given = subject("unit (v0.20.2)")
    sibling = other(91, 0, run_id=9, name="unit (main)")
    finding = told(given, [sibling], Cause.INTERFERENCE, "version-matrix")
    assert origin(finding) == "Only the leg `v0.20.2` fails"


def test_what_moved_is_told_as_the_judge_of_the_ground_found_it() -> None:
    given = subject()
    things = {
        80: (Thing("image", "quay.io/cann", "sha256:" + "a" * 64),),
        90: (Thing("image", "quay.io/cann", "sha256:" + "b" * 64),),
    }
    finding = told(given, [other(80, -90)], Cause.INTERFERENCE, "image-update", things=things)
    assert origin(finding) == f"The image moved: `quay.io/cann sha256:{'a' * 12} -> sha256:{'b' * 12}`"


def test_a_reason_that_speaks_against_a_verdict_makes_no_title_of_it() -> None:
    sick = machine("runner-sick", "a3-4-07", "3 other jobs of 3 failed on runner a3-4-07", -1.0)
    job = make_job(cause=Cause.INFRASTRUCTURE, category="network", reasons=(sick,))
    assert headline.title([make_finding(job)], "en").endswith("the infrastructure failed. Network failure")


@pytest.mark.parametrize("event", ["pull_request", "pull_request_target"])
def test_of_a_change_from_a_fork_no_branch_is_called_broken_but_the_base(event: str) -> None:
    job = make_job(cause=Cause.INTERFERENCE, category="broken-trunk")
    finding = make_finding(job, pr=None, head_branch="theirs", event=event)
    assert headline.title([finding], "en").endswith(": not this change. The base branch is broken")


def test_a_wrong_title_of_a_pull_request_is_not_called_the_configuration() -> None:
    job = make_job(cause=Cause.CONFIGURATION, category="policy", confidence=0.8)
    assert headline.title([make_finding(job)], "en").startswith("PR #9829: this change probably needs a fix")


def test_whether_a_rerun_helps_is_told_by_the_verdict_and_not_by_the_rule_alone() -> None:
    job = make_job(
        cause=Cause.CODE, category="test-failure", retry_helps=False, determinism=Determinism.FLAKY,
        reasons=(history("same-run-passed", "attempt 2", "the same job passed in attempt 2 of the same run", 2.5),),
    )  # fmt: skip
    report = render_report([make_finding(job)], language="en", now=NOON)
    assert "**A re-run can pass without a change.**" in report
    assert "retry_helps: true\n" in report


def test_of_many_changes_none_of_which_stands_out_none_is_said_to_be_likely(
    samples: dict[str, list[Finding]],
) -> None:
    report = render_report(samples["range"], language="en", now=NOON)
    assert "- **One of these brought it:**\n  - [#9771]" in report


def test_a_verdict_without_weights_still_makes_a_report(finding_of: Callable[..., Finding]) -> None:
    bare = make_job(cause=Cause.INTERFERENCE, category="upstream-change")
    old = Verdict(501, 71, Cause.INTERFERENCE, "upstream-change", 0.95, bare.verdict.level)
    assert origin(finding_of(replace(bare, verdict=old))) == "An upstream project moved"
