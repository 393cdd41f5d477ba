"""Which of two facts is the later one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from buildeye.model import Job, PullRequest, Run, Step
from buildeye.warehouse.version import (
    DIAGNOSIS_BITS,
    diagnosis_version,
    job_version,
    moment_version,
    pull_request_version,
    run_version,
    status_rank,
)

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)
JOB = Job(id=1, run_id=2, name="unit", status="in_progress", created_at=NOON)
RUN = Run(id=2, name="CI", status="completed", conclusion="failure", updated_at=LATER)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("never heard of", "requested"),
        ("requested", "queued"),
        ("waiting", "queued"),
        ("pending", "queued"),
        ("queued", "in_progress"),
        ("in_progress", "completed"),
    ],
)
def test_statuses_come_in_the_order_a_job_passes_them(earlier: str, later: str) -> None:
    assert status_rank(earlier) < status_rank(later)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        pytest.param(replace(JOB, created_at=LATER), replace(JOB, status="completed"), id="status before time"),
        pytest.param(JOB, replace(JOB, started_at=LATER), id="time within a status"),
        pytest.param(
            replace(JOB, steps=(Step("build", 1, "in_progress"),)),
            replace(JOB, steps=(Step("build", 1, "completed"),)),
            id="steps done at the same time",
        ),
        pytest.param(JOB, replace(JOB, steps=(Step("build", 1, "queued", started_at=LATER),)), id="time of a step"),
    ],
)
def test_a_later_state_of_a_job_has_the_higher_version(earlier: Job, later: Job) -> None:
    assert job_version(earlier) < job_version(later)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        pytest.param(
            RUN, replace(RUN, run_attempt=2, status="queued", updated_at=NOON), id="a re-run beats the finished attempt"
        ),
        pytest.param(replace(RUN, status="in_progress"), replace(RUN, updated_at=NOON), id="status before time"),
        pytest.param(RUN, replace(RUN, updated_at=LATER + timedelta(seconds=1)), id="time within a status"),
    ],
)
def test_a_later_state_of_a_run_has_the_higher_version(earlier: Run, later: Run) -> None:
    assert run_version(earlier) < run_version(later)


def test_a_pull_request_with_its_files_beats_the_same_state_without() -> None:
    bare = PullRequest(number=7, updated_at=NOON)
    assert pull_request_version(bare) < pull_request_version(replace(bare, changed_files=("a.py",)))
    assert pull_request_version(replace(bare, changed_files=("a.py",))) < pull_request_version(
        replace(bare, updated_at=LATER)
    )


def test_two_contents_of_one_moment_have_different_versions_that_do_not_depend_on_order() -> None:
    one, other = replace(JOB, runner_name="a"), replace(JOB, runner_name="b")
    assert job_version(one) != job_version(other)
    assert job_version(one) == job_version(replace(JOB, runner_name="a"))


def test_a_diagnosis_fits_below_a_job_and_everything_below_the_sign_bit() -> None:
    far = datetime(9999, 1, 1, tzinfo=UTC)
    extreme = replace(RUN, run_attempt=10**9, updated_at=far)
    assert diagnosis_version(far, "x") < 1 << DIAGNOSIS_BITS
    assert job_version(JOB) % (1 << DIAGNOSIS_BITS) == 0
    assert run_version(extreme) < 1 << 255


def test_no_moment_is_earlier_than_any() -> None:
    assert moment_version(None, "x") < moment_version(NOON, "x") < moment_version(LATER, "x")
