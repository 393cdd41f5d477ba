"""The guide's commands, the program's name aside, through a Grafana; and what a person reads when it goes wrong."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.cli.program import Answer, build_eye

from .grafana_place import TOKEN, Place
from .test_grafana import A_FILE, FAILING, QUEUED, RUNNING


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody in an empty folder, without contexts and without a keyring."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("GCX_SERVER", "GCX_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("buildeye.ask.contexts._keyring", lambda: None)


@pytest.fixture(params=[False, True], ids=["newer path", "older path"])
def ci(request: pytest.FixtureRequest, grafana: Place) -> Place:
    """The Grafana, logged in to."""
    grafana.faults.newer_path_absent = request.param
    done = build_eye("login", "--context", "ci", "--server", grafana.url, "--with-token", stdin=TOKEN.encode())
    assert done.code == 0, done.err
    return grafana


def asked(*arguments: str) -> Any:
    answer = build_eye("datasources", *arguments, "-o", "json")
    assert (answer.code, answer.err) == (0, "")
    return json.loads(answer.out)


@pytest.mark.usefixtures("ci")
def test_the_guides_two_sql_commands_answer() -> None:
    assert asked("clickhouse", "query", FAILING) == [
        {"name": "linux / test", "failures": 7}, {"name": "lint", "failures": 3},
    ]  # fmt: skip
    rows = asked("clickhouse", "query", A_FILE)
    assert [(row["name"], row["runs"], row["successful"], row["fails"], row["skipped"]) for row in rows] == [
        ("test_add", 6, 4, 1, 1), ("test_mul", 3, 2, 0, 1),
    ]  # fmt: skip


@pytest.mark.usefixtures("ci")
def test_the_guides_two_promql_commands_answer() -> None:
    queued = asked("prometheus", "query", "-d", "grafanacloud-prom", QUEUED)["result"]
    assert {each["metric"]["name"]: each["value"][1] for each in queued} == {"linux-npu": "10", "linux-cpu": "0"}
    running = asked("prometheus", "query", "-d", "grafanacloud-prom", RUNNING, "--since", "6h", "--step", "30m")[
        "result"
    ]
    assert {each["metric"]["cluster"] for each in running} == {"a", "b"}
    assert {len(each["values"]) for each in running} <= {12, 13}


@pytest.mark.usefixtures("ci")
def test_sources_tables_and_columns_are_listed() -> None:
    assert [each["uid"] for each in asked("list")] == ["grafana-clickhouse", "grafanacloud-logs", "grafanacloud-prom"]
    assert {"default", "tests"} <= {each["database"] for each in asked("clickhouse", "list-tables")}
    assert {"name", "type"} <= asked("clickhouse", "describe-table", "tests.all_test_runs")[0].keys()


@pytest.mark.usefixtures("ci")
def test_macros_and_parameters_work_as_on_this_machine() -> None:
    sql = "SELECT count() AS n FROM default.workflow_job WHERE $__timeFilter(completed_at) AND name = {name:String}"
    sql += " AND repository_full_name = 'pytorch/pytorch'"
    assert asked("clickhouse", "query", sql, "--since", "2d", "--param", "name=lint")[0]["n"] >= 3


def failed(answer: Answer, code: int, said: str) -> None:
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith("build-eye: ") and answer.err.count("\n") == 1, answer.err
    assert said in answer.err and TOKEN not in answer.err


PROM = ("datasources", "prometheus", "query", "-d", "grafanacloud-prom")
SQL = ("datasources", "clickhouse", "query")


def test_an_expired_token_is_one_line(ci: Place) -> None:
    ci.faults.expired = True
    for command in ((*SQL, "SELECT 1"), (*PROM, "up"), ("datasources", "list")):
        failed(build_eye(*command), 3, "answered 401: Expired API key; run build-eye login")


def test_a_wrong_token_is_one_line(ci: Place) -> None:
    ci.state.tokens.clear()
    failed(build_eye(*SQL, "SELECT 1"), 3, "answered 401: Invalid API key; run build-eye login")


def test_no_token_is_one_line(grafana: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GCX_SERVER", grafana.url)
    failed(build_eye(*SQL, "SELECT 1"), 2, "run build-eye login --context pytorchci")


def test_a_token_is_not_sent_to_a_server_that_the_environment_names(ci: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GCX_SERVER", ci.url.replace("127.0.0.1", "localhost"))
    before = len(ci.state.asked)
    failed(build_eye(*SQL, "SELECT 1"), 2, "there is no token for http://localhost:")
    assert len(ci.state.asked) == before


def test_a_server_that_is_down_is_one_line(ci: Place) -> None:
    ci.faults.away = True
    failed(build_eye(*SQL, "SELECT 1"), 3, "answered 503")


def test_an_unknown_metric_is_one_line(ci: Place) -> None:
    failed(build_eye(*PROM, "sum(gha_asigned_jobs)"), 1, "no such metric here: gha_asigned_jobs")


@pytest.mark.parametrize("fault", ["no_frames", "empty_frame"])
def test_an_empty_frame_is_no_error(ci: Place, fault: str) -> None:
    setattr(ci.faults, fault, True)
    answer = build_eye(*PROM, "gha_running_jobs")
    assert answer.code == 0 and answer.err.startswith("no series at that moment") and "Traceback" not in answer.err


def test_a_query_over_its_limits_is_one_line(ci: Place) -> None:
    ci.faults.error = "code: 159, message: Timeout exceeded: elapsed 30 seconds"
    failed(build_eye(*SQL, "SELECT 1"), 2, "goes over a limit of the ClickHouse behind Grafana")


def test_what_the_guard_refuses_does_not_reach_grafana(ci: Place) -> None:
    failed(build_eye(*SQL, "SELECT count() FROM tests.all_test_runs WHERE file = 'a'"), 2, "no-time-bound")
    assert len(ci.state.bodies) == 1 and "system.tables" in ci.state.bodies[0]["queries"][0]["rawSql"]
    failed(build_eye(*SQL, "DROP TABLE default.push", "--no-guard"), 2, "--no-guard is for what is yours")


def test_a_link_opens_the_query_as_it_was_asked(ci: Place) -> None:
    sql = "SELECT count() FROM default.workflow_job WHERE $__timeFilter(completed_at) AND repository_full_name = 'a/b'"
    answer = build_eye(*SQL, sql, "--from", "2026-05-28T06:00:00Z", "--to", "2026-05-28T12:00:00Z", "--share-link")
    assert answer.code == 0, answer.err
    pane = shared(answer, ci)
    assert pane["queries"][0]["rawSql"] == sql
    assert (pane["datasource"], pane["range"]) == (
        "grafana-clickhouse",
        {"from": "1779948000000", "to": "1779969600000"},
    )
    answer = build_eye(*PROM, RUNNING, "--since", "6h", "--step", "30m", "--share-link")
    pane = shared(answer, ci)
    assert pane["queries"][0]["expr"] == RUNNING and pane["queries"][0]["interval"] == "30m"


def test_a_link_holds_the_values_of_parameters(ci: Place) -> None:
    answer = build_eye(
        *SQL, "SELECT {n:UInt8} AS n, {s:String} AS s", "--param", "n=7", "--param", "s=it's", "--share-link"
    )
    assert shared(answer, ci)["queries"][0]["rawSql"] == "SELECT CAST('7', 'UInt8')  AS n, 'it\\'s'  AS s"


def shared(answer: Answer, ci: Place) -> Any:
    assert answer.code == 0 and answer.err.startswith(f"{ci.url}/explore?"), answer.err
    assert TOKEN not in answer.err
    panes = json.loads(parse_qs(urlsplit(answer.err.strip()).query)["panes"][0])
    (pane,) = panes.values()
    return pane


def test_without_a_grafana_the_page_is_that_of_prometheus_or_none(
    recent_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUILD_EYE_PROMETHEUS__URL", recent_address)
    answer = build_eye(*PROM[:-2], "up", "--share-link")
    assert answer.err.startswith(f"{recent_address}/graph?g0.expr=up&g0.tab=1")
