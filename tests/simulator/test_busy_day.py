"""A busy day: as many runs as asked for in one day, some of which fail."""

from datetime import UTC, datetime, timedelta

from buildeye.simulator import build_busy_day

NOW = datetime(2026, 5, 28, 18, 0, tzinfo=UTC)


def test_everything_happens_within_the_day_and_one_run_in_ten_fails() -> None:
    past = build_busy_day(7, NOW, 120)
    runs = {run.id: run for run in past.attempts}
    assert all(NOW - timedelta(hours=24) <= run.created_at <= NOW for run in runs.values() if run.created_at)
    assert all(run.status == "completed" for run in runs.values())
    assert 400 <= len(runs) <= 600
    assert 0.06 <= sum(run.conclusion == "failure" for run in runs.values()) / len(runs) <= 0.14


def test_equal_arguments_give_an_equal_day() -> None:
    assert build_busy_day(7, NOW, 10) == build_busy_day(7, NOW, 10) != build_busy_day(8, NOW, 10)
