"""A Grafana is asked: the guide's queries through both of its paths, and what is said when something is wrong."""

import math
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buildeye.ask import Point, Prometheus, Series
from buildeye.ask.grafana import Grafana
from buildeye.ask.grafana.literals import inlined
from buildeye.ask.guard import Limits, check
from buildeye.ask.guard.lexing import Kind, read_tokens
from buildeye.ask.sources import DataSource
from buildeye.ask.sql import ask_sql
from buildeye.model import BuildEyeError, OutsideError, UsageError

from .grafana_place import TOKEN, Place, place, present

FAILING = """ SELECT name, count(DISTINCT id) AS failures FROM default.workflow_job WHERE conclusion = 'failure'
 AND completed_at >= now() - INTERVAL 2 WEEK AND repository_full_name = 'pytorch/pytorch' AND head_branch = 'main'
 GROUP BY name ORDER BY failures DESC LIMIT 10"""
A_FILE = """ SELECT file, classname, name, count() AS runs,
 countIf(failure_count = 0 AND error_count = 0 AND skipped_count = 0) AS successful,
 countIf(failure_count > 0 OR error_count > 0) AS fails, countIf(skipped_count > 0) AS skipped FROM tests.all_test_runs
 WHERE time_inserted >= now() - INTERVAL 7 DAY AND file = 'lazy/test_ts_opinfo.py' GROUP BY file, classname, name
 ORDER BY runs DESC"""
QUEUED = "topk(10, clamp_min(sum by (name) (gha_assigned_jobs) - sum by (name) (gha_running_jobs), 0))"
RUNNING = "sum by (cluster) (gha_running_jobs)"
NEWER, OLDER = "POST /apis/query.grafana.app/v0alpha1/namespaces/default/query", "POST /api/ds/query"
SQL, PROM = "grafana-clickhouse", "grafanacloud-prom"
HALF = timedelta(minutes=30)
THEN = datetime(2026, 5, 28, 12, tzinfo=UTC)


@pytest.fixture(params=[False, True], ids=["newer path", "older path"])
def path(request: pytest.FixtureRequest, grafana: Place) -> Place:
    """The Grafana, with its newer path of queries and without."""
    grafana.faults.newer_path_absent = request.param
    return grafana


def test_the_guides_query_for_failing_jobs_answers(path: Place) -> None:
    with path.client() as client:
        answer = ask_sql(client.sql(), FAILING)
    assert (answer.columns, answer.types) == (("name", "failures"), ("", "UInt64"))
    assert answer.rows == (("linux / test", 7), ("lint", 3))
    assert answer.warnings == ()


def test_the_guides_query_for_a_test_file_answers(path: Place) -> None:
    with path.client() as client:
        answer = ask_sql(client.sql(SQL), A_FILE)
    assert answer.columns == ("file", "classname", "name", "runs", "successful", "fails", "skipped")
    assert answer.rows == (
        ("lazy/test_ts_opinfo.py", "TestLazy", "test_add", 6, 4, 1, 1),
        ("lazy/test_ts_opinfo.py", "TestLazy", "test_mul", 3, 2, 0, 1),
    )


def test_the_guides_query_for_the_longest_queue_answers(path: Place) -> None:
    with path.client() as client:
        found = client.prometheus(PROM).query(QUEUED)
    assert {series.labels["name"]: series.points[0].value for series in found} == {"linux-npu": 10, "linux-cpu": 0}


def test_the_guides_query_over_six_hours_answers_as_prometheus_itself(path: Place, recent_address: str) -> None:
    until = datetime.fromtimestamp(present().timestamp() // 1800 * 1800, UTC)
    since = until - timedelta(hours=6)
    with path.client() as client, Prometheus(recent_address) as straight:
        found = client.prometheus(PROM).query_range(RUNNING, since, until, HALF)
        assert found == straight.query_range(RUNNING, since, until, HALF)
    assert [(series.labels, len(series.points)) for series in found] == [({"cluster": "a"}, 13), ({"cluster": "b"}, 13)]


def test_points_of_a_range_stand_at_whole_steps_within_it(grafana: Place) -> None:
    until = present()
    since = until - timedelta(hours=6)
    with grafana.client() as client:
        found = client.prometheus().query_range(RUNNING, since, until, HALF)
    moments = [point.at for point in found[0].points]
    assert 12 <= len(moments) <= 13 and all(since <= at <= until and at.timestamp() % 1800 == 0 for at in moments)


def test_a_fine_step_is_not_made_coarse(grafana: Place, recent_address: str) -> None:
    minute = timedelta(minutes=1)
    until = datetime.fromtimestamp(present().timestamp() // 60 * 60, UTC)
    with grafana.client() as client, Prometheus(recent_address) as straight:
        found = client.prometheus().query_range(RUNNING, until - timedelta(hours=6), until, minute)
        assert found == straight.query_range(RUNNING, until - timedelta(hours=6), until, minute)


def test_a_range_of_more_points_than_prometheus_gives_is_put_together(grafana: Place) -> None:
    until = datetime.fromtimestamp(present().timestamp() // 2 * 2, UTC)
    with grafana.client() as client:
        found = client.prometheus().query_range(RUNNING, until - timedelta(hours=6.5), until, timedelta(seconds=2))
    assert [len(series.points) for series in found] == [11_701, 11_701]
    assert len(grafana.state.bodies) == 2


def test_the_newer_path_is_tried_first_and_not_again_where_it_is_absent(path: Place) -> None:
    with path.client() as client:
        source = client.sql(SQL)
        ask_sql(source, "SELECT 1")
    absent = path.faults.newer_path_absent
    assert path.state.asked == ([NEWER, OLDER, OLDER] if absent else [NEWER, NEWER])


def test_queries_go_out_in_grafanas_form(grafana: Place) -> None:
    moment = datetime(2026, 5, 28, 12, tzinfo=UTC)
    with Grafana(grafana.url, TOKEN, clock=lambda: moment) as client:
        client.sql(SQL).run(check("SELECT 1 AS one -- mine"))
        client.prometheus(PROM).query("up", moment)
        client.prometheus(PROM).query_range("up", moment, moment + HALF, timedelta(seconds=90))
    milliseconds = "1779969600000"
    assert grafana.state.bodies == [
        {
            "queries": [
                {
                    "refId": "A",
                    "datasource": {"type": "grafana-clickhouse-datasource", "uid": SQL},
                    "rawSql": "SELECT 1 AS one",
                    "format": 1,
                    "intervalMs": 60000,
                }
            ],
            "from": "1779966000000",
            "to": milliseconds,
        },
        {
            "queries": [
                {
                    "refId": "A",
                    "datasource": {"type": "prometheus", "uid": PROM},
                    "expr": "up",
                    "instant": True,
                    "range": False,
                    "intervalMs": 60000,
                }
            ],
            "from": milliseconds,
            "to": milliseconds,
        },
        {
            "queries": [
                {
                    "refId": "A",
                    "datasource": {"type": "prometheus", "uid": PROM},
                    "expr": "up",
                    "instant": False,
                    "range": True,
                    "intervalMs": 90000,
                    "maxDataPoints": 11000,
                }
            ],
            "from": milliseconds,
            "to": "1779971400000",
        },
    ]


def test_data_sources_are_listed_by_kind_and_name(grafana: Place) -> None:
    with grafana.client() as client:
        where = client.place
        assert client.datasources() == (
            DataSource(SQL, "grafana-clickhouse", "clickhouse", where),
            DataSource("grafanacloud-logs", "grafanacloud-pytorchci-logs", "loki", where),
            DataSource(PROM, "grafanacloud-pytorchci-prom", "prometheus", where),
        )
    assert where == f"Grafana at {grafana.url.removeprefix('http://')}"


def test_the_guard_knows_the_tables_of_that_clickhouse_and_asks_for_them_once(grafana: Place) -> None:
    with grafana.client() as client:
        source = client.sql(SQL)
        assert source.tables().has(("default", "workflow_job")) and source.tables().has(("tests", "all_test_runs"))
        assert not source.tables().has(("default", "nothing"))
        with pytest.raises(UsageError, match="unknown-table"):
            ask_sql(source, "SELECT * FROM default.nothing")
        with pytest.raises(UsageError, match="no-time-bound"):
            ask_sql(source, "SELECT count() FROM tests.all_test_runs WHERE file = 'a'")
        answer = ask_sql(source, "SELECT count() AS n FROM default.workflow_job")
    assert answer.warnings and answer.rows[0][0] >= 14
    assert len(grafana.state.bodies) == 2


def test_values_of_every_kind_come_through(grafana: Place) -> None:
    sql = """SELECT 1::UInt8 AS small, -5::Int64 AS whole, NULL::Nullable(String) AS nothing, true AS yes, 0/0 AS none,
             toDateTime('2026-05-28 12:00:00') AS at, toDateTime64('2026-05-28 12:00:00.123456', 6) AS finely,
             ['a', 'b'] AS list, 'line\\nbreak' AS text, 18446744073709551615 AS large, 1.5::Decimal(9, 2) AS money"""
    with grafana.client() as client:
        answer = client.sql().run(check(sql))
    row = dict(zip(answer.columns, answer.rows[0], strict=True))
    assert math.isnan(row.pop("none"))
    at = datetime(2026, 5, 28, 12, tzinfo=UTC)
    assert row == {
        "small": 1, "whole": -5, "nothing": None, "yes": True, "at": at, "finely": at + timedelta(microseconds=123456),
        "list": ["a", "b"], "text": "line\nbreak", "large": 18446744073709551615, "money": 1.5,
    }  # fmt: skip
    assert answer.types[:2] == ("UInt8", "Int64")


def test_a_query_without_rows_has_columns(grafana: Place) -> None:
    with grafana.client() as client:
        answer = client.sql().run(check("SELECT name, id FROM default.workflow_job WHERE id = 12345"))
    assert (answer.columns, answer.rows) == (("name", "id"), ())


NASTY = "it's \\ a \"name\" \n`x` $__timeFilter(a) ${b} -- /* ; \0 \x01 向左 {c:String} \\x41 \\' '' $"


@pytest.mark.parametrize(
    ("type_", "value", "meant"),
    [
        ("String", NASTY, NASTY),
        ("String", "", ""),
        ("String", "')) UNION ALL SELECT 'x", "')) UNION ALL SELECT 'x"),
        ("UInt64", 7, 7),
        ("UInt64", "7", 7),
        ("Int32", -7, -7),
        ("Float64", 0.5, 0.5),
        ("Bool", True, True),
        ("Nullable(String)", None, None),
        ("DateTime", THEN, THEN),
        ("DateTime64(6)", THEN + timedelta(microseconds=5), THEN + timedelta(microseconds=5)),
        ("Array(String)", ["a", NASTY], ["a", NASTY]),
        ("Array(UInt8)", [1, 2], [1, 2]),
        ("Array(String)", "['a','b']", ["a", "b"]),
    ],
)  # fmt: skip
def test_parameters_are_what_they_were(grafana: Place, type_: str, value: Any, meant: Any) -> None:
    with grafana.client() as client:
        answer = client.sql(SQL).run(check(f"SELECT {{it:{type_}}} AS it, 1 AS one"), {"it": value})
    assert answer.rows == ((meant, 1),)


@pytest.mark.parametrize("value", ["7 OR 1", "1) UNION ALL SELECT 2", "0x10; SELECT 1", "", "now()"])
def test_a_parameter_that_is_no_number_is_refused_by_the_engine(grafana: Place, value: str) -> None:
    with grafana.client() as client, pytest.raises(UsageError, match="refused by the ClickHouse"):
        client.sql(SQL).run(check("SELECT {it:UInt64} AS it"), {"it": value})


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "takes the parameters a, b; missing: a, b, unknown: none"),
        ({"a": 1, "c": 2}, "missing: b, unknown: c"),
        ({"a": {}, "b": object()}, "parameter a is a dict; give"),
        ({"a": datetime(2026, 5, 28), "b": 1}, "parameter a: time .* has no zone"),
    ],
)
def test_parameters_that_do_not_fit_are_named(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        inlined("SELECT {a:UInt8}, {b:UInt8}", parameters)


@pytest.mark.parametrize(
    ("statement", "sent"),
    [
        ("SELECT '{a:String}'", "SELECT '{a:String}'"),
        ("SELECT 'x' LIKE{a:String}", "SELECT 'x' LIKE 'v' "),
        ("SELECT {a:String}'x'", "SELECT 'v' 'x'"),
        ("SELECT '$__fromTime', '\\$5', 'a\\\\$'", "SELECT '\\x24__fromTime', '\\\\\\x245', 'a\\\\\\x24'"),
        ("LIMIT {a: UInt8 }", "LIMIT CAST('v', 'UInt8')"),
    ],
)
def test_parameters_are_written_where_they_stand_and_nowhere_else(statement: str, sent: str) -> None:
    values = {"a": "v"} if "{a:" in statement and "'{" not in statement else {}
    assert inlined(statement, values) == sent.strip()


def test_what_looks_like_a_macro_in_a_text_stays_text(grafana: Place) -> None:
    with grafana.client() as client:
        answer = client.sql(SQL).run(check("SELECT '$__fromTime' AS a, '$__timeFilter(x)' AS b, 'cost: 5$' AS c"))
        assert answer.rows == (("$__fromTime", "$__timeFilter(x)", "cost: 5$"),)
        with pytest.raises(UsageError, match="which Grafana would take for a macro"):
            client.sql(SQL).run(check("SELECT 1 AS `$__fromTime`"))


def test_settings_of_the_query_itself_go_along_and_limits_do_not(grafana: Place) -> None:
    with grafana.client() as client:
        client.sql(SQL).run(check("SELECT 1 SETTINGS join_use_nulls = 1, session_timezone = 'UTC', max_threads = 1"))
    sent = grafana.state.bodies[-1]["queries"][0]["rawSql"]
    assert sent == "SELECT 1\nSETTINGS join_use_nulls = 1, session_timezone = 'UTC'"


def test_more_rows_than_the_limit_are_refused_not_cut(grafana: Place) -> None:
    with grafana.client() as client, pytest.raises(UsageError, match="the answer has 5 rows, more than 4; add a LIMIT"):
        client.sql(SQL).run(check("SELECT number FROM numbers(5)", limits=Limits(result_rows=4)))


def test_an_unknown_metric_can_be_told_from_an_empty_answer(grafana: Place) -> None:
    with grafana.client() as client:
        source = client.prometheus(PROM)
        unknown, empty = "sum(gha_asigned_jobs)", 'gha_assigned_jobs{name="windows"}'
        assert source.query(unknown) == source.query(empty) == ()
        assert source.metrics_in(unknown) == () == source.metrics_in("1")
        now = present()
        assert source.metrics_in(empty) == source.metrics_in(empty, now - HALF, now) == ("gha_assigned_jobs",)


def test_numbers_of_every_kind_come_through_from_prometheus(grafana: Place) -> None:
    at = present() - HALF
    with grafana.client() as client:
        source = client.prometheus(PROM)
        assert math.isnan(source.query("ci_ratio", at)[0].points[0].value)
        assert source.query("1 / 0", at) == (Series({}, (Point(at, math.inf),)),)
        assert source.query("-1 / 0 * vector(1)", at) == (Series({}, (Point(at, -math.inf),)),)
        (found,) = source.query("gha_running_jobs{name='linux-cpu'}[3m]", at)
        assert [point.value for point in found.points] == [2.0] * 3


def test_a_mistake_in_sql_is_the_askers(path: Place) -> None:
    with path.client() as client, pytest.raises(UsageError, match=r"refused by the ClickHouse behind Grafana at .*nam"):
        ask_sql(client.sql(SQL), "SELECT nam FROM default.workflow_job WHERE repository_full_name = 'a/b'")


@pytest.mark.parametrize(
    ("expression", "said"),
    [("sum(", "unclosed left parenthesis"), ("'text'", "ask for numbers"), ("up[", "parse error|unexpected")],
)
def test_a_mistake_in_promql_is_the_askers(path: Place, expression: str, said: str) -> None:
    with path.client() as client, pytest.raises(UsageError, match=said) as caught:
        client.prometheus(PROM).query(expression)
    assert "\n" not in str(caught.value)


def set_expired(found: Place) -> None:
    found.faults.expired = True


def set_away(found: Place) -> None:
    found.faults.away = True


def set_limit(found: Place) -> None:
    found.faults.error, found.faults.status = "code: 159, message: Timeout exceeded: elapsed 30 seconds", 500


def set_broken(found: Place) -> None:
    found.faults.error, found.faults.status = "plugin is not registered", 500


@pytest.mark.parametrize(
    ("breaks", "kind", "said"),
    [
        (set_expired, OutsideError, "answered 401: Expired API key; run build-eye login"),
        (set_away, OutsideError, "answered 503, 1 times in a row"),
        (set_limit, UsageError, "goes over a limit of the ClickHouse behind .*: Timeout exceeded.*; ask for less"),
        (set_broken, OutsideError, "the ClickHouse behind .* cannot be asked: plugin is not registered"),
    ],
)
def test_what_is_wrong_at_grafana_is_one_line(
    path: Place, breaks: Callable[[Place], None], kind: type[BuildEyeError], said: str
) -> None:
    breaks(path)
    with path.client() as client, pytest.raises(kind, match=said) as caught:
        client.sql(SQL).run(check("SELECT 1"))
    assert "\n" not in str(caught.value) and TOKEN not in str(caught.value)


@pytest.mark.parametrize("token", ["", "glsa_wrong"])
def test_a_wrong_token_is_told_with_what_to_do(path: Place, token: str) -> None:
    with path.client(token) as client:
        for ask in (lambda: client.sql(SQL).tables(), client.datasources, lambda: client.prometheus(PROM).query("up")):
            with pytest.raises(OutsideError, match=r"answered 401: .*; run build-eye login$"):
                ask()
        with pytest.raises(OutsideError, match=r"run build-eye login$"):
            client.prometheus(PROM).metrics_in("up")


@pytest.mark.parametrize("fault", ["no_frames", "empty_frame"])
def test_an_empty_answer_is_an_answer(path: Place, fault: str) -> None:
    setattr(path.faults, fault, True)
    with path.client() as client:
        answer = client.sql(SQL).run(check("SELECT 1"))
        assert (answer.columns, answer.rows) == ((), ())
        assert client.prometheus(PROM).query("up") == ()


def test_a_data_source_that_is_not_there_is_named_as_missing(path: Place) -> None:
    with path.client() as client:
        for ask in (
            lambda: client.sql("other").run(check("SELECT 1")),
            lambda: client.prometheus("other").query("up"),
            lambda: client.prometheus("other").metrics_in("up"),
        ):
            with pytest.raises(UsageError, match="has no such data source; see build-eye datasources list"):
                ask()


def test_servers_behind_grafana_that_are_down_are_told_apart_from_grafana() -> None:
    with place("http://127.0.0.1:9/", "http://127.0.0.1:9") as found, found.client() as client:
        with pytest.raises(OutsideError, match=r"the ClickHouse behind Grafana at .* cannot be asked"):
            client.sql(SQL).run(check("SELECT 1"))
        with pytest.raises(OutsideError, match=r"the Prometheus behind Grafana at .* cannot be asked"):
            client.prometheus(PROM).query("up")
        with pytest.raises(OutsideError, match="answered 502"):
            client.prometheus(PROM).metrics_in("up")


def test_a_namespace_of_grafana_cloud_is_found_and_used(clickhouse_address: str) -> None:
    with place(clickhouse_address, namespace="stacks-12345") as found:
        with found.client() as client:
            assert client.namespace() == "stacks-12345"
            with pytest.raises(OutsideError, match="answered 403: forbidden namespace"):
                client.sql(SQL).run(check("SELECT 1"))
        with found.client(namespace="stacks-12345") as client:
            assert client.sql(SQL).run(check("SELECT 1 AS a")).rows == ((1,),)


def test_health_takes_more_than_a_server_that_answers(grafana: Place) -> None:
    with grafana.client() as client, grafana.client("glsa_wrong") as stranger:
        assert client.healthy() and not stranger.healthy()
        grafana.faults.expired = True
        assert not client.healthy()


def stood_in(answer: Callable[[httpx2.Request], httpx2.Response], **options: Any) -> Grafana:
    """A client of something that stands where a Grafana should."""
    return Grafana("http://grafana.test/below", TOKEN, pause=0.0, transport=httpx2.MockTransport(answer), **options)


ECHO = f"token {TOKEN} in words"


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (httpx2.Response(200, text="<html>log in</html>"), OutsideError, "does not answer as Grafana does"),
        (httpx2.Response(200, json={"results": {}}), OutsideError, "does not answer as Grafana does"),
        (httpx2.Response(200, text="[" * 100_000), OutsideError, "does not answer as Grafana does"),
        (httpx2.Response(302, headers={"location": "http://evil.test/"}), OutsideError, "a redirect; name the server"),
        (httpx2.Response(403, json={"message": ECHO}), OutsideError, r"answered 403: token \*\*\* in words"),
        (httpx2.Response(404), OutsideError, "answered 404; is the server right"),
        (httpx2.Response(502, text="bad gateway"), OutsideError, "answered 502, 3 times in a row"),
        (httpx2.Response(200, json={"results": {"A": {"error": ECHO}}}), OutsideError, r"token \*\*\* in words"),
        (httpx2.Response(200, json={"results": {"A": {"error": f"code: 47, message: {ECHO}"}}}), UsageError, r"\*\*\*"),
    ],
)  # fmt: skip
def test_every_failure_is_one_sentence_without_the_token(
    answer: httpx2.Response, kind: type[BuildEyeError], said: str
) -> None:
    with stood_in(lambda _: answer) as client, pytest.raises(kind, match=said) as caught:
        client.sql(SQL).run(check("SELECT 1"))
    assert TOKEN not in str(caught.value) and "\n" not in str(caught.value)


def test_the_token_goes_as_bearer_to_the_server_alone_and_what_passes_is_asked_again() -> None:
    seen: list[httpx2.Request] = []
    answers = [httpx2.Response(503), httpx2.Response(200, json={"results": {"A": {"frames": []}}})]

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return answers.pop(0)

    with stood_in(answer) as client:
        client.sql(SQL).run(check("SELECT 1"))
    assert {request.headers["authorization"] for request in seen} == {f"Bearer {TOKEN}"}
    assert {str(request.url) for request in seen} == {
        "http://grafana.test/below/apis/query.grafana.app/v0alpha1/namespaces/default/query"
    }


def test_a_step_that_grafana_made_longer_is_not_passed_off_as_the_one_asked_for() -> None:
    fields = [
        {"name": "Time", "type": "time", "config": {"interval": 60000}},
        {"name": "Value", "type": "number", "labels": {}},
    ]
    frame = {"schema": {"fields": fields}, "data": {"values": [[0], [1]]}}
    now = datetime(2026, 5, 28, 12, tzinfo=UTC)
    said = "answers every 60 seconds where every 15 were asked for; take a step of 60s"
    answer = httpx2.Response(200, json={"results": {"A": {"frames": [frame]}}})
    with stood_in(lambda _: answer) as client, pytest.raises(UsageError, match=said):
        client.prometheus(PROM).query_range("up", now - HALF, now, timedelta(seconds=15))


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ([], "has 0 data sources of kind clickhouse .none.; name one with -d UID"),
        ([{"uid": u, "name": u, "type": "grafana-clickhouse-datasource"} for u in ("a", "b")], "has 2 .*a, b"),
        ([{"uid": "a"}], "does not answer as Grafana does"),
    ],
)
def test_without_a_name_there_must_be_one_data_source(listed: list[Any], said: str) -> None:
    with stood_in(lambda _: httpx2.Response(200, json=listed)) as client, pytest.raises(BuildEyeError, match=said):
        client.sql()


def test_an_answer_too_large_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("buildeye.ask.grafana.wire.MOST_BYTES", 1000)
    with stood_in(lambda _: httpx2.Response(200, text="[" * 5000)) as client, pytest.raises(UsageError, match="larger"):
        client.datasources()


def test_a_server_that_says_nothing_is_left_after_the_time_set() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port, began = door.getsockname()[1], time.monotonic()
        with Grafana(f"http://127.0.0.1:{port}", TOKEN, timeout=0.2) as client, pytest.raises(OutsideError) as caught:
            client.datasources()
    assert time.monotonic() - began < 5
    assert f"Grafana at 127.0.0.1:{port} did not answer within 0.2 seconds" in str(caught.value)


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
    with Grafana(f"http://127.0.0.1:{port}", TOKEN, pause=0.0) as client, pytest.raises(OutsideError) as caught:
        client.healthy()
    assert str(caught.value).startswith(f"Grafana at 127.0.0.1:{port} cannot be reached: ")


@pytest.mark.parametrize(
    ("server", "token", "namespace", "said"),
    [
        ("grafana.test", TOKEN, "default", "is no http"),
        ("http://reader:hushed@grafana.test", TOKEN, "default", "holds a user name or password"),
        ("http://g.test:port", TOKEN, "default", "is no address"),
        ("http://g.test", "two\nlines", "default", "characters that no token has"),
        ("http://g.test", TOKEN, "../..", "the namespace of a Grafana is"),
    ],
)
def test_what_cannot_be_a_server_is_refused(server: str, token: str, namespace: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        Grafana(server, token, namespace=namespace)
    assert "hushed" not in str(caught.value)


@given(st.text(), st.sampled_from(["String", "UInt64", "Nullable(String)", "Array(String)"]))
def test_no_text_leaves_the_quotes_it_is_put_into(text: str, type_: str) -> None:
    sent = inlined(f"SELECT {{it:{type_}}} AS it, {{it:{type_}}}", {"it": text})
    kinds = [token.kind for token in read_tokens(sent)]
    once = [Kind.STRING] if type_ == "String" else [token.kind for token in read_tokens("CAST('x', 'y')")]
    assert kinds == [Kind.WORD, *once, Kind.WORD, Kind.WORD, Kind.SIGN, *once] and "$" not in sent
