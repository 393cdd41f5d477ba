"""A query over a limit says which, its value, what raises it, what to narrow; parameters are what they declare."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from buildeye.ask.guard import Limits
from buildeye.ask.limits import over_limit
from buildeye.ask.parameters import converted, declared, named
from buildeye.ask.promql import metrics_named
from buildeye.ask.sql import WarehouseSource, ask_sql
from buildeye.model import UsageError
from buildeye.warehouse import open_warehouse

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
SUM = "SELECT sum(sqrt(number)) FROM numbers(100000000000)"


@pytest.fixture(scope="module")
def source() -> Iterator[WarehouseSource]:
    with open_warehouse("chdb://:memory:") as warehouse:
        yield WarehouseSource(warehouse)


@pytest.mark.parametrize(
    ("sql", "limits", "said"),
    [
        (SUM, Limits(seconds=1), r"took longer than 1 second \(max_execution_time\); .*shorter time.*ask.max_seconds"),
        (
            "SELECT groupArray(number) FROM numbers(100000000)",
            Limits(memory_bytes=100 * 1024**2),
            r"more memory than 100 MiB \(max_memory_usage\); .*ask.max_memory_mib",
        ),
        (
            "SELECT number FROM numbers(200000)",
            Limits(),
            r"answers more than 100,000 rows \(max_result_rows\); add a LIMIT.*ask.max_rows",
        ),
        ("SELECT number FROM numbers(99999)", Limits(result_bytes=1000), r"1,000 bytes .*; .*ask.max_result_mib"),
        (
            "SELECT number FROM numbers(100000) SETTINGS max_rows_to_read = 10",
            Limits(),
            r"reads more than 10 rows .*SETTINGS of the query",
        ),
        (
            SUM + " SETTINGS max_execution_time = 1",
            Limits(),
            r"longer than 1 second .* or raise max_execution_time in the SETTINGS of the query",
        ),
    ],
    ids=["time", "memory", "rows", "bytes", "rows to read", "of the query itself"],
)
def test_a_query_over_a_limit_names_it(source: WarehouseSource, sql: str, limits: Limits, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ask_sql(source, sql, limits=limits)
    assert ask_sql(source, "SELECT 7").rows == ((7,),)


def test_what_is_no_limit_of_the_query_is_none() -> None:
    assert over_limit(202, "Too many simultaneous queries", Limits().settings()) is None
    assert over_limit(241, "Memory limit (total) exceeded", Limits().settings()) is None
    told = over_limit(159, "Timeout exceeded: maximum 5 s", {})
    assert told is not None and "a limit of the server (Timeout exceeded: maximum 5 s)" in str(told)


SQL = """-- {not:String}
SELECT '{nor:String}', {a:UInt8} WHERE b = {since: DateTime64(6, 'UTC')} AND c IN {many:Array(String)}
AND d = {a:UInt8}"""


def test_parameters_are_found_outside_of_quotes_and_comments() -> None:
    assert declared(SQL) == {"a": "UInt8", "since": "DateTime64(6, 'UTC')", "many": "Array(String)"}


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("String", "a=b", "a=b"), ("UInt8", "255", 255), ("Int8", "-128", -128), ("Nullable(Int64)", "7", 7),
        ("LowCardinality(Nullable(String))", "7", "7"), ("Float64", "1e3", 1000.0), ("Bool", "TRUE", True),
        ("Date", "2026-11-01", date(2026, 11, 1)), ("DateTime", "7d", NOW - timedelta(days=7)),
        ("DateTime64(6, 'UTC')", "2026-11-01T06:00:00Z", datetime(2026, 11, 1, 6, tzinfo=UTC)),
        ("Array(String)", "a, b", ["a", "b"]), ("Array(String)", '["a,b", "c"]', ["a,b", "c"]),
        ("Array(Int64)", "1,2", [1, 2]), ("Array(Int64)", "[1, 2]", [1, 2]), ("Array(String)", "", []),
        ("UUID", "x", "x"),
    ],
)  # fmt: skip
def test_a_text_becomes_what_its_type_says(kind: str, text: str, value: Any) -> None:
    assert converted({"p": text}, {"p": kind}, NOW) == {"p": value}


@pytest.mark.parametrize(
    ("given", "wanted", "said"),
    [
        ({}, {"p": "UInt8"}, r"the query also takes p \(UInt8\); give it with --param"),
        ({"q": "1"}, {"p": "UInt8"}, r"the query has no parameter q; it takes p \(UInt8\)"),
        ({"q": "1"}, {}, "has no parameter q; it takes none"),
        ({"p": "x"}, {"p": "UInt8"}, '--param p is "x"; it is UInt8: give a whole number'),
        ({"p": "256"}, {"p": "UInt8"}, "a whole number from 0 to 255"),
        ({"p": "x"}, {"p": "Float64"}, "give a number"), ({"p": "x"}, {"p": "Bool"}, "give true or false"),
        ({"p": "lately"}, {"p": "DateTime"}, "--param p is .lately.; write 12h, 7d"),
        ({"p": "[1"}, {"p": "Array(Int64)"}, "give a list such as"),
        ({"p": "1,x"}, {"p": "Array(Int64)"}, 'is "x"; it is Int64'),
    ],
)  # fmt: skip
def test_a_parameter_that_does_not_fit_is_told_with_its_type(
    given: dict[str, str], wanted: dict[str, str], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        converted(given, wanted, NOW)


@pytest.mark.parametrize(
    ("pairs", "said"), [(["a"], "write NAME=VALUE"), (["=1"], "NAME=VALUE"), (["a=1", "a=2"], "twice")]
)
def test_parameters_are_given_by_name_once(pairs: list[str], said: str) -> None:
    assert named(["a=1=2", "b="]) == {"a": "1=2", "b": ""}
    with pytest.raises(UsageError, match=said):
        named(pairs)


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("topk(10, clamp_min(sum by (name) (a_jobs) - sum(b_jobs) by (name), 0))", "a_jobs b_jobs"),
        ('rate(x:y{job="up", le=~"z|w"}[5m:1m] offset 1h) > bool 3', "x:y"),
        ("a * on (cluster, name) group_left(zone) b and c unless d or e", "a b c d e"),
        ('{__name__="up"}', ""), ("1 + Inf / NaN", ""), ('label_replace(up, "a", "$1", "b", "(.*)")', "up"),
        ("vector(1) # up\n+ down", "down"), ("sum without(a)(b)", "b"), ("up @ end()", "up"),
        ("count_values(\"v\", 'x')", ""), ("a\n-\n a", "a"),
    ],
)  # fmt: skip
def test_metrics_are_told_from_the_other_words_of_an_expression(expression: str, names: str) -> None:
    assert metrics_named(expression) == tuple(names.split())
