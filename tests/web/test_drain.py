"""What becomes of deliveries: rows of the warehouse, the same whatever the order; bad ones aside, never in the way."""

import json
import os
import random
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buildeye.model import OutsideError
from buildeye.simulator import Past
from buildeye.simulator.webhooks import Told, deliveries
from buildeye.warehouse import Warehouse
from buildeye.web.drain import Drain
from buildeye.web.reading import Reader
from buildeye.web.spool import Delivery, Spool, open_spool
from tests.github.examples import octokit_examples
from tests.github.shapes import job_json

from .conftest import NOON, SECRET, delivery, now
from .histories import Event, a_history, payload


@pytest.fixture
def drain(spool: Spool, reader: Reader, warehouse: Warehouse) -> Drain:
    return Drain(spool, reader, warehouse, now)


def keep(spool: Spool, *events: tuple[str, object]) -> None:
    bodies = [(event, data if isinstance(data, bytes) else json.dumps(data).encode()) for event, data in events]
    spool.keep([delivery(f"{number}", event, body) for number, (event, body) in enumerate(bodies)])


def drain_all(drain: Drain) -> int:
    moved = 0
    while batch := drain.drain_batch():
        moved += batch
    return moved


def job_event(repository: str, number: int = 70, **changes: Any) -> tuple[str, object]:
    return "workflow_job", {"repository": {"full_name": repository}, "workflow_job": job_json(number, **changes)}


def rows(warehouse: Warehouse, table: str, columns: str, repository: str) -> list[tuple[Any, ...]]:
    asked = f"SELECT {columns} FROM {table}_latest WHERE repository_full_name = {{repository:String}} ORDER BY ALL"
    return list(warehouse.query(asked, {"repository": repository}).rows)


def numbers(warehouse: Warehouse, repository: str) -> list[int]:
    return [number for (number,) in rows(warehouse, "default.workflow_job", "id", repository)]


def test_the_whole_story_becomes_the_rows_of_its_end(
    drain: Drain, spool: Spool, warehouse: Warehouse, past: Past, told: list[Told]
) -> None:
    sent = [
        Delivery(each.headers["x-github-delivery"], each.headers["x-github-event"], NOON, each.body)
        for each in deliveries(told, SECRET)
    ]
    random.Random(3).shuffle(sent)
    spool.keep(sent)
    assert drain_all(drain) == len(told)
    jobs = rows(warehouse, "default.workflow_job", "id, status, conclusion, length(steps)", past.full_name)
    assert jobs == sorted((j.id, j.status, j.conclusion or "", _steps(j.status, j.steps)) for j in past.jobs)
    latest = {run.id: run for run in past.attempts}
    runs = rows(warehouse, "default.workflow_run", "id, run_attempt, status, conclusion", past.full_name)
    assert runs == sorted((r.id, r.run_attempt, r.status, r.conclusion or "") for r in latest.values())
    pulls = rows(warehouse, "default.pull_request", "number, state, head.sha", past.full_name)
    assert pulls == sorted((pull.number, pull.state, pull.head_sha) for pull in past.pulls)
    pushes = rows(warehouse, "default.push", "after, ref", past.full_name)
    assert pushes == sorted((commit.sha, f"refs/heads/{commit.branch}") for commit in past.commits)
    checks = rows(warehouse, "buildeye.check_run", "id, app", past.full_name)
    assert checks == sorted((job.id, "github-actions") for job in past.jobs)


def _steps(status: str, steps: Sequence[object]) -> int:
    return 0 if status == "queued" else len(steps[:1]) if status == "in_progress" else len(steps)


def test_the_published_examples_all_reach_the_warehouse(drain: Drain, spool: Spool) -> None:
    keep(spool, *((example.event, example.body) for example in octokit_examples()))
    drain_all(drain)
    assert (spool.counts().waiting, spool.refused()) == (0, [])


def test_what_cannot_be_read_is_put_aside_and_what_is_around_it_written(
    drain: Drain, spool: Spool, warehouse: Warehouse
) -> None:
    keep(spool, job_event("o/aside", 1), ("workflow_job", b"{"), ("push", b"[]"), job_event("o/aside", 2))
    assert drain_all(drain) == 4
    assert numbers(warehouse, "o/aside") == [1, 2]
    assert [(name, body) for name, _, _, body in spool.refused()] == [("1", b"{"), ("2", b"[]")]
    assert "not JSON" in spool.refused()[0][2]


@pytest.mark.parametrize(
    "strange",
    [
        pytest.param({"run_id": 10**30}, id="a number no column holds"),
        pytest.param({"created_at": "9999-01-01T00:00:00Z"}, id="a time beyond the calendar of the warehouse"),
        pytest.param({"name": "\ud800"}, id="half a character"),
    ],
)
def test_one_strange_value_does_not_hold_up_the_others(
    drain: Drain, spool: Spool, warehouse: Warehouse, strange: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    repository = f"o/strange-{request.node.callspec.id[:8]}".replace(" ", "-")
    keep(spool, job_event(repository, 1), job_event(repository, 2, **strange), job_event(repository, 3))
    assert drain_all(drain) == 3
    kept = set(numbers(warehouse, repository))
    assert kept >= {1, 3}
    assert kept | {int(name) + 1 for name, *_ in spool.refused()} == {1, 2, 3}
    assert spool.counts().waiting == 0


def test_a_warehouse_that_fails_leaves_everything_in_the_spool(
    drain: Drain, spool: Spool, warehouse: Warehouse
) -> None:
    keep(spool, job_event("o/down", 1), job_event("o/down", 2))
    warehouse.query("RENAME TABLE default.workflow_job TO default.away")
    try:
        with pytest.raises(OutsideError):
            drain.drain_batch()
        assert (spool.counts().waiting, spool.counts().refused) == (2, 0)
    finally:
        warehouse.query("RENAME TABLE default.away TO default.workflow_job")
    assert drain_all(drain) == 2
    assert numbers(warehouse, "o/down") == [1, 2]


def test_a_reading_process_that_was_killed_is_replaced(spool: Spool, warehouse: Warehouse) -> None:
    with Reader() as reader:
        drain = Drain(spool, reader, warehouse, now)
        for number in (1, 2):
            spool.keep([delivery(f"r{number}", "workflow_job", json.dumps(job_event("o/reader", number)[1]).encode())])
            os.kill(reader._process.pid or 0, signal.SIGKILL)
            reader._process.join()
            assert drain.drain_batch() == 1
    assert numbers(warehouse, "o/reader") == [1, 2]


def test_the_thread_drains_what_comes_and_stops_after_its_batch(
    drain: Drain, spool: Spool, warehouse: Warehouse
) -> None:
    drain.start()
    keep(spool, job_event("o/thread", 1))
    while spool.counts().waiting:
        time.sleep(0.02)
    drain.stop()
    assert numbers(warehouse, "o/thread") == [1]


_NUMBERS = count()


@pytest.fixture(scope="module")
def one_spool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spool]:
    with closing(open_spool(tmp_path_factory.mktemp("spool"))) as opened:
        yield opened


@settings(max_examples=15, deadline=None)
@given(history=a_history(), data=st.data())
def test_rows_do_not_depend_on_order_or_repetition(
    history: list[Event], data: st.DataObject, one_spool: Spool, reader: Reader, warehouse: Warehouse
) -> None:
    """The same rows as when every event came once and in its order, however they come and in whatever batches."""
    again = data.draw(st.lists(st.sampled_from(history), max_size=6), label="repeated")
    mixed = data.draw(st.permutations([*history, *again]), label="order")
    cut = data.draw(st.integers(0, len(mixed)), label="first batch")
    drain = Drain(one_spool, reader, warehouse, now)
    told, shuffled = (f"o/history-{next(_NUMBERS)}" for _ in range(2))
    for repository, batch in ((told, history), (shuffled, mixed[:cut]), (shuffled, mixed[cut:])):
        bodies = [(event.kind, json.dumps(payload(event, repository)).encode()) for event in batch]
        one_spool.keep([delivery(f"{next(_NUMBERS)}", kind, body) for kind, body in bodies])
        drain_all(drain)
    for table in ("default.workflow_run", "default.workflow_job", "buildeye.check_run"):
        assert nameless(warehouse, table, shuffled) == nameless(warehouse, table, told)
    jobs = {event.number for event in history if event.kind == "workflow_job"}
    ended = {event.number for event in history if event.kind == "workflow_job" and event.status == "completed"}
    kept = [row[:2] for row in rows(warehouse, "default.workflow_job", "id, status", shuffled)]
    assert sorted(number for number, _ in kept) == sorted(jobs)
    assert {number for number, status in kept if status == "completed"} == ended


def nameless(warehouse: Warehouse, table: str, repository: str) -> list[str]:
    """Rows without their repository, and without the version, whose lowest part is a digest of the whole."""
    said = map(repr, rows(warehouse, table, "* EXCEPT (_version)", repository))
    return sorted(row.replace(repository, "o/r").replace(repository.partition("/")[2], "r") for row in said)
