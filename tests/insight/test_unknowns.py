"""Failures nobody could explain: those that look alike together, and none that somebody explained."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import pytest

from buildeye.insight.unknowns import COLUMNS, UnknownFailure, as_row, unknown_failures
from buildeye.model import Cause, PersonVerdict, Verdict
from buildeye.warehouse import Warehouse, open_warehouse
from tests.warehouse.conftest import empty
from tests.warehouse.facts import REPOSITORY, a_diagnosis, a_job, a_saying, a_verdict, at


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    with open_warehouse(f"chdb://{tmp_path_factory.mktemp('warehouse')}") as opened:
        yield opened


@pytest.fixture
def warehouse(one: Warehouse) -> Warehouse:
    empty(one)
    return one


def not_known(job: int, signature: str = "", *, run: int = 100, minutes: float = 41) -> Verdict:
    return replace(a_verdict(job, run=run, minutes=minutes, cause=Cause.UNKNOWN), signature=signature)


def asked(warehouse: Warehouse, limit: int = 20) -> tuple[UnknownFailure, ...]:
    return unknown_failures(warehouse, REPOSITORY, at(0), at(600), limit)


def test_failures_that_look_alike_stand_together_most_first(warehouse: Warehouse) -> None:
    warehouse.write_jobs(
        [
            a_job(1, run=11, completed=10), a_job(2, run=12, completed=30, branch="main"),
            a_job(3, run=13, completed=20), a_job(4, run=14, name="lint", completed=50), a_job(5, run=15, completed=60),
        ]
    )  # fmt: skip
    warehouse.write_diagnoses([a_diagnosis(1, signature="x"), a_diagnosis(2, signature="x")])
    warehouse.write_verdicts(
        [
            not_known(1, run=11), not_known(2, "x", run=12), not_known(3, "x", run=13), not_known(4, "x", run=14),
            not_known(5, run=15),
        ],
        REPOSITORY,
    )  # fmt: skip
    found = asked(warehouse)
    assert [(each.name, each.signature, each.failures) for each in found] == [
        ("unit (3.12)", "x", 3), ("unit (3.12)", "", 1), ("lint", "x", 1),
    ]  # fmt: skip
    first = found[0]
    assert (first.branches, first.first, first.newest, first.run_id, first.job_id) == (2, at(10), at(30), 12, 2)
    assert (first.html_url, first.summary) == ("https://example.test/jobs/2", "test_b fails.")
    assert first.look == "build-eye explain 12 --job 2"
    assert len(asked(warehouse, 1)) == 1


@pytest.mark.parametrize(
    ("verdicts", "said", "unknown"),
    [
        ([not_known(1)], (), 1),
        ([], (), 0),
        ([a_verdict(1)], (), 0),
        ([not_known(1), a_verdict(1, minutes=60)], (), 0),
        ([a_verdict(1), not_known(1, minutes=60)], (), 1),
        ([not_known(1)], (a_saying(1),), 0),
        ([not_known(1)], (a_saying(0),), 0),
        ([not_known(1)], (a_saying(0, said=1),), 1),
        ([not_known(1)], (a_saying(1, withdrawn=True),), 1),
        ([not_known(1)], (a_saying(1, cause=Cause.UNKNOWN), a_saying(0)), 1),
    ],
    ids=["unknown", "not judged", "known", "known since", "unknown since", "said of the job", "said of the run",
         "said of an attempt before", "taken back", "a person does not know either"],
)  # fmt: skip
def test_only_what_nobody_explained_is_unknown(
    warehouse: Warehouse, verdicts: Sequence[Verdict], said: Sequence[PersonVerdict], unknown: int
) -> None:
    warehouse.write_jobs([a_job(1)])
    for verdict in verdicts:
        warehouse.write_verdicts([verdict], REPOSITORY)
    warehouse.write_person_verdicts(said)
    assert len(asked(warehouse)) == unknown


def test_other_times_repositories_and_ends_do_not_count(warehouse: Warehouse) -> None:
    elsewhere = "octo/other"
    warehouse.write_jobs(
        [
            a_job(1, completed=-5), a_job(2, completed=601), a_job(3, conclusion="cancelled"),
            a_job(4, conclusion="timed_out"), a_job(5, repository=elsewhere),
        ]
    )  # fmt: skip
    warehouse.write_verdicts([not_known(number) for number in (1, 2, 3, 4)], REPOSITORY)
    warehouse.write_verdicts([not_known(5)], elsewhere)
    assert [each.job_id for each in asked(warehouse)] == [4]


def test_order_and_repetition_of_facts_do_not_matter(warehouse: Warehouse) -> None:
    jobs = [a_job(n, name=f"job {n % 3}", completed=n) for n in range(1, 30)]
    verdicts = [not_known(n, "xy"[n % 2]) for n in range(1, 30)]
    warehouse.write_jobs(jobs)
    warehouse.write_verdicts(verdicts, REPOSITORY)
    before = asked(warehouse)
    Random(3).shuffle(jobs)
    warehouse.write_verdicts(verdicts[::-1], REPOSITORY)
    warehouse.write_jobs(jobs)
    assert asked(warehouse) == before and sum(each.failures for each in before) == 29


def test_a_row_has_every_column() -> None:
    assert tuple(as_row(UnknownFailure("a", "CI", "", 1, 1, at(0), at(0), 1, 2))) == COLUMNS
