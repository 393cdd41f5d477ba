"""A backfill brings every day of a time, remembers which are whole, and goes on where it was stopped."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.model import OutsideError
from buildeye.pipeline.sync.backfill import backfill, days_of
from buildeye.simulator import Faults, Past
from buildeye.simulator.faults import bad_gateway
from buildeye.simulator.server import ledger, serving
from tests.warehouse.conftest import empty

from .conftest import NOW, Day, app_of, asked

LATER = NOW + timedelta(days=3)
FIRST = datetime(2026, 5, 26, tzinfo=UTC)


@given(st.datetimes(datetime(2026, 1, 1), datetime(2026, 3, 1), timezones=st.just(UTC)), st.integers(0, 10**6))
def test_days_hold_every_second_once_newest_first(since: datetime, seconds: int) -> None:
    since = since.replace(microsecond=0)
    until = since + timedelta(seconds=seconds)
    days = days_of(since, until)[::-1]
    assert (days[0].since, days[-1].until) == (since, until)
    assert all(day.since.date() == day.until.date() for day in days)
    assert all(after.since - day.until == timedelta(seconds=1) for day, after in pairwise(days))


def test_a_backfill_brings_what_syncs_would_have_brought(day: Day, past: Past) -> None:
    day.sync(app_of(past))
    wanted = day.rows()
    empty(day.warehouse)
    with serving(app_of(past)) as address, day.github(address) as github:
        done = list(backfill(day.scope(github, LATER), FIRST, NOW))
    found = day.rows()
    assert [f"{one.window.since:%m-%d}" for one in done] == ["05-28", "05-27", "05-26"]
    for table in ("default.workflow_run_latest", "default.workflow_job_latest", "default.pull_request_latest"):
        assert found[table] == wanted[table], table
    assert set(found["default.push_latest"]) >= set(wanted["default.push_latest"])
    assert len(found["buildeye.log_latest"]) >= len(wanted["buildeye.log_latest"])


def test_a_second_backfill_asks_for_no_day_again(day: Day, past: Past) -> None:
    app = app_of(past)
    with serving(app) as address:
        with day.github(address) as github:
            list(backfill(day.scope(github, LATER), FIRST, NOW))
        before = len(asked(app))
        with day.github(address) as github:
            done = list(backfill(day.scope(github, LATER + timedelta(hours=1)), FIRST, NOW))
    assert [one.known for one in done] == [True, True, True]
    assert len(asked(app)) - before == 2


def test_a_backfill_that_was_stopped_goes_on_with_the_day_it_was_in(day: Day, past: Past) -> None:
    app = app_of(past)
    with serving(app) as address:
        with day.github(address) as github:
            assert not next(backfill(day.scope(github, LATER), FIRST, NOW)).known
        with day.github(address) as github:
            assert [one.known for one in backfill(day.scope(github, LATER), FIRST, NOW)] == [True, False, False]


def test_a_day_of_which_something_is_missing_is_not_whole_and_done_again(day: Day, past: Past) -> None:
    app = app_of(past, Faults(at={number: bad_gateway() for number in range(5, 9)}))
    with serving(app) as address, day.github(address, retries=0) as github:
        first = list(backfill(day.scope(github, LATER), FIRST, NOW))
        assert [one.whole for one in first] == [False, True, True]
        assert day.warned
        assert [one.known for one in backfill(day.scope(github, LATER), FIRST, NOW)] == [False, True, True]
    with serving(app_of(past)) as address, day.github(address) as github:
        again = list(backfill(day.scope(github, LATER), FIRST, NOW))
    assert all(one.whole for one in again)


def test_today_is_not_over(day: Day, past: Past) -> None:
    with serving(app_of(past)) as address, day.github(address) as github:
        list(backfill(day.scope(github), FIRST, NOW))
        known = [one.known for one in backfill(day.scope(github), FIRST, NOW)]
    assert known == [False, False, True]


def test_a_github_that_fails_ends_a_backfill_and_what_was_brought_stays(day: Day, past: Past) -> None:
    app = app_of(past, Faults(at=dict.fromkeys(range(60, 400), bad_gateway())))
    with serving(app) as address, day.github(address, retries=0) as github, pytest.raises(OutsideError):
        list(backfill(day.scope(github, LATER), FIRST, NOW))
    assert ledger(app).requests >= 60
    assert day.warehouse.query("SELECT count() FROM default.workflow_job_latest").rows[0][0] > 0
