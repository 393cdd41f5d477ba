"""The Grafana look-alike has Grafana's shapes, its macros and its faults."""

import math
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from buildeye.ask.grafana.metrics import AT_ONCE
from buildeye.simulator.grafana import PROMETHEUS_UID, SQL_UID, Faults, State, grafana_app
from buildeye.simulator.grafana_frames import metric_frame, table_frame
from buildeye.simulator.grafana_macros import MacroError, Span, expanded
from buildeye.simulator.grafana_sources import step_of

TOKEN = "glsa_simulated"
SPAN = Span(1_779_948_000_000, 1_779_969_600_000, 216_000)
OLDER, NEWER = "/api/ds/query", "/apis/query.grafana.app/v0alpha1/namespaces/default/query"


@pytest.mark.parametrize(
    ("sql", "sent"),
    [
        ("WHERE $__timeFilter(at)", "WHERE at >= toDateTime(1779948000) AND at <= toDateTime(1779969600)"),
        ("$__timeFilter_ms(f(a))",
         "f(a) >= fromUnixTimestamp64Milli(1779948000000) AND f(a) <= fromUnixTimestamp64Milli(1779969600000)"),
        ("$__fromTime $__toTime", "toDateTime(1779948000) toDateTime(1779969600)"),
        ("$__dateFilter(d)", "d >= toDate('2026-05-28') AND d <= toDate('2026-05-28')"),
        ("$__dt(d, t)", "(d >= toDate('2026-05-28') AND d <= toDate('2026-05-28')) AND "
                        "(t >= toDateTime(1779948000) AND t <= toDateTime(1779969600))"),
        ("$__timeInterval(t) $__interval_s", "toStartOfInterval(toDateTime(t), INTERVAL 216 second) 216"),
        ("$__timeInterval_ms(t)", "toStartOfInterval(toDateTime64(t, 3), INTERVAL 216000 millisecond)"),
        ("SELECT 1", "SELECT 1"),
        ("SELECT '$__fromTime'", "SELECT 'toDateTime(1779948000)'"),
    ],
)  # fmt: skip
def test_macros_are_written_out_also_within_quotes(sql: str, sent: str) -> None:
    assert expanded(sql, SPAN) == sent


@pytest.mark.parametrize("sql", ["$__nothing(a)", "$__timeFilter()", "$__timeFilter(a, b)", "$__timeFilter(a"])
def test_a_macro_that_is_none_is_an_error(sql: str) -> None:
    with pytest.raises(MacroError):
        expanded(sql, SPAN)


def test_rows_become_columns_with_grafanas_types() -> None:
    meta = [
        {"name": "n", "type": "UInt64"}, {"name": "s", "type": "LowCardinality(Nullable(String))"},
        {"name": "f", "type": "Float64"}, {"name": "t", "type": "DateTime64(6, 'Asia/Shanghai')"},
        {"name": "d", "type": "Nullable(Date)"}, {"name": "a", "type": "Array(String)"}, {"name": "b", "type": "Bool"},
    ]  # fmt: skip
    frame = table_frame(meta, [["7", None, None, "2026-05-28 20:00:00.000001", None, ["x"], True],
                               [8, "s", 1.5, "2026-05-28 20:00:00.000000", "2026-05-28", [], False]])  # fmt: skip
    fields = {field["name"]: (field["type"], field["typeInfo"]) for field in frame["schema"]["fields"]}
    assert fields == {
        "n": ("number", {"frame": "uint64"}), "s": ("string", {"frame": "string", "nullable": True}),
        "f": ("number", {"frame": "float64"}), "t": ("time", {"frame": "time.Time"}),
        "d": ("time", {"frame": "time.Time", "nullable": True}), "a": ("other", {"frame": "json.RawMessage"}),
        "b": ("boolean", {"frame": "bool"}),
    }  # fmt: skip
    noon, day = 1_779_969_600_000, 1_779_926_400_000
    assert frame["data"] == {
        "values": [[7, 8], [None, "s"], [None, 1.5], [noon, noon], [None, day], [["x"], []], [True, False]],
        "entities": [None, None, {"NaN": [0]}, None, None, None, None],
        "nanos": [None, None, None, [1000, 0], None, None, None],
    }


def test_a_series_is_a_frame_with_its_labels_on_the_value() -> None:
    frame = metric_frame({"name": "npu"}, [[1.5, "2"], [2, "+Inf"], [3, "NaN"]], "matrix", 500)
    time, value = frame["schema"]["fields"]
    assert time["config"] == {"interval": 500} and value["labels"] == {"name": "npu"}
    assert frame["data"] == {
        "values": [[1500, 2000, 3000], [2.0, None, None]],
        "entities": [None, {"Inf": [1], "NaN": [2]}],
    }
    assert math.isfinite(frame["data"]["values"][1][0])


@pytest.mark.parametrize(
    ("length", "least", "points", "step"),
    [
        (6 * 3_600_000, 1_800_000, None, 1_800_000),
        (6 * 3_600_000, 60_000, None, 300_000),
        (6 * 3_600_000, 60_000, 11_000, 60_000),
        (86_400_000, 1_000, 11_000, 10_000),
    ],
)
def test_a_step_grows_when_there_were_more_points_than_wanted(
    length: int, least: int, points: int | None, step: int
) -> None:
    assert step_of(length, least, points) == step


def test_no_step_of_a_part_that_we_ask_for_grows() -> None:
    steps = [*range(1, 5_000), *(second * 1000 for second in range(1, 100_000, 7))]
    assert [step for step in steps if step_of((AT_ONCE - 1) * step, step, 11_000) != step] == []


@pytest.fixture
def app() -> Any:
    return grafana_app(state=State(tokens={TOKEN}, writers={"gho_w"}, readers={"gho_r"}), faults=Faults())


def body(uid: str = SQL_UID) -> dict[str, Any]:
    query = {"refId": "A", "datasource": {"uid": uid}, "rawSql": "SELECT 1", "expr": "up", "instant": True}
    return {"queries": [query], "from": "0", "to": "1000"}


def signed(app: Any, token: str = TOKEN) -> TestClient:
    return TestClient(app, headers={"authorization": f"Bearer {token}"})


def test_health_is_for_everybody_and_the_rest_for_who_has_a_token(app: Any) -> None:
    anybody = TestClient(app)
    assert anybody.get("/api/health").json()["database"] == "ok"
    assert anybody.get("/api/datasources").status_code == anybody.post(OLDER, json=body()).status_code == 401
    assert signed(app, "wrong").get("/api/datasources").json()["message"] == "Invalid API key"
    listed = signed(app).get("/api/datasources").json()
    assert {(each["uid"], each["type"]) for each in listed} >= {
        (SQL_UID, "grafana-clickhouse-datasource"), (PROMETHEUS_UID, "prometheus"),
    }  # fmt: skip


def test_faults_are_switched_while_it_runs(app: Any) -> None:
    client, faults = signed(app), app.state.faults
    faults.newer_path_absent = True
    assert client.post(NEWER, json=body()).status_code == 404
    faults.error, faults.status = "code: 62, message: Syntax error", 400
    answer = client.post(OLDER, json=body())
    assert answer.status_code == 200
    assert answer.json()["results"]["A"] == {
        "error": "code: 62, message: Syntax error", "errorSource": "downstream", "status": 400, "frames": [],
    }  # fmt: skip
    faults.error, faults.empty_frame = "", True
    assert client.post(OLDER, json=body()).json()["results"]["A"]["frames"][0]["data"] == {"values": []}
    faults.expired = True
    assert client.get("/api/datasources").json()["message"] == "Expired API key"
    faults.away = True
    assert client.get("/api/health").status_code == 503


def test_a_query_that_fails_has_the_status_of_its_path(app: Any) -> None:
    client = signed(app)
    assert client.post(OLDER, json=body(PROMETHEUS_UID)).status_code == 400
    answer = client.post(NEWER, json=body(PROMETHEUS_UID))
    assert answer.status_code == 200 and answer.json()["results"]["A"]["status"] == 502
    assert client.post(NEWER, json=body("other")).status_code == 404


def test_the_hud_gives_tokens_to_who_may_write(app: Any) -> None:
    assert TestClient(app).get("/api/gcx-token").status_code == 401
    assert signed(app, "gho_r").get("/api/gcx-token").status_code == 403
    given = signed(app, "gho_w").get("/api/gcx-token?token_name=laptop")
    assert given.headers["content-type"].startswith("text/plain")
    assert signed(app, given.text).get("/api/datasources").is_success
    assert app.state.grafana.names == ["laptop"]
    app.state.grafana.bot = "bot"
    assert signed(app, "gho_w").get("/api/gcx-token").status_code == 403
    passed = signed(app, "gho_w").get("/api/gcx-token", headers={"x-hud-internal-bot": "bot"})
    assert passed.is_success and isinstance(passed, httpx2.Response)
