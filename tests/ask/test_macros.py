"""Grafana's macros are written out as its ClickHouse plugin does it, and nothing else is touched."""

from datetime import UTC, datetime, timedelta

import pytest

from buildeye.ask.guard import Refused, check
from buildeye.ask.macros import Span, expanded, has_macros, step_of
from buildeye.model import UsageError

SINCE, UNTIL = datetime(2026, 12, 1, 6, tzinfo=UTC), datetime(2026, 12, 1, 12, 0, 0, 500_000, tzinfo=UTC)
SPAN = Span(SINCE, UNTIL, timedelta(minutes=30))
A, B = "toDateTime(1796104800)", "toDateTime(1796126400)"
A_MS, B_MS = "fromUnixTimestamp64Milli(1796104800000)", "fromUnixTimestamp64Milli(1796126400500)"
DAY = "(d >= toDate('2026-12-01') AND d <= toDate('2026-12-01'))"


@pytest.mark.parametrize(
    ("macro", "sql"),
    [
        ("$__timeFilter(t)", f"(t >= {A} AND t <= {B})"),
        ("$__timeFilter( f(a, [1, 2]) )", f"(f(a, [1, 2]) >= {A} AND f(a, [1, 2]) <= {B})"),
        ("$__timeFilter(f(`a)b`, ',)'))", f"(f(`a)b`, ',)') >= {A} AND f(`a)b`, ',)') <= {B})"),
        ("$__timeFilter_ms(t)", f"(t >= {A_MS} AND t <= {B_MS})"),
        ("$__dateFilter(d)", DAY),
        ("$__dateTimeFilter(d, t)", f"({DAY} AND (t >= {A} AND t <= {B}))"),
        ("$__dt(d, t)", f"({DAY} AND (t >= {A} AND t <= {B}))"),
        ("$__fromTime", A), ("$__toTime", B), ("$__fromTime_ms", A_MS), ("$__toTime_ms", B_MS),
        ("$__fromTime()", A),
        ("$__interval_s", "1800"),
        ("$__timeInterval(t)", "toStartOfInterval(toDateTime(t), INTERVAL 1800 second)"),
        ("$__timeInterval_ms(t)", "toStartOfInterval(toDateTime64(t, 3), INTERVAL 1800000 millisecond)"),
    ],
)  # fmt: skip
def test_a_macro_becomes_plain_sql(macro: str, sql: str) -> None:
    assert expanded(f"SELECT {macro} FROM x", SPAN) == f"SELECT {sql} FROM x"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT '$__timeFilter(t)'", "SELECT 1 -- $__fromTime", "SELECT 1 /* $__toTime */", "SELECT `$__fromTime`",
        "SELECT 'it''s $__toTime'", "SELECT 'a\\'$__toTime'", "SELECT 1",
    ],
)  # fmt: skip
def test_quotes_and_comments_stay_as_they_are(sql: str) -> None:
    assert expanded(sql, SPAN) == sql
    assert not has_macros(sql)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("$__timeFilter", "takes 1 argument, not 0"), ("$__timeFilter()", "takes 1 argument, not 0"),
        ("$__timeFilter(a, b)", "takes 1 argument, not 2"), ("$__fromTime(a)", "takes no arguments, not 1"),
        ("$__timeFilter(a", "does not close"), ("$__timeGroup(a)", "unknown macro .*timeGroup; known are .*timeFilter"),
    ],
)  # fmt: skip
def test_a_macro_that_cannot_be_written_out_is_refused(sql: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        expanded(sql, SPAN)


def test_several_macros_of_one_query_are_all_written_out() -> None:
    sql = "SELECT $__timeInterval(t) AS a, count() / $__interval_s FROM x WHERE $__timeFilter(t) AND u > $__fromTime"
    assert "$" not in expanded(sql, SPAN)
    assert has_macros(sql)


def test_the_guard_takes_a_macro_for_a_time_bound() -> None:
    sql = "SELECT name FROM tests.all_test_runs WHERE file = 'a.py' AND $__timeFilter(time_inserted)"
    with pytest.raises(Refused, match="strange-text"):
        check(sql)
    assert "1796104800" in check(expanded(sql, SPAN)).statement
    for macro in ("$__timeFilter_ms(time_inserted)", "$__dateFilter(time_inserted)", "time_inserted >= $__fromTime"):
        assert check(expanded(sql.replace("$__timeFilter(time_inserted)", macro), SPAN))


def test_a_span_cuts_itself_into_about_a_hundred_round_steps() -> None:
    assert [step_of(timedelta(**length)) for length in ({"minutes": 1}, {"hours": 1}, {"hours": 6}, {"days": 7})] == [
        timedelta(seconds=1), timedelta(minutes=1), timedelta(minutes=5), timedelta(hours=2),
    ]  # fmt: skip
    assert step_of(timedelta(days=3650)) == timedelta(weeks=1)


def test_a_span_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(UsageError, match=r"ends .* before it begins"):
        Span.of(UNTIL, SINCE)
