"""The story holds together, and the last day is a good show."""

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from buildeye.model import Cause, Determinism, Job, Run
from buildeye.simulator import Past, build_past
from buildeye.simulator.failures import FAILURES, failure_text
from buildeye.simulator.shapes import SICK_RUNNER
from tests.simulator.conftest import NOW


def _latest(past: Past) -> list[Run]:
    return list({run.id: run for run in past.attempts}.values())


def _last_day(past: Past) -> list[Run]:
    return [run for run in _latest(past) if _at(run.created_at) >= past.now - timedelta(hours=24)]


def _at(time: datetime | None) -> datetime:
    assert time is not None
    return time


def _jobs_with(past: Past, failure: str) -> list[Job]:
    return [job for job in past.jobs if past.plots[job.id].failure == failure]


def test_same_seed_and_moment_give_the_same_past(past: Past) -> None:
    assert build_past(7, NOW) == past


def test_another_seed_gives_another_past_and_owner_and_name_are_where_it_happened() -> None:
    past = build_past(8, NOW, "some-team", "engine")
    assert past.jobs != build_past(9, NOW, "some-team", "engine").jobs
    assert {run.repository_full_name for run in past.attempts} == {"some-team/engine"}
    assert all(run.html_url.startswith("https://github.com/some-team/engine/") for run in past.attempts)


@pytest.mark.parametrize(
    ("seed", "moment"), [(0, datetime(2026, 1, 1, tzinfo=UTC)), (41, datetime(2027, 3, 1, 23, 59, 59, 7, tzinfo=UTC))]
)
def test_the_last_day_is_a_good_show_whatever_seed_and_moment(seed: int, moment: datetime) -> None:
    past = build_past(seed, moment)
    day = _last_day(past)
    ends = Counter(run.conclusion for run in day)
    assert 40 <= len(day) <= 90
    assert ends["success"] == max(ends.values())
    assert 10 <= ends["skipped"] <= 14
    assert 6 <= ends["cancelled"] <= 10
    assert 12 <= ends["failure"] <= 16
    assert Counter(run.status for run in day) == {"completed": len(day) - 2, "in_progress": 1, "queued": 1}


def test_the_last_day_fails_for_every_kind_of_cause(past: Past) -> None:
    failed = {run.id for run in _last_day(past) if run.conclusion == "failure"}
    causes = Counter(
        past.expected(job.id)[0] for job in past.jobs if job.run_id in failed and job.conclusion == "failure"
    )
    assert set(causes) == {Cause.CODE, Cause.CONFIGURATION, Cause.INFRASTRUCTURE, Cause.INTERFERENCE}


def test_three_pull_requests_of_the_last_day_fail_by_the_broken_trunk(past: Past) -> None:
    day = {run.id: run for run in _last_day(past)}
    hit = {
        day[job.run_id].pull_requests
        for job in past.jobs
        if job.run_id in day and past.expected(job.id) == (Cause.INTERFERENCE, "broken-trunk")
    }
    assert len(hit - {()}) >= 3


def test_nothing_happens_after_now(past: Past) -> None:
    times = [time for job in past.jobs for time in (job.created_at, job.started_at, job.completed_at)]
    times += [time for run in past.attempts for time in (run.created_at, run.run_started_at, run.updated_at)]
    times += [commit.at for commit in past.commits]
    assert max(_at(time) for time in times if time) <= past.now


def test_ids_are_unique_and_grow_with_time(past: Past) -> None:
    first = [run for run in past.attempts if run.run_attempt == 1]
    assert [run.id for run in first] == sorted({run.id for run in first})
    assert len({job.id for job in past.jobs}) == len(past.jobs)
    assert [_at(run.created_at) for run in first] == sorted(_at(run.created_at) for run in first)


def test_times_of_jobs_are_inside_their_run(past: Past) -> None:
    runs = {(run.id, run.run_attempt): run for run in past.attempts}
    for job in past.jobs:
        run = runs[job.run_id, job.run_attempt]
        assert _at(run.run_started_at) <= _at(job.created_at) <= _at(job.started_at)
        assert job.completed_at is None or _at(job.started_at) <= job.completed_at <= _at(run.updated_at)


def test_times_of_steps_are_inside_their_job_and_in_order(past: Past) -> None:
    for job in past.jobs:
        starts = [step.started_at for step in job.steps if step.started_at]
        assert starts == sorted(starts)
        ends = [step.completed_at for step in job.steps if step.completed_at]
        assert all(_at(job.started_at) <= time for time in starts)
        assert job.completed_at is None or all(time <= job.completed_at for time in ends)


def test_a_failed_job_has_a_failed_step_unless_its_runner_went_away(past: Past) -> None:
    for job in past.jobs:
        if job.conclusion == "failure":
            lost = past.expected(job.id)[1] == "runner-lost"
            assert any(step.conclusion == "failure" for step in job.steps) != lost


def test_a_run_is_red_when_a_job_of_its_attempt_is(past: Past) -> None:
    red = {(job.run_id, job.run_attempt) for job in past.jobs if job.conclusion == "failure"}
    assert red == {(run.id, run.run_attempt) for run in past.attempts if run.conclusion == "failure"}


def test_every_failed_job_has_a_true_cause_and_every_other_has_none_of_its_own(past: Past) -> None:
    for job in past.jobs:
        cause, _ = past.expected(job.id)
        if job.conclusion == "failure":
            assert cause not in (Cause.NONE, Cause.CANCELLED, Cause.UNKNOWN)
        elif job.conclusion != "cancelled":
            assert cause is Cause.NONE


def test_each_superseded_run_has_a_newer_run_of_the_same_pull_request(past: Past) -> None:
    runs = _latest(past)
    for run in runs:
        if run.conclusion == "cancelled" and run.pull_requests:
            assert any(
                other.id > run.id and other.name == run.name and other.pull_requests == run.pull_requests
                for other in runs
            )


def test_a_job_that_took_too_long_is_cancelled_but_not_superseded(past: Past) -> None:
    (job,) = _jobs_with(past, "job-timeout")
    assert job.conclusion == "cancelled"
    assert past.expected(job.id) == (Cause.INFRASTRUCTURE, "timeout")


def test_the_flaky_test_fails_and_passes_on_the_same_commit(past: Past) -> None:
    failed = _jobs_with(past, "flaky-eviction")
    assert len(failed) >= 5
    for job in failed:
        assert past.truth(job.id).determinism is Determinism.FLAKY
        again = [one for one in past.jobs if (one.run_id, one.name, one.run_attempt) == (job.run_id, job.name, 2)]
        assert [(one.head_sha, one.conclusion) for one in again] == [(job.head_sha, "success")]


def test_five_pull_requests_fail_as_the_broken_main_does_and_touch_other_files(past: Past) -> None:
    failed = _jobs_with(past, "trunk-rope")
    on_main, on_pulls = ([job for job in failed if (job.head_branch == "main") == main] for main in (True, False))
    (breaking,) = {
        commit.sha: commit for commit in past.commits if commit.sha in {job.head_sha for job in on_main}
    }.values()
    assert len(on_pulls) == 5
    commits = {commit.sha: commit for commit in past.commits}
    for job in on_pulls:
        assert not set(commits[job.head_sha].files) & set(breaking.files)
        assert commits[job.head_sha].parents == (breaking.sha,)


def test_main_is_green_again_after_the_fix(past: Past) -> None:
    tips = [run for run in past.attempts if run.event == "push"]
    broken = [number for number, run in enumerate(tips) if run.conclusion == "failure"]
    assert broken
    assert tips[-1].conclusion == "success"


def test_two_pull_requests_pass_alone_and_main_fails_with_both(past: Past) -> None:
    first = next(job for job in past.jobs if past.expected(job.id)[1] == "concurrent-merge")
    commits = {commit.sha: commit for commit in past.commits}
    merged = commits[first.head_sha]
    before = commits[merged.parents[0]]
    assert timedelta() < merged.at - before.at < timedelta(minutes=30)
    alone = {
        commit.sha for commit in past.commits if commit.pull in (merged.pull, before.pull) and commit.branch != "main"
    }
    assert {run.conclusion for run in past.attempts if run.head_sha in alone} == {"success"}
    assert {run.conclusion for run in past.attempts if run.head_sha == before.sha} == {"success"}


def test_only_the_leg_of_the_moved_version_fails(past: Past) -> None:
    failed = [job for job in past.jobs if past.expected(job.id)[1] == "version-matrix"]
    ends: dict[int, set[str | None]] = defaultdict(set)
    for job in past.jobs:
        if job.run_id in {one.run_id for one in failed} and "(v0.20.2)" in job.name:
            ends[job.run_id].add(job.conclusion)
    assert len(failed) == 3
    assert all("(main)" in job.name for job in failed)
    assert all(end == {"success"} for end in ends.values())


def test_the_sick_runner_only_fails_in_the_last_day(past: Past) -> None:
    there = [job for job in past.jobs if job.runner_name == SICK_RUNNER]
    recent = [job for job in there if _at(job.started_at) > past.now - timedelta(hours=24)]
    assert {job.conclusion for job in recent} == {"failure"}
    assert len({job.head_branch for job in recent}) == 3
    assert any(not job.steps for job in recent)
    assert "success" in {job.conclusion for job in there}


def test_no_other_runner_does_two_jobs_at_once(past: Past) -> None:
    spans: dict[str, list[tuple[datetime, datetime]]] = defaultdict(list)
    for job in past.jobs:
        if job.runner_name and job.runner_name != SICK_RUNNER:
            spans[job.runner_name].append((_at(job.started_at), job.completed_at or past.now))
    for runner, busy in spans.items():
        busy.sort()
        assert all(before[1] <= after[0] for before, after in pairwise(busy)), runner


def test_at_least_twenty_kinds_of_failure_happen_and_each_has_a_text(past: Past) -> None:
    happened = {past.plots[job.id].failure for job in past.jobs} & FAILURES.keys()
    assert len(happened) >= 20
    assert happened == FAILURES.keys()
    assert all(failure_text(key) for key in FAILURES.keys() - {"runner-gone"})


def test_a_queued_job_has_no_runner_and_a_going_run_has_jobs_in_every_state(past: Past) -> None:
    queued = next(run for run in past.attempts if run.status == "queued")
    assert all(job.runner_name is None and not job.steps for job in past.jobs if job.run_id == queued.id)
    going = next(run for run in past.attempts if run.status == "in_progress")
    assert {job.status for job in past.jobs if job.run_id == going.id} >= {"completed", "in_progress"}


def test_merged_pull_requests_are_commits_of_main(past: Past) -> None:
    main = {commit.sha: commit.pull for commit in past.commits if commit.branch == "main"}
    for pull in past.pulls:
        if pull.merged_at:
            assert pull.merge_commit_sha is not None
            assert main[pull.merge_commit_sha] == pull.number
            assert pull.state == "closed"
