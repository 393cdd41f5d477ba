"""What one pass could not bring, the next one does: runs that were not over, gone runs, gaps, chosen workflows."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from buildeye.model import Run
from buildeye.pipeline.sync import sync
from buildeye.pipeline.sync.pulls import pull_request_of_branch
from buildeye.simulator import Faults, Past
from buildeye.simulator.faults import bad_gateway
from buildeye.simulator.server import ledger, serving

from .conftest import NOW, SINCE, Day, app_of, asked

DONE = "SELECT status, conclusion FROM default.workflow_run_latest WHERE id = {id:Int64}"


def going_on(past: Past, run_id: int) -> Past:
    """The day while one run is not over yet, and its last job neither."""
    jobs = [job for job in past.jobs if job.run_id == run_id]
    open_jobs = {jobs[-1].id}
    return replace(
        past,
        attempts=tuple(
            replace(run, status="in_progress", conclusion=None, updated_at=run.run_started_at)
            if run.id == run_id else run for run in past.attempts
        ),
        jobs=tuple(
            replace(job, status="in_progress", conclusion=None, completed_at=None) if job.id in open_jobs else job
            for job in past.jobs
        ),
    )  # fmt: skip


def oldest_failure(past: Past) -> Run:
    return next(run for run in past.attempts if run.conclusion == "failure" and run.run_attempt == 1)


def test_a_run_that_was_not_over_is_asked_for_until_it_is_even_when_it_is_older_than_the_window(
    day: Day, past: Past
) -> None:
    run = oldest_failure(past)
    app = app_of(going_on(past, run.id))
    day.sync(app)
    assert f"/repos/{past.full_name}/actions/runs/{run.id}/jobs" not in asked(app)
    later = app_of(past)
    done = day.sync(later, now=NOW + timedelta(days=3), since=NOW + timedelta(days=2))
    assert day.warehouse.query(DONE, {"id": run.id}).rows == (("completed", "failure"),)
    assert done.runs.jobs == len([job for job in past.jobs if job.run_id == run.id])
    assert done.logs.kept >= 1
    assert f"/repos/{past.full_name}/actions/runs/{run.id}" in asked(later)


def test_an_unfinished_run_among_the_newest_costs_no_request_of_its_own(day: Day, past: Past) -> None:
    newest = max(run.id for run in past.attempts)
    app = app_of(going_on(past, newest))
    with serving(app) as address:
        for _ in range(2):
            before = ledger(app).requests
            with day.github(address) as github:
                sync(day.scope(github), SINCE)
        assert ledger(app).requests - before == 3


def test_a_run_that_was_deleted_before_it_was_over_is_not_asked_for_again(day: Day, past: Past) -> None:
    run = oldest_failure(past)
    day.sync(app_of(going_on(past, run.id)))
    gone = replace(past, attempts=tuple(one for one in past.attempts if one.id != run.id))
    first, second = app_of(gone), app_of(gone)
    for app in (first, second):
        day.sync(app, now=NOW + timedelta(days=3), since=NOW + timedelta(days=2))
    path = f"/repos/{past.full_name}/actions/runs/{run.id}"
    assert (path in asked(first), path in asked(second)) == (True, False)
    assert day.warned == []


def test_after_a_long_pause_everything_since_the_last_sync_is_brought(day: Day, past: Past) -> None:
    """The last sync was before the day, the next one four days after it, looking back one day only."""
    before = NOW - timedelta(days=1)
    day.sync(app_of(replace(past, attempts=past.attempts[:1])), now=before, since=before - timedelta(days=1))
    day.sync(app_of(past), now=NOW + timedelta(days=4), since=NOW + timedelta(days=3))
    assert day.warehouse.query("SELECT count() FROM default.workflow_run_latest").rows[0][0] == len(
        {run.id for run in past.attempts}
    )
    failed = {job.id for job in past.jobs if job.conclusion == "failure" and job.steps}
    kept = {job for (job,) in day.warehouse.query("SELECT job_id FROM buildeye.log_latest WHERE place != ''").rows}
    assert failed <= kept


def test_logs_that_could_not_be_had_are_owed_whatever_the_window(day: Day, past: Past) -> None:
    app = app_of(past)
    total = day_of_requests(day, past)
    broken = app_of(past, Faults(at=dict.fromkeys(range(total - 15, total + 30), bad_gateway())))
    day.sync(broken, retries=0)
    assert any("its log could not be had" in said for said in day.warned)
    done = day.sync(app, now=NOW + timedelta(days=5), since=NOW + timedelta(days=4))
    assert done.logs.kept > 0
    failed = {job.id for job in past.jobs if job.conclusion == "failure" and job.steps}
    kept = {job for (job,) in day.warehouse.query("SELECT job_id FROM buildeye.log_latest WHERE place != ''").rows}
    assert failed <= kept


def day_of_requests(day: Day, past: Past) -> int:
    """Requests of an undisturbed sync, before that of the first log."""
    from tests.warehouse.conftest import empty

    app = app_of(past)
    Day(day.warehouse, day.folder / "before", past).sync(app)
    empty(day.warehouse)
    return next(n for n, path in enumerate(ledger(app).paths, 1) if path.endswith("/logs")) + 15


def test_each_chosen_workflow_has_a_cursor_and_one_chosen_later_is_read_from_the_start(day: Day, past: Past) -> None:
    def there() -> set[str]:
        rows = day.warehouse.query("SELECT DISTINCT path FROM default.workflow_run_latest").rows
        return {path.rpartition("/")[2] for (path,) in rows}

    day.sync(app_of(past), workflows=("pr_test_full.yaml",))
    assert there() == {"pr_test_full.yaml"}
    app = app_of(past)
    day.sync(app, workflows=("pr_test_full.yaml", "pr_test_light.yaml"))
    assert there() == {"pr_test_full.yaml", "pr_test_light.yaml"}
    streams = {row["stream"] for row in day.warehouse.ask("sync_cursors", repository=past.full_name)}
    assert {"runs pr_test_full.yaml", "runs pr_test_light.yaml"} <= streams
    full = {run.id for run in past.attempts if run.path.endswith("pr_test_full.yaml")}
    assert not {int(path.split("/")[6]) for path in asked(app) if path.endswith("/jobs")} & full


def test_more_runs_than_allowed_are_told_and_no_more_is_claimed(day: Day, past: Past) -> None:
    day.sync(app_of(past), most=20)
    assert "more than 20 runs since" in day.warned[0]
    day.sync(app_of(past))
    count = day.warehouse.query("SELECT count() FROM default.workflow_run_latest").rows[0][0]
    assert count == len({run.id for run in past.attempts})


def test_a_run_that_only_a_webhook_told_of_gets_its_jobs(day: Day, past: Past) -> None:
    run = oldest_failure(past)
    day.warehouse.write_runs([run])
    day.sync(app_of(past), now=NOW + timedelta(days=3), since=NOW + timedelta(days=2))
    (jobs,) = day.warehouse.query("SELECT count() FROM default.workflow_job_latest WHERE run_id = {id:Int64}",
                                  {"id": run.id}).rows[0]  # fmt: skip
    assert jobs == len([job for job in past.jobs if job.run_id == run.id])


AT = datetime.fromisoformat("2026-05-28T12:00:00Z")


@pytest.mark.parametrize(
    ("pulls", "found"),
    [
        ([(1, "fix", "aaa", "ann", -60)], 1),
        ([(1, "fix", "old", "ann", -60)], 1),
        ([(1, "fix", "old", "bob", -60)], None),
        ([(1, "fix", "old", "ann", 60)], None),
        ([(1, "fix", "aaa", "bob", -60), (2, "fix", "old", "ann", -60)], 1),
        ([(1, "fix", "old", "bob", -60), (2, "fix", "older", "ann", -60)], 2),
        ([(1, "fix", "old", "ann", -60), (2, "fix", "older", "ann", -90)], None),
        ([(1, "other", "aaa", "ann", -60)], None),
        ([], None),
    ],
)
def test_the_pull_request_of_a_run_from_a_fork_is_found_or_not_claimed(
    pulls: list[tuple[int, str, str, str, int]], found: int | None
) -> None:
    from buildeye.model import PullRequest

    run = Run(9, "CI", "completed", head_sha="aaa", head_branch="fix", actor="ann", created_at=AT)
    known = [
        PullRequest(number, head_ref=ref, head_sha=sha, author=author, created_at=AT + timedelta(minutes=minutes))
        for number, ref, sha, author, minutes in pulls
    ]
    pull = pull_request_of_branch(run, known)
    assert (pull.number if pull else None) == found
