"""What is judged comes from the warehouse and the log archive alone."""

from dataclasses import replace
from datetime import timedelta

from buildeye.config import Settings
from buildeye.logstore import open_log_store
from buildeye.pipeline.collect import GONE
from buildeye.pipeline.metadata import Build
from buildeye.pipeline.window import MISSING, builds_between
from buildeye.simulator import Past

from .conftest import NOW, SINCE, Day, app_of


def builds(day: Day, **monitoring: int) -> list[Build]:
    target = {"owner": day.past.owner, "repo": day.past.name}
    settings = Settings.model_validate({"target_repository": target, "monitoring": monitoring})
    logs = open_log_store("", day.folder)
    return builds_between(day.warehouse, logs, settings, SINCE, NOW, day.warned.append)


def test_runs_come_newest_first_with_their_jobs_logs_and_pull_requests(day: Day, past: Past) -> None:
    day.sync(app_of(past))
    found = builds(day)
    created = [build.run.created_at for build in found if build.run.created_at]
    assert created == sorted(created, reverse=True)
    assert {build.run.id for build in found} == {run.id for run in past.attempts}
    latest = {run.id: run.run_attempt for run in past.attempts}
    failed = {job.id for job in past.jobs if job.conclusion == "failure" and job.run_attempt == latest[job.run_id]}
    assert {each.job.id for build in found for each in build.failed} == failed
    assert all(each.log_file and each.log_file.is_file() for build in found for each in build.failed if each.job.steps)
    of_pulls = [build for build in found if build.failed and build.run.event == "pull_request"]
    assert of_pulls
    assert all(build.pull_request and build.pull_request.changed_files for build in of_pulls)
    assert day.warned == []


def test_only_as_many_runs_as_allowed_the_newest(day: Day, past: Past) -> None:
    day.sync(app_of(past))
    newest = sorted({run.id for run in past.attempts}, reverse=True)[:5]
    assert [build.run.id for build in builds(day, max_runs=5)] == newest


def test_a_log_that_has_gone_from_the_archive_is_told_and_its_job_judged_without(day: Day, past: Past) -> None:
    day.sync(app_of(past))
    job = next(each for build in builds(day) for each in build.failed if each.log_file)
    assert job.log_file is not None
    job.log_file.unlink()
    again = next(each for build in builds(day) for each in build.failed if each.job.id == job.job.id)
    assert (again.log_file, again.log_state) == (None, MISSING)
    assert [f"job {job.job.id}: its log" in said for said in day.warned] == [True]


def test_an_expired_log_is_said_to_be_gone(day: Day, past: Past) -> None:
    day.sync(app_of(replace(past, log_days=0)))
    states = {each.log_state for build in builds(day) for each in build.failed}
    assert states == {GONE}


def test_a_run_of_githubs_future_is_not_left_out(day: Day, past: Past) -> None:
    """Our clock is hours behind: what began "after now" is judged as well."""
    late = NOW - timedelta(hours=7)
    newest = max(run.created_at for run in past.attempts if run.created_at)
    assert newest > late
    day.sync(app_of(past), now=late, since=late - timedelta(hours=24))
    failed = {job.id for job in past.jobs if job.conclusion == "failure" and job.steps}
    kept = {job for (job,) in day.warehouse.query("SELECT job_id FROM buildeye.log_latest WHERE place != ''").rows}
    assert failed <= kept
