"""Queues now and over time: who waits, for how long, who only seems to, and what a queue looks like over time."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.insight.queuerows import NOW_COLUMNS, OVER_COLUMNS, now_row, over_rows
from buildeye.insight.queues import (
    Ghosts,
    Pattern,
    QueueBucket,
    QueueDepth,
    QueueHistory,
    Waits,
    histories,
    longest_deep,
    pattern,
    queue_now,
    queue_over,
)
from buildeye.model import Job, Run, Step, UsageError
from buildeye.warehouse import Warehouse, open_warehouse
from tests.warehouse.conftest import empty
from tests.warehouse.facts import REPOSITORY, a_job, a_run, at

HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_warehouse(f"chdb://{tmp_path_factory.mktemp('warehouse')}") as opened:
        yield opened


@pytest.fixture
def warehouse(one: Warehouse) -> Warehouse:
    empty(one)
    return one


def waits(number: int, since: float, *, run: int = 100, labels: tuple[str, ...] = ("linux",)) -> Job:
    """A job that waits; GitHub gives it a start, which is its creation."""
    return replace(
        a_job(number, run=run, status="queued", conclusion=None, completed=None, steps=()),
        created_at=at(since), started_at=at(since), runner_name=None, runner_id=None, labels=labels,
    )  # fmt: skip


def runs(number: int, since: float, start: float, end: float | None = None, *, run: int = 100,
         labels: tuple[str, ...] = ("linux",)) -> Job:  # fmt: skip
    """A job that a runner took at `start`, and that ended at `end`."""
    state = ("in_progress", None) if end is None else ("completed", "success")
    job = a_job(number, run=run, status=state[0], conclusion=state[1], completed=end)
    return replace(job, created_at=at(since), started_at=at(start), labels=labels)


def gave_up(number: int, since: float, end: float) -> Job:
    """A job that was cancelled while it waited."""
    job = a_job(number, conclusion="cancelled", completed=end, steps=())
    return replace(job, created_at=at(since), started_at=at(end), runner_name=None, labels=("linux",))


def a_running(number: int = 100, *, updated: float = 0, attempt: int = 1) -> Run:
    return a_run(number, status="in_progress", conclusion=None, updated=updated, attempt=attempt)


def now(warehouse: Warehouse, minutes: float, label: str = "") -> list[tuple[str, int, int, int]]:
    found = queue_now(warehouse, REPOSITORY, at(minutes), label)
    return [(each.label, each.depth, each.running, each.ghosts.total) for each in found]


def seconds(waits: Waits) -> tuple[float, float, float]:
    return waits.p50, waits.p90, waits.p99


def test_depth_is_what_waits_and_running_what_runs(warehouse: Warehouse) -> None:
    warehouse.write_runs([a_running()])
    warehouse.write_jobs([waits(1, 0), waits(2, 5), runs(3, -5, -1), runs(4, -60, -45, -10)])
    (linux,) = queue_now(warehouse, REPOSITORY, at(10))
    assert (linux.assigned, linux.running, linux.depth, linux.ghosts) == (3, 1, 2, Ghosts())
    assert linux.waiting and (linux.waiting.jobs, linux.waiting.longest) == (2, 600.0)
    assert seconds(linux.waiting) == pytest.approx((450.0, 570.0, 597.0))
    assert linux.started and (linux.started.jobs, linux.started.longest) == (2, 900.0)
    assert seconds(linux.started) == pytest.approx((570.0, 834.0, 893.4))
    assert linux.longest_run_id == 100


def test_percentiles_of_none_are_none(warehouse: Warehouse) -> None:
    warehouse.write_jobs([waits(1, 0), runs(2, -200, -200, labels=("npu",))])
    found = {each.label: each for each in queue_now(warehouse, REPOSITORY, at(10))}
    assert found["linux"].waiting is not None and found["linux"].started is None
    assert found["npu"].waiting is None and found["npu"].longest_run_id == 0


def test_labels_are_sorted_and_one_of_them_picks_all_that_have_it(warehouse: Warehouse) -> None:
    warehouse.write_jobs(
        [
            waits(1, 0, labels=("x64", "linux")), waits(2, 0, labels=("linux", "x64")), waits(3, 0, labels=("npu",)),
            waits(4, 0, labels=()),
        ]
    )  # fmt: skip
    assert now(warehouse, 5) == [("linux,x64", 2, 0, 0), ("", 1, 0, 0), ("npu", 1, 0, 0)]
    assert now(warehouse, 5, "linux") == [("linux,x64", 2, 0, 0)]


@pytest.mark.parametrize(
    ("jobs", "run", "minutes", "kind"),
    [
        ([waits(1, 0)], a_run(updated=5), 20, "over"),
        ([waits(1, 0)], a_running(updated=5, attempt=2), 20, "over"),
        ([replace(waits(1, 0), steps=(Step("build", 1, "completed", "success"),))], a_running(updated=5), 20, "begun"),
        ([waits(1, 0), runs(2, 11, 12)], a_running(updated=5), 20, "overtaken"),
        ([waits(1, 0), runs(2, 11, 12, 15)], a_running(updated=5), 20, "overtaken"),
        ([waits(1, 0)], a_running(updated=5), 366, "frozen"),
    ],
    ids=["run over", "run in its next attempt", "steps ran", "later one runs", "later one is done", "frozen"],
)
def test_ghosts_do_not_wait_and_are_told(
    warehouse: Warehouse, jobs: Sequence[Job], run: Run, minutes: float, kind: str
) -> None:
    warehouse.write_runs([run])
    warehouse.write_jobs(jobs)
    (linux,) = queue_now(warehouse, REPOSITORY, at(minutes))
    assert (linux.depth, linux.waiting, linux.ghosts) == (0, None, replace(Ghosts(), **{kind: 1}))
    (over,) = queue_over(warehouse, REPOSITORY, at(0), at(minutes), HOUR)
    assert over.ghosts == 1 and not any(bucket.waiting for bucket in over.buckets)


@pytest.mark.parametrize(
    ("jobs", "run", "minutes"),
    [
        ([waits(1, 0)], a_running(), 359),
        ([waits(1, 0)], a_running(updated=100), 400),
        ([waits(1, 0), runs(2, -10, 0, 300)], a_running(), 400),
        ([waits(1, 0), runs(2, 9, 12)], a_running(), 20),
        ([waits(1, 0), runs(2, 11, 12, labels=("npu",))], a_running(), 20),
        ([waits(1, 0), replace(runs(2, 11, 12), repository_full_name="octo/other")], a_running(), 20),
        ([waits(1, 0)], replace(a_run(), repository_full_name="octo/other"), 20),
    ],
    ids=["almost frozen", "run was updated", "another job of the run ended", "a little later", "other labels",
         "another repository", "a run of another repository"],
)  # fmt: skip
def test_what_is_near_a_ghost_waits(warehouse: Warehouse, jobs: Sequence[Job], run: Run, minutes: float) -> None:
    warehouse.write_runs([run])
    warehouse.write_jobs(jobs)
    linux = next(each for each in queue_now(warehouse, REPOSITORY, at(minutes)) if each.label == "linux")
    assert (linux.depth, linux.ghosts.total) == (1, 0)


def test_a_label_does_not_change_who_is_a_ghost(warehouse: Warehouse) -> None:
    warehouse.write_runs([a_running()])
    warehouse.write_jobs([waits(1, 0), runs(2, -10, 0, 300, labels=("npu",))])
    assert now(warehouse, 400, "linux") == [("linux", 1, 0, 0)]


def test_waiting_for_an_approval_and_being_skipped_is_no_waiting_for_a_runner(warehouse: Warehouse) -> None:
    skipped = replace(a_job(3, conclusion="skipped", completed=30), created_at=at(0), runner_name=None)
    warehouse.write_jobs([replace(waits(1, 0), status="waiting"), replace(waits(2, 0), status="pending"), skipped])
    assert now(warehouse, 10) == []


def test_the_queue_of_a_moment_that_has_passed_is_what_it_was(warehouse: Warehouse) -> None:
    warehouse.write_jobs([runs(1, 0, 20, 40), gave_up(2, 0, 30)])
    told = {minutes: now(warehouse, minutes) for minutes in (10, 25, 35)}
    assert told == {10: [("linux", 2, 0, 0)], 25: [("linux", 1, 1, 0)], 35: [("linux", 0, 1, 0)]}


def test_a_job_whose_run_is_over_does_not_run(warehouse: Warehouse) -> None:
    warehouse.write_runs([a_run(updated=5)])
    warehouse.write_jobs([runs(1, 0, 2)])
    assert now(warehouse, 500) == []


def test_all_repositories_are_asked_for_none(warehouse: Warehouse) -> None:
    warehouse.write_jobs([waits(1, 0), replace(waits(2, 0), repository_full_name="octo/other")])
    found = queue_now(warehouse, None, at(5))
    assert [(each.repository, each.depth) for each in found] == [("octo/other", 1), (REPOSITORY, 1)]


def test_a_queued_job_counts_in_every_bucket_of_its_wait(warehouse: Warehouse) -> None:
    warehouse.write_jobs([runs(1, 30, 150, 170)])
    (linux,) = queue_over(warehouse, REPOSITORY, at(0), at(240), HOUR)
    assert [bucket.queued for bucket in linux.buckets] == [1, 1, 1, 0]
    assert [round(bucket.depth, 3) for bucket in linux.buckets] == [0.5, 1.0, 0.5, 0.0]
    assert [round(bucket.running, 3) for bucket in linux.buckets] == [0.0, 0.0, 0.333, 0.0]
    assert [bucket.waiting and bucket.waiting.longest for bucket in linux.buckets] == [1800.0, 5400.0, None, None]
    assert [bucket.started and bucket.started.p50 for bucket in linux.buckets] == [None, None, 7200.0, None]


def test_waits_that_began_before_or_go_on_are_cut_to_the_time_asked_for(warehouse: Warehouse) -> None:
    warehouse.write_runs([a_running(updated=200)])
    warehouse.write_jobs([waits(1, -300), gave_up(2, -60, 30), runs(3, -299, -60)])
    (linux,) = queue_over(warehouse, REPOSITORY, at(0), at(90), HOUR)
    assert [(each.begin, each.end) for each in linux.buckets] == [(at(0), at(60)), (at(60), at(90))]
    assert [(each.queued, each.depth, each.running) for each in linux.buckets] == [(2, 1.5, 1.0), (1, 1.0, 1.0)]
    assert [each.waiting and (each.waiting.jobs, each.waiting.longest) for each in linux.buckets] == [
        (1, 360 * 60.0), (1, 390 * 60.0),
    ]  # fmt: skip


def test_a_job_that_starts_at_the_end_of_a_bucket_starts_in_the_next(warehouse: Warehouse) -> None:
    warehouse.write_jobs([runs(1, 0, 60, 120)])
    (linux,) = queue_over(warehouse, REPOSITORY, at(0), at(180), HOUR)
    assert [(each.queued, each.waiting, bool(each.started)) for each in linux.buckets] == [
        (1, None, False), (0, None, True), (0, None, False),
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
def test_order_and_repetition_of_facts_and_the_size_of_buckets_do_not_matter(warehouse: Warehouse, seed: int) -> None:
    rng = Random(seed)
    spans = [(begin, begin + rng.randint(0, 90)) for begin in (rng.randint(-100, 300) for _ in range(60))]
    jobs = [
        runs(number, begin, start, start + rng.randint(1, 110), run=rng.randint(1, 9))
        for number, (begin, start) in enumerate(spans)
    ]
    told = [waits(number, begin) for number, (begin, _) in enumerate(spans[:20])]
    for batch in (rng.sample(jobs, 60), told, jobs[:30]):
        warehouse.write_jobs(batch)
    (whole,), (hours,) = (queue_over(warehouse, REPOSITORY, at(0), at(240), HOUR * size) for size in (4, 1))
    (all_of_it,) = whole.buckets
    assert all_of_it.depth == pytest.approx(sum(each.depth for each in hours.buckets) / 4)
    assert all_of_it.running == pytest.approx(sum(each.running for each in hours.buckets) / 4)
    assert all_of_it.started and all_of_it.started.jobs == sum(0 <= start < 240 for _, start in spans)
    assert sum(each.started.jobs for each in hours.buckets if each.started) == all_of_it.started.jobs
    waited = sum(max(0, min(240, start) - max(0, begin)) for begin, start in spans)
    assert all_of_it.depth == pytest.approx(waited / 240)
    for hour in (1, 2, 3):
        assert now(warehouse, 60 * hour)[0][1] == sum(begin <= 60 * hour < start for begin, start in spans)


@pytest.mark.parametrize(
    ("since", "until", "bucket", "said"),
    [
        (0, 0, HOUR, "has passed"),
        (0, 60, timedelta(0), "a second or more"),
        (0, 60_000, timedelta(minutes=1), "60,000"),
    ],
)
def test_stretches_that_make_no_sense_are_refused(
    warehouse: Warehouse, since: float, until: float, bucket: timedelta, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        queue_over(warehouse, REPOSITORY, at(since), at(until), bucket)


def of_depths(depths: Sequence[float], running: float = 0.0) -> list[QueueBucket]:
    return [
        QueueBucket(at(60 * n), at(60 * n + 60), assigned=depth + running, running=running)
        for n, depth in enumerate(depths)
    ]


@pytest.mark.parametrize(
    ("depths", "running", "looks_like"),
    [
        ([0, 0, 0, 0, 0, 0], 0, Pattern.CALM),
        ([0.9] * 6, 0, Pattern.CALM),
        ([0, 0, 40, 2, 0, 0], 0, Pattern.BURST),
        ([5, 5, 5, 0, 5, 5, 5], 0, Pattern.BURST),
        ([0, 1, 1, 1, 1, 0], 0, Pattern.CAPACITY),
        ([40, 0, 2, 2, 2, 2], 0, Pattern.CAPACITY),
        ([2] * 6, 100, Pattern.CALM),
        ([11] * 6, 100, Pattern.CAPACITY),
        ([], 0, Pattern.CALM),
    ],
    ids=["empty", "now and then", "short peak", "two peaks", "lasting", "peak, then lasting", "few beside many",
         "many beside many", "no time"],
)  # fmt: skip
def test_lasting_depth_is_too_little_capacity_and_a_short_peak_a_burst(
    depths: Sequence[float], running: float, looks_like: Pattern
) -> None:
    assert pattern(of_depths(depths, running)) is looks_like


@given(st.lists(st.floats(0, 50), max_size=30), st.lists(st.floats(0, 50), max_size=30))
def test_a_longer_history_never_lasted_less(before: list[float], after: list[float]) -> None:
    assert longest_deep(of_depths(before + after)) >= max(longest_deep(of_depths(x)) for x in (before, after))


def test_depth_is_never_below_zero() -> None:
    assert QueueDepth(REPOSITORY, "linux", 1, 3).depth == 0
    assert QueueBucket(at(0), at(60), assigned=0.5, running=2.0).depth == 0.0


def test_rows_in_any_order_are_one_history_without_gaps() -> None:
    row = {"label": "a", "ghosts": 0, "queued": 1, "waited_seconds": 3600.0, "ran_seconds": 0.0, "waiting": 1,
           "waits": [1.0, 2.0, 3.0, 4.0], "started": 0, "started_waits": [0.0] * 4}  # fmt: skip
    rows = [row | {"bucket": 4}, row | {"bucket": 1}, row | {"bucket": -1, "ghosts": 3}]
    (told,) = {histories(order, at(0), at(330), HOUR) for order in (tuple(rows), tuple(rows[::-1]))}
    (history,) = told
    assert [each.queued for each in history.buckets] == [0, 1, 0, 0, 1, 0] and history.ghosts == 3
    assert all(one.end == other.begin for one, other in pairwise(history.buckets))
    assert history.buckets[-1].end == at(330) and history.peak.begin == at(60)


def test_rows_have_every_column() -> None:
    assert tuple(now_row(QueueDepth(REPOSITORY, "linux", 1, 0))) == NOW_COLUMNS
    (row,) = over_rows(QueueHistory("linux", (QueueBucket(at(0), at(60)),)))
    assert tuple(row) == OVER_COLUMNS
