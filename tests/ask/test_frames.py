"""Answers as Grafana shapes them, read into rows, series, or one sentence."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from buildeye.ask import Point, Series
from buildeye.ask.answer import Answer
from buildeye.ask.grafana import frames as frames_module
from buildeye.ask.grafana.failures import one_line, refusal
from buildeye.ask.grafana.frames import answer_of, has_result, series_of, step_of
from buildeye.model import BuildEyeError, OutsideError, UsageError

PLACE = "Grafana at g.test"
NOON = datetime(2026, 5, 28, 12, tzinfo=UTC)
NOON_MS = 1_779_969_600_000


def frame(fields: list[Any], values: list[list[Any]] | None, **more: Any) -> dict[str, Any]:
    data = {} if values is None else {"values": values}
    for part in ("entities", "nanos"):
        if part in more:
            data[part] = more.pop(part)
    return {"schema": {"refId": "A", "fields": fields, **more}, "data": data}


def result(*frames: Any, **more: Any) -> dict[str, Any]:
    return {"results": {"A": {"status": 200, "frames": list(frames), **more}}}


def field(name: str, kind: str = "string", frame_type: str = "string", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "typeInfo": {"frame": frame_type}, **more}


NAME, FAILURES = field("name"), field("failures", "number", "uint64")
WHEN = field("at", "time", "time.Time")
SIZE = field("size", "number", "float64", typeInfo={"frame": "float64", "nullable": True})


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        pytest.param(
            result(frame([NAME, FAILURES], [["linux / test", "lint"], [7, 18_446_744_073_709_551_615]])),
            Answer(("name", "failures"), ("", "UInt64"), (("linux / test", 7), ("lint", 18_446_744_073_709_551_615))),
            id="rows, and a number that a double would round",
        ),
        pytest.param(
            result(frame([NAME, FAILURES], [["a"], [1]]), frame([NAME, FAILURES], [["b", "c"], [2, 3]])),
            Answer(("name", "failures"), ("", "UInt64"), (("a", 1), ("b", 2), ("c", 3))),
            id="several frames of the same columns",
        ),
        pytest.param(
            result(frame([WHEN], [[NOON_MS, 0, NOON_MS + 7]])),
            Answer(("at",), ("",), ((NOON,), (datetime(1970, 1, 1, tzinfo=UTC),), (NOON + timedelta(milliseconds=7),))),
            id="times in milliseconds",
        ),
        pytest.param(
            result(frame([NAME, WHEN], [["a", "b"], [NOON_MS + 1, None]], nanos=[None, [234_567, 0]])),
            Answer(("name", "at"), ("", ""), (("a", NOON + timedelta(microseconds=1234)), ("b", None))),
            id="what a time has below a millisecond",
        ),
        pytest.param(
            result(frame([field("n", "number", "int64", typeInfo={"frame": "int64", "nullable": True})], [[1, None]])),
            Answer(("n",), ("Nullable(Int64)",), ((1,), (None,))),
            id="nulls, and a type that may be null",
        ),
        pytest.param(
            result(frame([SIZE], [[None, None, None, 1.5, None]], entities=[{"NaN": [0], "Inf": [1], "NegInf": [2]}])),
            Answer(("size",), ("",), ((math.nan,), (math.inf,), (-math.inf,), (1.5,), (None,))),
            id="numbers that JSON has no words for",
        ),
        pytest.param(
            result(frame([NAME, SIZE], [["a"], [None]], entities=[None, {"NaN": [0]}])),
            Answer(("name", "size"), ("", ""), (("a", math.nan),)),
            id="entities of the second column only",
        ),
        pytest.param(
            result(frame([field("labels", "other", "json.RawMessage")], [[["linux", "gpu"], {"a": 1}]])),
            Answer(("labels",), ("",), ((["linux", "gpu"],), ({"a": 1},))),
            id="arrays and maps as JSON",
        ),
        pytest.param(
            result(frame([NAME, FAILURES], [[], []])),
            Answer(("name", "failures"), ("", "UInt64"), ()),
            id="columns without rows",
        ),
        pytest.param(
            result(frame([NAME, FAILURES], [])),
            Answer(("name", "failures"), ("", "UInt64"), ()),
            id="no columns at all",
        ),
        pytest.param(result(frame([NAME], None)), Answer(("name",), ("",), ()), id="no data"),
        pytest.param(result(frame([], [])), Answer((), (), ()), id="an empty frame"),
        pytest.param(result(), Answer((), (), ()), id="no frame"),
        pytest.param({"results": {"A": {"status": 200, "frames": None}}}, Answer((), (), ()), id="null for frames"),
        pytest.param(
            result(frame([NAME], [["a"]]), frame([WHEN], [[0]])),
            Answer(("name",), ("",), (("a",),),
                   (f"{PLACE} answered with 2 tables of different columns; this is the first.",)),
            id="frames of different columns are told of",
        ),
        pytest.param(
            result(frame([NAME], [["a"]], meta={"notices": [{"severity": "warning", "text": "cut\nat 1000000"}]})),
            Answer(("name",), ("",), (("a",),), ("cut at 1000000",)),
            id="Grafana's own notices",
        ),
    ],
)  # fmt: skip
def test_frames_become_rows(given: Any, meant: Answer) -> None:
    # NaN is not itself, so the text is compared
    assert repr(answer_of(given, PLACE)) == repr(meant)


TIME = field("Time", "time", "time.Time", config={"interval": 1_800_000})
HALF = timedelta(minutes=30)


def value(labels: dict[str, str] | None = None, **more: Any) -> dict[str, Any]:
    return field("Value", "number", "float64", **({} if labels is None else {"labels": labels}), **more)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        pytest.param(
            result(
                frame([TIME, value({"name": "npu"})], [[NOON_MS], [4]], meta={"type": "numeric-multi"}),
                frame([TIME, value({"name": "cpu"})], [[NOON_MS], [2]], meta={"type": "numeric-multi"}),
            ),
            (Series({"name": "npu"}, (Point(NOON, 4.0),)), Series({"name": "cpu"}, (Point(NOON, 2.0),))),
            id="one frame a series",
        ),
        pytest.param(
            result(frame([TIME, value({"__name__": "up", "job": "a"})], [[NOON_MS, NOON_MS + 1_800_000], [1, 0]])),
            (Series({"__name__": "up", "job": "a"}, (Point(NOON, 1.0), Point(NOON + HALF, 0.0))),),
            id="a range",
        ),
        pytest.param(
            result(frame([TIME, value({"a": "1"}), value({"a": "2"})], [[NOON_MS], [1], [2]])),
            (Series({"a": "1"}, (Point(NOON, 1.0),)), Series({"a": "2"}, (Point(NOON, 2.0),))),
            id="several series in one frame",
        ),
        pytest.param(
            result(frame([TIME, value()], [[NOON_MS, NOON_MS, NOON_MS], [None, None, 2]],
                         entities=[None, {"Inf": [1]}])),
            (Series({}, (Point(NOON, math.inf), Point(NOON, 2.0))),),
            id="a scalar, a hole, and infinity",
        ),
        pytest.param(result(frame([], [])), (), id="an empty frame"),
        pytest.param(result(), (), id="nothing"),
        pytest.param(
            result(frame([field("xMax", "time", "time.Time"), field("count", "number", "float64")], [[0], [1]],
                         meta={"type": "heatmap-cells"})),
            (),
            id="a native histogram is left out",
        ),
    ],
)  # fmt: skip
def test_frames_become_series(given: Any, meant: tuple[Series, ...]) -> None:
    assert series_of(given, PLACE) == meant


def test_a_range_tells_the_step_that_was_taken() -> None:
    assert step_of(result(frame([TIME, value()], [[], []])), PLACE) == HALF
    assert step_of(result(frame([field("Time", "time"), value()], [[], []])), PLACE) is None


CLICKHOUSE_GO = (
    "error querying the database: code: 47, message: Unknown expression identifier `nam` in scope SELECT nam"
)
HTTP = (
    "sendQuery: [HTTP 400] response body: \"Code: 62. DB::Exception: Syntax error: failed at 'SELEC' (version 26.1.1)\""
)
SLOW = "code: 159, message: Timeout exceeded: elapsed 30.1 seconds, maximum: 30"
MANY = "Code: 396. DB::Exception: Limit for result exceeded, max rows: 1000. (TOO_MANY_ROWS_OR_BYTES) (version 26.1.1)"
FORBIDDEN = "code: 497, message: reader: Not enough privileges"
PASSWORD = "code: 516, message: reader: Authentication failed"
REFUSED = "dial tcp 10.0.0.7:9000: connect: connection refused"


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (CLICKHOUSE_GO, UsageError, "the query was refused by the ClickHouse behind Grafana at g.test: Unknown expr"),
        (HTTP, UsageError, "refused .*: Syntax error: failed at 'SELEC'$"),
        (SLOW, UsageError, "goes over a limit .*: Timeout exceeded: elapsed 30.1 seconds, maximum: 30; ask for less"),
        (MANY, UsageError, "goes over a limit .*max rows: 1000"),
        (FORBIDDEN, OutsideError, "does not let Grafana do that: reader: Not enough privileges"),
        (PASSWORD, OutsideError, "does not let Grafana do that: reader: Authentication failed"),
        (REFUSED, OutsideError, "the ClickHouse behind Grafana at g.test cannot be asked: dial tcp"),
        ("code: 210, message: Connection reset by peer", OutsideError, "cannot be asked: Connection reset by peer"),
        ("plugin unavailable", OutsideError, "cannot be asked: plugin unavailable"),
        (f"no\nway {'ghp_' + 'a' * 20}", OutsideError, r"cannot be asked: no way \*\*\*$"),
    ],
)
@pytest.mark.parametrize("status", [200, 400, 500])
def test_an_error_inside_an_answer_to_sql_is_whose_it_is(
    text: str, kind: type[BuildEyeError], said: str, status: int
) -> None:
    given = {"results": {"A": {"error": text, "errorSource": "downstream", "status": status, "frames": []}}}
    with pytest.raises(kind, match=said) as caught:
        answer_of(given, PLACE)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "status", "kind", "said"),
    [
        ('bad_data: invalid parameter "query": 1:5: parse error: unclosed left parenthesis', 400, UsageError,
         "the Prometheus behind Grafana at g.test does not take the expression: bad_data.*unclosed left parenthesis"),
        ("execution: found duplicate series for the match group", 422, UsageError, "found duplicate series"),
        ("1:4: parse error: unexpected end of input", 500, UsageError, "unexpected end of input"),
        ("422: cannot parse the query: unexpected token", 500, UsageError, "unexpected token"),
        ("timeout: query timed out in expression evaluation", 400, OutsideError, "did not answer in time: timeout"),
        ('Post "http://p:9090/api/v1/query": context deadline exceeded', 504, OutsideError, "did not answer in time"),
        ('Post "http://p:9090/api/v1/query": dial tcp: connect: connection refused', 502, OutsideError,
         "the Prometheus behind Grafana at g.test cannot be asked: .*connection refused"),
        ("", 500, OutsideError, "cannot be asked: status 500"),
    ],
)  # fmt: skip
def test_an_error_inside_an_answer_to_promql_is_whose_it_is(
    text: str, status: int, kind: type[BuildEyeError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        series_of({"results": {"A": {"error": text, "status": status}}}, PLACE)


@pytest.mark.parametrize(
    "given",
    [
        None, [], "", {}, {"results": []}, {"results": {}}, {"results": {"B": {}}}, {"results": {"A": []}},
        result({}), result({"schema": {"fields": [NAME]}, "data": {"values": [["a"], ["b"]]}}),
        result(frame([NAME, FAILURES], [["a"], [1, 2]])), result(frame([WHEN], [["yesterday"]])),
        result(frame([WHEN], [[1e300]])), result(frame([SIZE], [[None]], entities=[{"NaN": [7]}])), result("frame"),
        result(frame(["name"], [["a"]])),
    ],
)  # fmt: skip
def test_what_is_no_answer_of_grafana_is_said_to_be_none(given: Any) -> None:
    for read in (answer_of, series_of):
        with pytest.raises(OutsideError, match="does not answer as Grafana does"):
            read(given, PLACE)


def test_texts_and_too_many_series_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="ask for numbers"):
        series_of(result(frame([TIME, field("Value")], [[NOON_MS], ["text"]])), PLACE)
    monkeypatch.setattr(frames_module, "MOST_SERIES", 1)
    with pytest.raises(UsageError, match="gives 2 series, more than 1; group them"):
        series_of(result(frame([TIME, value({"a": "1"}), value({"a": "2"})], [[0], [1], [2]])), PLACE)


def test_an_answer_of_any_status_may_hold_a_result() -> None:
    assert has_result(result()) and has_result({"results": {"A": {"error": "x"}}})
    assert not has_result({"message": "not found"}) and not has_result(None)


@pytest.mark.parametrize(
    ("status", "data", "kind", "said"),
    [
        (401, {"message": "Expired API key"}, OutsideError, "answered 401: Expired API key; run build-eye login"),
        (401, None, OutsideError, "answered 401: the token is missing, wrong or expired; run build-eye login"),
        (403, {"message": "Access denied"}, OutsideError, "answered 403: Access denied; the token may not read this"),
        (404, {"message": "Data source not found"}, UsageError, "has no such data source; see build-eye datasources"),
        (404, None, OutsideError, "answered 404; is the server right"),
        (429, None, OutsideError, "too many queries"),
        (302, None, OutsideError, "a redirect; name the server itself: build-eye login --server"),
        (500, {"kind": "Status", "message": "boom"}, OutsideError, "answered 500: boom"),
        (500, None, OutsideError, "answered 500: no reason given"),
        (200, "<html>", OutsideError, "does not answer as Grafana does"),
    ],
)
def test_every_refusal_is_one_line_that_says_what_to_do(
    status: int, data: Any, kind: type[BuildEyeError], said: str
) -> None:
    error = refusal(status, data, PLACE)
    assert isinstance(error, kind) and said in str(error) and "\n" not in str(error)


def test_words_of_a_server_are_shown_short_and_harmless() -> None:
    assert one_line("a\x1b[31m\n b " + "x" * 900) == "a [31m b " + "x" * 291
