"""Which jobs fail most: the guide's ranking with rates, causes and signatures; repetition and order never matter."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from random import Random

import pytest

from buildeye.insight.failures import COLUMNS, FailingJob, as_row, failing_jobs, top_failures
from buildeye.model import Cause, Determinism, Job, PersonVerdict
from buildeye.model.shares import wilson
from buildeye.warehouse import Warehouse, open_warehouse
from tests.warehouse.conftest import empty
from tests.warehouse.facts import REPOSITORY, SIGNATURE, a_diagnosis, a_job, a_saying, a_verdict, at
from tests.warehouse.throughdoor import through_door

GUIDE = """
SELECT name, count(DISTINCT id) AS failures FROM default.workflow_job
WHERE conclusion = 'failure' AND completed_at >= toDateTime('{since}', 'UTC')
    AND repository_full_name = '{repository}' AND head_branch = 'main'
GROUP BY name ORDER BY failures DESC LIMIT 10
"""


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_warehouse(f"chdb://{tmp_path_factory.mktemp('warehouse')}") as opened:
        yield opened


@pytest.fixture(scope="module")
def door(one: Warehouse, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with through_door(one, tmp_path_factory.mktemp("door")) as asked:
        yield asked


@pytest.fixture(params=["embedded", "door"])
def warehouse(request: pytest.FixtureRequest, one: Warehouse) -> Warehouse:
    empty(one)
    asked = request.getfixturevalue("door") if request.param == "door" else one
    assert isinstance(asked, Warehouse)
    return asked


def on_main(number: int, name: str, conclusion: str = "failure", *, completed: float = 20, run: int = 100) -> Job:
    return a_job(number, run=run, name=name, conclusion=conclusion, branch="main", completed=completed)


def asked(warehouse: Warehouse, limit: int = 10, since: datetime | None = None) -> tuple[FailingJob, ...]:
    return top_failures(warehouse, REPOSITORY, "main", since or at(0), at(600), limit)


def test_jobs_are_ranked_by_failures_and_equal_ones_by_name(warehouse: Warehouse) -> None:
    warehouse.write_jobs(
        [on_main(n, "a") for n in (1, 2, 3)] + [on_main(n, "c") for n in (4, 5)] + [on_main(n, "b") for n in (6, 7)]
    )
    assert [(each.name, each.failures) for each in asked(warehouse)] == [("a", 3), ("b", 2), ("c", 2)]
    assert [each.name for each in asked(warehouse, limit=2)] == ["a", "b"]


def test_a_rate_is_of_the_jobs_that_ended_and_says_how_sure_it_is(warehouse: Warehouse) -> None:
    ends = ["failure", "failure", "success", "success", "success", "timed_out", "startup_failure", "skipped",
            "cancelled", "neutral"]  # fmt: skip
    warehouse.write_jobs([on_main(n, "unit", end) for n, end in enumerate(ends, 1)])
    (unit,) = asked(warehouse)
    assert (unit.failures, unit.timed_out, unit.runs) == (2, 2, 7)
    assert unit.rate == pytest.approx(2 / 7)
    assert unit.rate_interval == pytest.approx((0.0822, 0.6411), abs=1e-4)


def test_a_job_told_of_again_and_again_counts_once(warehouse: Warehouse) -> None:
    queued = replace(on_main(1, "unit"), status="queued", conclusion=None, completed_at=None, steps=())
    for job in (on_main(1, "unit"), queued, on_main(1, "unit")):
        warehouse.write_jobs([job])
    assert [(each.failures, each.runs) for each in asked(warehouse)] == [(1, 1)]


def test_other_branches_repositories_and_times_do_not_count(warehouse: Warehouse) -> None:
    warehouse.write_jobs(
        [
            on_main(1, "unit"),
            a_job(2, name="unit", branch="feature"),
            replace(on_main(3, "unit"), repository_full_name="octo/other"),
            on_main(4, "unit", completed=-1),
            on_main(5, "unit", completed=601),
        ]
    )
    assert [(each.name, each.failures, each.last_failure) for each in asked(warehouse)] == [("unit", 1, at(20))]


def test_a_branch_without_failures_has_none(warehouse: Warehouse) -> None:
    warehouse.write_jobs([on_main(1, "unit", "success"), on_main(2, "slow", "timed_out")])
    assert asked(warehouse) == ()


def test_failures_say_whose_problem_and_as_what(warehouse: Warehouse) -> None:
    warehouse.write_jobs([on_main(n, "unit", completed=n) for n in range(1, 7)])
    warehouse.write_diagnoses([a_diagnosis(1, signature="other"), a_diagnosis(5, signature="read, not judged")])
    warehouse.write_verdicts(
        [
            replace(a_verdict(1, cause=Cause.UNKNOWN), signature=""),
            replace(a_verdict(2, cause=Cause.CODE), determinism=Determinism.FLAKY),
            a_verdict(3, cause=Cause.CODE),
            a_verdict(4, cause=Cause.INFRASTRUCTURE),
        ],
        REPOSITORY,
    )
    (unit,) = asked(warehouse)
    assert unit.causes == (("code", 2), ("infrastructure", 1), ("unknown", 1))
    assert (unit.cause, unit.unjudged, unit.flaky) == ("code", 2, 1)
    assert unit.signatures == ((SIGNATURE, 3), ("other", 1), ("read, not judged", 1))
    assert (unit.undiagnosed, unit.run_id, unit.job_id, unit.last_failure) == (1, 100, 6, at(6))


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ((), "code"),
        ((a_saying(1, cause=Cause.CONFIGURATION),), "configuration"),
        ((a_saying(0, cause=Cause.INFRASTRUCTURE),), "infrastructure"),
        ((a_saying(0), a_saying(1, cause=Cause.INTERFERENCE)), "interference"),
        ((a_saying(0, said=10),), "code"),
        ((a_saying(1, withdrawn=True),), "code"),
    ],
    ids=["nobody", "of the job", "of the run", "of both", "of an attempt before", "taken back"],
)
def test_a_persons_word_wins_over_our_judgement(
    warehouse: Warehouse, said: Sequence[PersonVerdict], cause: str
) -> None:
    warehouse.write_jobs([on_main(1, "unit")])
    warehouse.write_verdicts([a_verdict(1)], REPOSITORY)
    warehouse.write_person_verdicts(said)
    assert [each.cause for each in asked(warehouse)] == [cause]


@pytest.mark.parametrize("seed", range(4))
def test_the_ranking_is_that_of_the_guides_query(warehouse: Warehouse, seed: int) -> None:
    rng = Random(seed)
    ends = ["failure", "success", "timed_out", "cancelled"]
    jobs = [
        replace(
            on_main(number, rng.choice("abcdefghijklmn"), rng.choice(ends), completed=rng.randint(-100, 500)),
            head_branch=rng.choice(["main", "main", "feature"]), workflow_name=rng.choice(["CI", "Nightly"]),
        )
        for number in range(1, 400)
    ]  # fmt: skip
    rng.shuffle(jobs)
    warehouse.write_jobs(jobs[:250])
    warehouse.write_jobs(jobs[150:])
    guide = warehouse.query(GUIDE.format(since=f"{at(0):%Y-%m-%d %H:%M:%S}", repository=REPOSITORY)).rows
    ours = [(each.name, each.failures) for each in asked(warehouse)]
    assert [failures for _, failures in ours] == [failures for _, failures in guide]
    counts = dict(warehouse.query(GUIDE.replace("LIMIT 10", "").format(
        since=f"{at(0):%Y-%m-%d %H:%M:%S}", repository=REPOSITORY)).rows)  # fmt: skip
    assert all(counts[name] == failures for name, failures in ours)
    assert ours == sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:10]


@pytest.mark.parametrize("warehouse", ["embedded"], indirect=True)
def test_the_guides_query_reads_the_projection_and_not_the_table(warehouse: Warehouse) -> None:
    warehouse.query(
        """
        INSERT INTO default.workflow_job (id, run_id, repository_full_name, name, conclusion, head_branch, created_at,
            completed_at, _version)
        SELECT number, 1, 'octo/widgets', toString(number % 50), if(number % 20 = 0, 'failure', 'success'),
            if(number % 7 = 0, 'main', 'feature'), '2026-11-30 12:00:00', '2026-11-30 12:20:00', 1
        FROM numbers(100000)
        """
    )
    only_there = "SETTINGS force_optimize_projection_name = 'ended_on_branch'"
    guide = GUIDE.format(since="2026-11-01 00:00:00", repository=REPOSITORY)
    assert warehouse.query(guide + only_there).rows == warehouse.query(guide).rows


def test_the_projection_follows_what_is_merged_and_what_grows_old(one: Warehouse) -> None:
    empty(one)
    old = replace(on_main(1, "old"), created_at=at(-60 * 24 * 400), completed_at=at(-60 * 24 * 400))
    dsn = f"chdb://{one.place}"
    open_warehouse(dsn, retention_days=365).close()
    one.write_jobs([old, on_main(2, "unit", "success")])
    one.write_jobs([on_main(2, "unit")])
    one.query("OPTIMIZE TABLE default.workflow_job FINAL")
    open_warehouse(dsn).close()
    asked_for = "SELECT name, conclusion FROM default.workflow_job WHERE repository_full_name = {r:String}"
    for used in (0, 1):
        rows = one.query(f"{asked_for} SETTINGS optimize_use_projections = {used}", {"r": REPOSITORY}).rows
        assert len(rows) == 1, used


def test_details_in_any_order_say_the_same() -> None:
    ranked = [{"name": "a", "workflows": ["CI"], "failures": 3, "timed_out": 0, "runs": 4, "last_failure": at(9)}]
    details = [
        {
            "name": "a",
            "cause": cause,
            "signature": sign,
            "failures": 1,
            "flaky": 0,
            "newest": at(n),
            "run_id": 1,
            "id": n,
        }
        for n, (cause, sign) in enumerate([("code", "x"), ("", "y"), ("unknown", "")])
    ]
    (told,) = {failing_jobs(ranked, order) for order in (details, details[::-1])}
    assert told[0].cause == "code" and told[0].job_id == 2 and (told[0].unjudged, told[0].undiagnosed) == (1, 1)


def test_known_causes_lead_over_unknown_of_the_same_count() -> None:
    row = {"name": "a", "workflows": [], "failures": 2, "timed_out": 0, "runs": 2, "last_failure": at(0)}
    same = {"name": "a", "signature": "", "failures": 1, "flaky": 0, "newest": at(0), "run_id": 1, "id": 1}
    (told,) = failing_jobs([row], [same | {"cause": "unknown"}, same | {"cause": "interference"}])
    assert told.cause == "interference"


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [(0, 0, 0, 1), (0, 10, 0, 0.2775), (10, 10, 0.7225, 1), (1, 2, 0.0945, 0.9055), (50, 100, 0.4038, 0.5962)],
)
def test_wilsons_interval_is_that_of_the_tables(part: int, whole: int, low: float, high: float) -> None:
    assert wilson(part, whole) == pytest.approx((low, high), abs=1e-4)


def test_a_row_has_every_column() -> None:
    assert tuple(as_row(FailingJob("a", ("CI",), 1, 0, 2, at(0)))) == COLUMNS
