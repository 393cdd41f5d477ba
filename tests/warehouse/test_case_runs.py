"""Test cases in the warehouse: once each, whatever is written again, in whatever order, and however many there are."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from buildeye.model import Case, CaseRun, Origin, Outcome
from buildeye.warehouse import ReadArtifact, Warehouse

from .facts import REPOSITORY, a_job, at

ORIGIN = Origin(REPOSITORY, 100, "artifact 7/unit/junit.xml", at(20), 1, 1000, "unit")
FAILED = Case(0, "test_a", "tests.test_m", "tests/test_m.py", 7, 1.5, "run", (Outcome("m", "t", "E"),))


def latest(warehouse: Warehouse, columns: str) -> list[tuple[Any, ...]]:
    some = "time_inserted >= '2020-01-01 00:00:00' AND job_id IN (0, 1000, 1001)"
    return list(warehouse.query(f"SELECT {columns} FROM tests.all_test_runs_latest WHERE {some} ORDER BY ALL").rows)


def test_a_case_stands_under_the_columns_that_pytorch_asks(warehouse: Warehouse) -> None:
    case = replace(FAILED, errors=(Outcome("e", "", "X"),), reruns=(Outcome("r", "s"),), skips=(Outcome("k"),))
    assert warehouse.write_test_runs([CaseRun(ORIGIN, case)]) == 1
    names = (
        "repository_full_name, job_id, workflow_id, workflow_run_attempt, file, classname, name, invoking_file, line,"
        " time, status, result, failure_count, error_count, rerun_count, skipped_count, time_inserted"
    )
    assert latest(warehouse, names) == [
        (REPOSITORY, 1000, 100, 1, "tests/test_m.py", "tests.test_m", "test_a", "unit", 7, 1.5, "run", "error",
         1, 1, 1, 1, at(20))
    ]  # fmt: skip
    told = latest(warehouse, "failure.message[1], failure.text[1], failure.type[1], rerun.message[1], rerun.text[1]")
    assert told == [("m", "t", "E", "r", "s")]


@pytest.mark.parametrize(
    "other",
    [
        replace(ORIGIN, run_id=101),
        replace(ORIGIN, repository_full_name="octo/other"),
        replace(ORIGIN, report="artifact 8/unit/junit.xml"),
        replace(ORIGIN, job_id=1001),
        replace(ORIGIN, run_attempt=2),
    ],
    ids=["another run", "another repository", "another report", "another job", "another attempt"],
)
def test_the_same_test_of_another_report_does_not_take_its_place(embedded: Warehouse, other: Origin) -> None:
    embedded.write_test_runs([CaseRun(ORIGIN, FAILED), CaseRun(other, FAILED)])
    rows = latest(embedded, "workflow_id, report_id, job_id, workflow_run_attempt")
    assert rows == sorted((each.run_id, each.report_id, each.job_id, each.run_attempt) for each in (ORIGIN, other))


CASES = [
    CaseRun(ORIGIN, Case(n, f"test_{n % 3}", "k", "f.py", failures=(Outcome(str(n)),) * (n % 2))) for n in range(6)
]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.sampled_from(CASES), min_size=1, max_size=12), st.permutations(CASES))
def test_repeats_and_order_leave_the_same_rows(
    embedded: Warehouse, before: list[CaseRun], shuffled: list[CaseRun]
) -> None:
    embedded.query("TRUNCATE TABLE tests.all_test_runs")
    embedded.write_test_runs(before)
    embedded.write_test_runs(shuffled)
    assert latest(embedded, "ordinal, name, result, failure.message") == [
        (n, f"test_{n % 3}", "failed" if n % 2 else "passed", [str(n)] * (n % 2)) for n in range(6)
    ]


def test_what_came_before_a_break_is_kept(embedded: Warehouse) -> None:
    def breaking() -> Iterator[CaseRun]:
        for number in range(12_000):
            yield CaseRun(ORIGIN, Case(number, "test"))
        raise ValueError("the source breaks")

    with pytest.raises(ValueError, match="breaks"):
        embedded.write_test_runs(breaking())
    assert latest(embedded, "count()") == [(10_000,)]


def test_long_failures_are_written_in_smaller_batches(embedded: Warehouse) -> None:
    long = Outcome("", "x" * 65_000)
    taken = 0

    def counted() -> Iterator[CaseRun]:
        nonlocal taken
        for number in range(300):
            taken += 1
            yield CaseRun(ORIGIN, Case(number, "test", failures=(long,)))
            if number == 200:
                assert latest(embedded, "count()")[0][0] > 0, "the first ones are written before the last one is read"

    assert embedded.write_test_runs(counted()) == taken == 300


def test_an_artifact_is_known_once_it_was_read(warehouse: Warehouse) -> None:
    for reports in (1, 2):
        warehouse.write_read_artifact(ReadArtifact(REPOSITORY, 100, 7, "junit", at(reports), reports, 9, ("broken",)))
    found = warehouse.ask("test_artifacts_read", repository=REPOSITORY, artifacts=[7, 8])
    assert found == [{"artifact_id": 7, "cases": 9, "troubles": ["broken"]}]
    assert warehouse.ask("test_artifacts_read", repository="octo/other", artifacts=[7]) == []


def test_jobs_of_runs_are_found_for_several_runs_at_once(warehouse: Warehouse) -> None:
    warehouse.write_jobs([a_job(1000), a_job(1001, run=101), a_job(1002, run=102)])
    found = warehouse.ask("jobs_of_runs", repository=REPOSITORY, runs=[100, 101])
    assert [(row["run_id"], row["job_id"], row["name"]) for row in found] == [
        (100, 1000, "unit (3.12)"),
        (101, 1001, "unit (3.12)"),
    ]
