"""Bad days of GitHub: after the pass the warehouse and the log archive are those of a day without faults."""

import os
from dataclasses import replace
from datetime import timedelta

import pytest

from buildeye.simulator import Fault, Faults, Past
from buildeye.simulator.app import create_app
from buildeye.simulator.faults import bad_gateway, cut, secondary_limit, truncated, unavailable
from buildeye.warehouse import Warehouse
from tests.warehouse.conftest import empty

from .conftest import NOW, TOKEN, Day, Rows, app_of

SEED = int(os.environ.get("FAULT_SEED", "1"))
RETRIES = 10  # so that no request fails that often in a row


@pytest.fixture(scope="module")
def calm(opened: Warehouse, past: Past, tmp_path_factory: pytest.TempPathFactory) -> tuple[Rows, dict[str, bytes]]:
    """What a pass without faults leaves."""
    empty(opened)
    day = Day(opened, tmp_path_factory.mktemp("calm"), past)
    day.sync(app_of(past))
    assert day.warned == []
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
    assert_same(day.rows(), calm[0])
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
