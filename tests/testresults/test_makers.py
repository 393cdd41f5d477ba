"""Which job made an artifact: a table of runs and names."""

from datetime import UTC, datetime, timedelta

import pytest

from buildeye.testresults.makers import JobTime, maker_of

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def job(number: int, name: str, start: float | None = 0, end: float | None = 30, attempt: int = 1) -> JobTime:
    times = (None if start is None else at(start), None if end is None else at(end))
    return JobTime(number, attempt, name, *times)


UNIT, LINT = job(77790100007, "unit (3.12)"), job(77790100014, "lint")
SHARDS = (job(77790100021, "test / shard 1"), job(77790100028, "test / shard 10"))


@pytest.mark.parametrize(
    ("name", "made", "jobs", "maker"),
    [
        ("junit", 10, (UNIT,), (UNIT.job_id, 1)),
        ("junit", 10, (UNIT, LINT), (0, 1)),
        ("junit-unit-3.12", 10, (UNIT, LINT), (UNIT.job_id, 1)),
        ("junit-77790100014", 10, (UNIT, LINT), (LINT.job_id, 1)),
        ("junit-shard-1", 10, SHARDS, (SHARDS[0].job_id, 1)),
        ("junit-test-shard-10", 10, SHARDS, (SHARDS[1].job_id, 1)),
        ("junit-lint-unit-3-12", 10, (UNIT, LINT), (UNIT.job_id, 1)),
        ("junit", 40, (UNIT, job(5, "after", 35, 50)), (5, 1)),
        ("junit", 30.5, (UNIT, job(5, "after", 35, 50)), (UNIT.job_id, 1)),
        ("junit", 10, (job(5, "unit"), job(6, "unit", 60, 90, attempt=2)), (5, 1)),
        ("junit", 70, (job(5, "unit"), job(6, "unit", 60, 90, attempt=2)), (6, 2)),
        ("junit", 10, (job(5, "same"), job(6, "same")), (0, 1)),
        ("junit", 10, (job(5, "unit", None, None), UNIT), (UNIT.job_id, 1)),
        ("junit", 10, (), (0, 1)),
    ],
)
def test_the_maker_is_named_only_when_one_job_fits(
    name: str, made: float, jobs: tuple[JobTime, ...], maker: tuple[int, int]
) -> None:
    assert maker_of(name, at(made), jobs) == maker
    assert maker_of(name, at(made), jobs[::-1]) == maker


def test_without_a_time_the_name_alone_decides() -> None:
    assert maker_of("junit-lint", None, (UNIT, LINT)) == (LINT.job_id, 1)
