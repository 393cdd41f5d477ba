"""Streaks from a real warehouse: random histories and the simulator's weeks, beside the same the long way."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from buildeye.insight.grid import Commit
from buildeye.insight.streaks import ordered, streaks_of
from buildeye.model import Push, UsageError
from buildeye.simulator import build_past
from buildeye.warehouse import Warehouse, open_warehouse
from tests.warehouse.conftest import empty
from tests.warehouse.facts import REPOSITORY, a_diagnosis, a_job, a_run, at

from .streaks_oracle import runs_in, streaks_the_long_way

NAMES = ("unit (1, 3)", "unit (2, 3)", "unit (3, 3)", "e2e (18, 20)", "e2e (20, 20)", "lint", "t (1/2)", "t (2/2)")
STATES = (
    ("completed", "success"), ("completed", "success"), ("completed", "failure"), ("completed", "failure"),
    ("completed", "timed_out"), ("completed", "cancelled"), ("completed", "skipped"), ("completed", "neutral"),
    ("completed", "stale"), ("completed", "startup_failure"), ("queued", None), ("in_progress", None),
    ("waiting", None),
)  # fmt: skip


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_warehouse(f"chdb://{tmp_path_factory.mktemp('warehouse')}") as opened:
        yield opened


@pytest.fixture
def warehouse(one: Warehouse) -> Warehouse:
    empty(one)
    return one


def sha(place: int) -> str:
    return f"{place:x}" * 40


@pytest.mark.parametrize("seed", range(6))
def test_letters_of_the_engine_say_what_rows_say(warehouse: Warehouse, seed: int) -> None:
    rng = Random(seed)
    length = 8
    warehouse.write_runs(
        [
            replace(a_run(100 + n, event="push", branch="main", pulls=()), head_sha=sha(n), created_at=at(60 * n))
            for n in range(length)
        ]
    )
    jobs = []
    for number in range(1, 260):
        n = rng.randrange(length)
        status, conclusion = rng.choice(STATES)
        job = a_job(number, run=100 + n, name=rng.choice(NAMES), status=status, conclusion=conclusion, branch="main")
        jobs.append(replace(job, head_sha=sha(n), created_at=at(60 * n), workflow_name=rng.choice(["CI", "CI", "Ni"])))
    rng.shuffle(jobs)
    for batch in (jobs[:150], jobs[100:], jobs[:30]):
        warehouse.write_jobs(batch)
    failed = [job.id for job in jobs if job.conclusion in ("failure", "timed_out") and rng.random() < 0.8]
    warehouse.write_diagnoses([a_diagnosis(number, signature=rng.choice("abc")) for number in failed])
    window = [Commit(sha(n), at(60 * n), title="Turn the widget\tleft 'twice' \\ 向左") for n in range(length)]
    expected = streaks_the_long_way(window, runs_in(warehouse, REPOSITORY, "main"))
    assert streaks_of(warehouse, REPOSITORY, "main") == expected
    newest = [commit for commit in window if commit.at <= at(60 * 5)]
    expected = streaks_the_long_way(newest[-4:], runs_in(warehouse, REPOSITORY, "main"))
    assert streaks_of(warehouse, REPOSITORY, "main", commits=4, ending=sha(5)[:7]) == expected


def test_a_push_says_which_commit_is_older_though_it_was_built_later(warehouse: Warehouse) -> None:
    def pushed(place: int, minutes: float, before: str, *, forced: bool = False) -> Push:
        return Push(REPOSITORY, "refs/heads/main", sha(place), before, pushed_at=at(minutes), forced=forced)

    runs = [
        replace(
            a_run(n, event="schedule", branch="main", pulls=()), head_sha=sha(n), created_at=at(90 if n == 1 else 40)
        )
        for n in (1, 2)
    ]
    warehouse.write_runs(runs)
    warehouse.write_pushes([pushed(2, 30, sha(1)), pushed(3, 95, sha(2)), pushed(4, 100, sha(3), forced=True)])
    rows = warehouse.ask("branch_commits", repository=REPOSITORY, branch="main", limit=9, ending="")
    assert [row["sha"] for row in rows] == [sha(4), sha(3), sha(1), sha(2)]
    assert [row["before"] for row in rows] == ["", sha(2), "", sha(1)]
    window = ordered(Commit(row["sha"], row["at"], before=row["before"]) for row in rows)
    assert [commit.sha for commit in window] == [sha(4), sha(3), sha(2), sha(1)]
    jobs = [a_job(n, run=n, branch="main", conclusion="failure" if n == 2 else "success") for n in (1, 2)]
    warehouse.write_jobs([replace(job, head_sha=sha(job.id), created_at=at(90)) for job in jobs])
    (unit,) = streaks_of(warehouse, REPOSITORY, "main")
    assert (unit.length, unit.clipped, unit.last_good and unit.last_good.sha) == (1, False, sha(1))


def test_a_commit_that_the_branch_does_not_have_is_refused(warehouse: Warehouse) -> None:
    assert streaks_of(warehouse, REPOSITORY, "main") == ()
    with pytest.raises(UsageError, match="main has no commit 1234567"):
        streaks_of(warehouse, REPOSITORY, "main", ending="1234567")


@pytest.mark.parametrize("days_back", [0, 6, 9])
def test_the_simulators_weeks_answer_as_the_long_way_does(one: Warehouse, days_back: int) -> None:
    now = datetime(2026, 11, 30, 6, 30, tzinfo=UTC)
    past = build_past(7, now)
    empty(one)
    jobs = [job for job in past.jobs if job.created_at and job.created_at <= now - timedelta(days=days_back)]
    one.write_runs(past.attempts)
    one.write_jobs(jobs)
    one.write_pull_requests(past.pulls)
    rows = one.ask("branch_commits", repository=past.full_name, branch="main", limit=100, ending="")
    window = [Commit(row["sha"], row["at"], row["pull_request"], row["title"], row["before"]) for row in rows]
    pulls = {run.id for run in past.attempts if run.event in ("pull_request", "pull_request_target")}
    of_pulls = {job.id for job in jobs if job.run_id in pulls}
    runs = [run for run in runs_in(one, past.full_name, "main") if run.id not in of_pulls]
    found = streaks_of(one, past.full_name, "main")
    assert found == streaks_the_long_way(window, runs)
    assert len(window) > 20 and len(runs) > 100
