"""A first sync brings all there is; a second one brings what is new and asks for nothing else."""

from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
import zstandard

from buildeye.pipeline.sync import sync
from buildeye.pipeline.sync.runs import has_jobs
from buildeye.simulator import Past
from buildeye.simulator.logs import render_log
from buildeye.simulator.server import serving
from buildeye.warehouse.reading import job_of, pull_request_of, run_of

from .conftest import NOW, SINCE, Day, app_of, asked


def test_a_sync_brings_all_runs_and_the_jobs_of_all_attempts(day: Day, past: Past) -> None:
    done = day.sync(app_of(past))
    latest = {run.id: run for run in past.attempts}
    rows = day.warehouse.query("SELECT * FROM default.workflow_run_latest ORDER BY id")
    runs = [run_of(dict(zip(rows.columns, row, strict=True))) for row in rows.rows]
    assert [replace(run, pull_requests=()) for run in runs] == [
        replace(latest[number], pull_requests=()) for number in sorted(latest)
    ]
    rows = day.warehouse.query("SELECT * FROM default.workflow_job_latest ORDER BY id")
    jobs = [job_of(dict(zip(rows.columns, row, strict=True))) for row in rows.rows]
    assert jobs == [job for job in past.jobs if has_jobs(latest[job.run_id])]
    assert any(run.run_attempt > 1 for run in runs)
    assert (done.runs.looked_at, done.runs.changed, done.runs.jobs) == (len(latest), len(latest), len(jobs))
    assert day.warned == []


def test_failed_runs_know_their_pull_request_with_files_and_merge_base(day: Day, past: Past) -> None:
    day.sync(app_of(past))
    pulls = {pull.number: pull for pull in past.pulls}
    rows = day.warehouse.ask("failed_runs", repository=past.full_name, since=SINCE, until=NOW)
    runs = [run_of(row) for row in rows if row["event"] == "pull_request"]
    assert runs and all(run.pull_requests for run in runs)
    assert any(pulls[run.pull_requests[0]].author in past.forks for run in runs)
    numbers = [run.pull_requests[0] for run in runs]
    known = day.warehouse.ask("known_pull_requests", repository=past.full_name, numbers=numbers, head_refs=[])
    for pull in map(pull_request_of, known):
        assert set(pull.changed_files) == set(pulls[pull.number].changed_files)
        assert pull.merge_base_sha == pulls[pull.number].base_sha
        assert pull.author == pulls[pull.number].author


def test_merges_on_the_base_branch_are_pushes(day: Day, past: Past) -> None:
    day.sync(app_of(past))
    main = [commit for commit in past.commits if commit.branch == "main" and commit.at >= SINCE]
    rows = day.warehouse.query("SELECT ref, before, after, pushed_at FROM default.push_latest ORDER BY pushed_at").rows
    assert rows == tuple(("refs/heads/main", next(iter(c.parents), ""), c.sha, c.at) for c in main)


def test_logs_of_failed_jobs_and_of_one_green_job_a_name_are_kept(day: Day, past: Past) -> None:
    day.sync(app_of(past))
    jobs = {job.id: job for job in past.jobs}
    rows = day.warehouse.query("SELECT job_id, place, size_bytes FROM buildeye.log_latest WHERE NOT expired").rows
    kept = {job: (place, size) for job, place, size in rows}
    failed = {job.id for job in past.jobs if job.conclusion == "failure" and job.steps}
    green = [jobs[number] for number in kept.keys() - failed]
    assert failed <= kept.keys()
    assert {job.conclusion for job in green} == {"success"}
    assert max(Counter((job.workflow_name, job.name) for job in green).values()) == 1
    passed = {(job.workflow_name, job.name) for job in past.jobs if job.conclusion == "success"}
    assert {(job.workflow_name, job.name) for job in green} == passed
    for number, (place, size) in kept.items():
        text = zstandard.ZstdDecompressor().decompressobj().decompress((day.folder / "logs" / place).read_bytes())
        assert text == render_log(past, jobs[number])
        assert size == len(text)
    assert len(day.logs()) == len(kept)


def test_green_logs_are_handed_to_whoever_makes_baselines(day: Day, past: Past) -> None:
    day.sync(app_of(past))
    rows = day.warehouse.ask("green_logs_kept", repository=past.full_name, since=SINCE)
    names = {job.name for job in past.jobs if job.conclusion == "success"}
    assert {row["name"] for row in rows} == names
    assert all((day.folder / "logs" / row["place"]).is_file() for row in rows)


@pytest.mark.parametrize("later", [0, 1, 60, 6 * 60])
def test_a_second_sync_with_nothing_new_asks_three_times_and_is_told_not_modified(
    day: Day, past: Past, later: int
) -> None:
    app, after = app_of(past), timedelta(minutes=later)
    with serving(app) as address:
        with day.github(address) as github:
            sync(day.scope(github), SINCE)
        before, first = day.rows(), len(asked(app))
        with day.github(address) as github:
            done = sync(day.scope(github, NOW + after), SINCE + after)
            assert (github.stats.requests, github.stats.not_modified) == (3, 3)
    assert len(asked(app)) == first + 3
    assert (done.runs.changed, done.pull_requests, done.commits, done.logs.kept) == (0, 0, 0, 0)
    assert day.rows() == before


def test_what_has_happened_since_is_brought_and_nothing_else_asked_for(day: Day, past: Past) -> None:
    """The day as it was six hours ago, then as it is: the rows are those of one sync of the whole day."""
    early = as_of(past, NOW - timedelta(hours=6))
    day.sync(app_of(early), now=NOW - timedelta(hours=6))
    app = app_of(past)
    day.sync(app)
    grown = day.rows()
    known = {run.id for run in early.attempts if has_jobs(run)} - {
        run.id for run in past.attempts if run.run_attempt > 1
    }
    again = {int(path.split("/")[6]) for path in asked(app) if path.endswith("/jobs")} & known
    assert again == set()
    whole = Day(day.warehouse, day.folder / "whole", past)
    from tests.warehouse.conftest import empty

    empty(day.warehouse)
    whole.sync(app_of(past))
    for table, rows in whole.rows().items():
        if table not in ("buildeye.log_latest", "buildeye.sync_cursor_latest", "buildeye.synced_run_latest"):
            assert grown[table] == rows, table
    assert len(grown["buildeye.log_latest"]) >= len(whole.rows()["buildeye.log_latest"])


def as_of(past: Past, moment: object) -> Past:
    """The day as GitHub showed it at an earlier moment: what had begun by then, and how far it had come."""
    from datetime import datetime

    assert isinstance(moment, datetime)
    jobs = tuple(
        job if job.completed_at and job.completed_at <= moment else
        replace(job, status="in_progress", conclusion=None, completed_at=None)
        for job in past.jobs if job.created_at and job.created_at <= moment
    )  # fmt: skip
    going = {(job.run_id, job.run_attempt) for job in jobs if job.status != "completed"}
    attempts = tuple(
        replace(run, status="in_progress", conclusion=None, updated_at=min(run.updated_at or moment, moment))
        if (run.id, run.run_attempt) in going or (run.updated_at or moment) > moment else run
        for run in past.attempts if run.run_started_at and run.run_started_at <= moment
    )  # fmt: skip
    commits = tuple(commit for commit in past.commits if commit.at <= moment)
    made = {commit.sha for commit in commits}
    pulls = tuple(
        replace(
            pull,
            head_sha=next(c.sha for c in reversed(commits) if c.pull == pull.number and c.branch != "main"),
            state=pull.state if pull.merge_commit_sha in made else "open",
            merged_at=pull.merged_at if pull.merge_commit_sha in made else None,
            merge_commit_sha=pull.merge_commit_sha if pull.merge_commit_sha in made else None,
            updated_at=min(pull.updated_at or moment, moment),
        )
        for pull in past.pulls if pull.created_at and pull.created_at <= moment
    )  # fmt: skip
    return replace(past, now=moment, jobs=jobs, attempts=attempts, commits=commits, pulls=pulls)
