"""The client against the simulated repository: what it brings is what happened there."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import zstandard

from buildeye.github import GitHub, LogState
from buildeye.github.wire import Backoff
from buildeye.model import OutsideError
from buildeye.simulator import Faults, Past, build_past
from buildeye.simulator.faults import bad_gateway, cut, secondary_limit, unavailable
from buildeye.simulator.server import running

from .conftest import TOKEN, Time

NOW = datetime(2026, 5, 28, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def past() -> Past:
    return build_past(1, NOW)


@pytest.fixture(scope="module")
def address(past: Past) -> Iterator[str]:
    with running(past, token=TOKEN) as url:
        yield url


def client_of(address: str, cache_dir: Path | None = None, token: str | None = TOKEN) -> GitHub:
    time = Time()
    return GitHub(
        address, token, cache_dir=cache_dir, per_page=50, retries=3, backoff=Backoff(0, 0, 0),
        sleep=time.sleep, clock=time.clock,
    )  # fmt: skip


def test_all_runs_of_three_weeks_are_brought_as_they_were(past: Past, address: str) -> None:
    latest = {run.id: run for run in past.attempts}
    with client_of(address) as client:
        found = list(client.runs(past.owner, past.name, since=NOW - timedelta(days=30), until=NOW))
    assert {run.id for run in found} == set(latest)
    for run in found:
        assert (run.conclusion, run.path, run.created_at) == (
            latest[run.id].conclusion, latest[run.id].path, latest[run.id].created_at
        )  # fmt: skip


def test_jobs_and_logs_of_a_failed_run_are_brought_whole(past: Past, address: str, tmp_path: Path) -> None:
    failed = next(run for run in reversed(past.attempts) if run.conclusion == "failure")
    with client_of(address) as client:
        jobs = client.jobs(past.owner, past.name, failed.id, all_attempts=True)
        assert {job.id for job in jobs} == {job.id for job in past.jobs if job.run_id == failed.id}
        red = next(job for job in jobs if job.conclusion == "failure")
        log = client.download_job_log(past.owner, past.name, red.id, tmp_path)
    assert log.state is LogState.SAVED and log.path is not None
    with log.path.open("rb") as file:
        assert b"##[error]" in zstandard.ZstdDecompressor().stream_reader(file).read()


def test_a_second_pass_is_answered_from_the_cache(past: Past, address: str, tmp_path: Path) -> None:
    runs = past.attempts[-6:]
    with client_of(address, tmp_path) as client:
        first = list(client.jobs_of_runs(past.owner, past.name, runs))
        asked = client.stats.requests
        assert list(client.jobs_of_runs(past.owner, past.name, runs)) == first
        assert client.stats.not_modified == client.stats.requests - asked


def test_pull_requests_come_with_their_files(past: Past, address: str) -> None:
    known = past.pulls[-1]
    with client_of(address) as client:
        found = client.pull_request(past.owner, past.name, known.number)
        by_commit = client.pull_requests_of_commit(past.owner, past.name, known.head_sha)
    assert (found.title, found.author, set(found.changed_files)) == (
        known.title, known.author, set(known.changed_files)
    )  # fmt: skip
    assert known.number in {pull.number for pull in by_commit}


def test_commits_and_comparisons_are_those_of_the_main_branch(past: Past, address: str) -> None:
    main = [commit for commit in past.commits if commit.branch == "main"]
    old, new = main[-3], main[-1]
    with client_of(address) as client:
        assert set(client.commit(past.owner, past.name, new.sha).changed_files) == set(new.files)
        comparison = client.compare(past.owner, past.name, old.sha, new.sha)
    assert comparison.merge_base_sha == old.sha
    assert comparison.commits[-1].sha == new.sha


def test_bad_days_of_github_pass_unnoticed(past: Past) -> None:
    faults = Faults(at={1: bad_gateway(), 2: unavailable(), 3: cut(), 4: secondary_limit()})
    with running(past, faults=faults) as url, client_of(url) as client:
        run = client.run(past.owner, past.name, past.attempts[-1].id)
        assert (run.id, client.stats.requests) == (past.attempts[-1].id, 5)


def test_a_token_without_a_permission_is_told_which(past: Past) -> None:
    with (
        running(past, token=TOKEN, faults=Faults(denied=frozenset({"actions"}))) as url,
        client_of(url) as client,
        pytest.raises(OutsideError, match='the token lacks "actions: read"'),
    ):
        client.run(past.owner, past.name, past.attempts[-1].id)


def test_a_wrong_token_is_told(past: Past, address: str) -> None:
    with client_of(address, token="ghp_other") as client, pytest.raises(OutsideError, match="wrong, expired"):
        client.run(past.owner, past.name, past.attempts[-1].id)
