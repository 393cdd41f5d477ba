"""Bad days of GitHub: after the pass the warehouse and the log archive are those of a day without faults."""

import os
import shutil
from dataclasses import replace
from datetime import timedelta

import pytest

from buildeye.github import GitHub
from buildeye.model import OutsideError
from buildeye.pipeline.sync import sync
from buildeye.pipeline.sync.scope import GIVE_UP
from buildeye.simulator import Fault, Faults, Past, build_busy_day
from buildeye.simulator.app import create_app
from buildeye.simulator.faults import bad_gateway, cut, secondary_limit, truncated, unavailable
from buildeye.simulator.server import ledger, serving
from buildeye.warehouse import Warehouse
from tests.warehouse.conftest import empty

from .conftest import NOW, SINCE, TOKEN, Day, Rows, app_of

SEED = int(os.environ.get("FAULT_SEED", "1"))
RETRIES = 10  # so that no request fails that often in a row


@pytest.fixture(scope="module")
def past(past: Past) -> Past:
    """The day, with logs that have expired for what ended in its first half."""
    return replace(past, log_days=0.5)


@pytest.fixture(scope="module")
def calm(opened: Warehouse, past: Past, tmp_path_factory: pytest.TempPathFactory) -> tuple[Rows, dict[str, bytes]]:
    """What a pass without faults leaves."""
    empty(opened)
    day = Day(opened, tmp_path_factory.mktemp("calm"), past)
    day.sync(app_of(past))
    assert day.warned == []
    expired = day.warehouse.query("SELECT countIf(expired), countIf(place != '') FROM buildeye.log_latest").rows[0]
    assert all(expired)
    return day.rows(), day.logs()


def assert_same(found: Rows, wanted: Rows, left_out: frozenset[str] = frozenset()) -> None:
    assert found.keys() == wanted.keys()
    for table in found.keys() - left_out:
        assert found[table] == wanted[table], table


EVERYTHING = (bad_gateway(), unavailable(), cut(), truncated(), secondary_limit())


@pytest.mark.parametrize(
    ("kinds", "share"),
    [
        pytest.param((bad_gateway(),), 0.05, id="5 % 502"),
        pytest.param((cut(),), 0.25, id="connections cut, also in the middle of logs"),
        pytest.param((truncated(),), 0.25, id="JSON cut short"),
        pytest.param((secondary_limit(7),), 0.25, id="secondary limit"),
        pytest.param(EVERYTHING, 0.3, id="all of them"),
    ],
)
def test_a_pass_on_a_bad_day_leaves_what_a_pass_on_a_good_day_leaves(
    day: Day, past: Past, calm: tuple[Rows, dict[str, bytes]], kinds: tuple[Fault, ...], share: float
) -> None:
    faults = Faults(share=share, kinds=kinds, seed=SEED)
    day.sync(app_of(past, faults), retries=RETRIES)
    assert day.warned == []
    assert_same(day.rows(), calm[0])
    assert day.logs() == calm[1]


@pytest.mark.parametrize("minutes", [-11, 11])
def test_clocks_that_differ_leave_the_same_facts(
    day: Day, past: Past, calm: tuple[Rows, dict[str, bytes]], minutes: int
) -> None:
    day.sync(app_of(past), now=NOW - timedelta(minutes=minutes))
    found = day.rows()
    stamped = frozenset({"buildeye.log_latest", "buildeye.sync_cursor_latest", "buildeye.synced_run_latest"})
    assert_same(found, calm[0], stamped)
    assert day.logs() == calm[1]
    for table in stamped:
        assert len(found[table]) == len(calm[0][table])


@pytest.mark.parametrize("pace", [1, 3])
def test_runs_that_begin_while_the_list_is_read_push_none_out_of_sight(
    day: Day, past: Past, calm: tuple[Rows, dict[str, bytes]], pace: int
) -> None:
    """The newest runs come one by one between the pages; the pass after that brings them."""
    newest = sorted({run.id for run in past.attempts}, reverse=True)[:6]
    arriving = {run: 2 + pace * n for n, run in enumerate(reversed(newest))}
    day.sync(app_of(past, Faults(arriving=arriving)))
    there = day.warehouse.query("SELECT count() FROM default.workflow_run_latest").rows[0][0]
    assert there >= len({run.id for run in past.attempts}) - len(newest)
    day.sync(app_of(past))
    assert_same(day.rows(), calm[0], frozenset({"buildeye.sync_cursor_latest"}))  # two of one moment: either may win
    assert day.logs().keys() >= calm[1].keys()


def test_runs_that_are_deleted_while_the_list_is_read_pull_none_out_of_sight(
    day: Day, past: Past, calm: tuple[Rows, dict[str, bytes]]
) -> None:
    deleted = sorted({run.id for run in past.attempts}, reverse=True)[3:9]
    day.sync(app_of(past, Faults(leaving=dict.fromkeys(deleted, 2))))
    found = day.warehouse.query("SELECT id FROM default.workflow_run_latest ORDER BY id").rows
    assert [number for (number,) in found] == sorted({run.id for run in past.attempts})
    assert_same(day.rows(), calm[0])


def test_a_log_that_only_the_archive_of_the_run_has_is_found_there(
    day: Day, past: Past, calm: tuple[Rows, dict[str, bytes]]
) -> None:
    failed = frozenset(job.id for job in past.jobs if job.conclusion == "failure")
    day.sync(app_of(past, Faults(no_job_logs=failed)))
    assert day.warned == []
    assert_same(day.rows(), calm[0])
    assert day.logs() == calm[1]


def test_expired_logs_are_recorded_and_not_asked_for_again(day: Day, past: Past) -> None:
    old = replace(past, log_days=0)
    app = app_of(old)
    done = day.sync(app)
    assert done.logs.kept == 0
    assert done.logs.expired > 0
    rows = day.warehouse.query("SELECT count(), countIf(expired AND place = '') FROM buildeye.log_latest").rows
    assert rows == ((done.logs.expired, done.logs.expired),)
    assert day.logs() == {}
    assert day.sync(app_of(old)).logs.expired == 0


def test_one_run_that_github_cannot_show_holds_up_no_other_and_is_owed(
    day: Day, past: Past, calm: tuple[Rows, dict[str, bytes]]
) -> None:
    broken = {number: bad_gateway() for number in range(6, 16)}
    day.sync(app_of(past, Faults(at=broken)), retries=0)
    assert 0 < len([said for said in day.warned if "its jobs are not known" in said]) <= len(broken)
    day.sync(app_of(past))
    assert_same(day.rows(), calm[0], frozenset({"buildeye.sync_cursor_latest"}))


def test_the_token_is_in_no_warning_row_or_file(day: Day, past: Past) -> None:
    app = create_app(past, token=TOKEN, limit=10**9, clock=NOW.timestamp, faults=Faults(
        share=0.4, kinds=(bad_gateway(), cut()), seed=SEED, denied=frozenset({"commits"})))  # fmt: skip
    day.sync(app, retries=3)
    assert day.warned
    told = "\n".join(day.warned) + repr(day.rows())
    held = b"".join(path.read_bytes() for path in day.folder.rglob("*") if path.is_file())
    assert TOKEN not in told
    assert TOKEN.encode() not in held


def test_a_github_that_gives_no_jobs_at_all_ends_the_pass_soon(day: Day) -> None:
    busy = build_busy_day(3, NOW, 25)
    app = app_of(busy, Faults(at=dict.fromkeys(range(5, 900), bad_gateway())))
    with (
        serving(app) as address,
        day.github(address, retries=0, per_page=100) as github,
        pytest.raises(OutsideError, match="the jobs of 20 runs in a row could not be had; the last time: GitHub"),
    ):
        sync(day.scope(github), SINCE)
    assert ledger(app).requests < 60


def test_a_limit_that_is_used_up_ends_the_pass_with_one_sentence_and_the_next_one_goes_on(
    day: Day, past: Past, calm: tuple[Rows, dict[str, bytes]]
) -> None:
    app = create_app(past, token=TOKEN, limit=12, clock=NOW.timestamp)
    with (
        serving(app) as address,
        GitHub(address, TOKEN, cache_dir=None, rate_limit_wait=10, clock=lambda: NOW) as github,
        pytest.raises(OutsideError, match="rate limit is used up"),
    ):
        sync(day.scope(github), SINCE)
    assert ledger(app).requests <= 12 + 9
    assert day.warned == []
    day.sync(app_of(past))
    assert_same(day.rows(), calm[0])


def test_a_log_store_that_gives_nothing_is_left_alone_soon_and_the_facts_stay(day: Day) -> None:
    busy = build_busy_day(3, NOW, 40)
    day.past = busy
    app = app_of(busy)
    day.sync(app)
    first = next(n for n, path in enumerate(ledger(app).paths, 1) if path.endswith("/logs"))
    empty(day.warehouse)
    shutil.rmtree(day.folder / "logs")
    broken = app_of(busy, Faults(at=dict.fromkeys(range(first + 10, first + 900), bad_gateway())))
    done = day.sync(broken, retries=0)
    assert done.logs.failed > GIVE_UP
    assert day.warned[-1] == f"{GIVE_UP} logs in a row could not be had; the others are left to the next sync"
    assert len(day.warned) < GIVE_UP * 2
