"""`build-eye datasources`: the guide's four example queries, every form of an answer, and what is told instead."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from buildeye.model import Case, CaseRun, Origin, Outcome
from buildeye.simulator import Past, build_busy_day, build_past
from buildeye.warehouse import open_warehouse
from tests.ask.server import every, running
from tests.ask.test_prometheus import READER, USERS
from tests.cli.program import Answer, build_eye

NOW = datetime.now(UTC).replace(second=0, microsecond=0)
FILE = "lazy/test_ts_opinfo.py"
FAILING_JOBS = """
  SELECT name, count(DISTINCT id) AS failures
  FROM default.workflow_job
  WHERE conclusion = 'failure'
    AND completed_at >= now() - INTERVAL 2 WEEK
    AND repository_full_name = 'pytorch/pytorch'
    AND head_branch = 'main'
  GROUP BY name ORDER BY failures DESC LIMIT 10"""
TEST_FILE = """
  SELECT
    file,
    classname,
    name,
    count() AS runs,
    countIf(failure_count = 0 AND error_count = 0 AND skipped_count = 0) AS successful,
    countIf(failure_count > 0 OR error_count > 0) AS fails,
    countIf(skipped_count > 0) AS skipped
  FROM tests.all_test_runs
  WHERE time_inserted >= now() - INTERVAL 7 DAY
    AND file = 'lazy/test_ts_opinfo.py'
  GROUP BY file, classname, name
  ORDER BY runs DESC"""
DEEPEST_QUEUE = "topk(10, clamp_min(sum by (name) (gha_assigned_jobs) - sum by (name) (gha_running_jobs), 0))"
RUNNING = "sum by (cluster) (gha_running_jobs)"
"""The four example queries of PyTorch's CI metrics guide, as it writes them."""

OUTCOMES = ("passed", "failed", "passed", "error", "skipped", "passed")


def a_case_run(number: int, days: float, file: str = FILE) -> CaseRun:
    """One of two tests, with the outcome that its number says, some days ago."""
    what = OUTCOMES[number % len(OUTCOMES)]
    one = (Outcome("m", "t", "E"),)
    case = Case(
        number, f"test_{number % 2}", "TestLazyOpInfo", file,
        failures=one if what == "failed" else (), errors=one if what == "error" else (),
        skips=one if what == "skipped" else (),
    )  # fmt: skip
    return CaseRun(Origin("pytorch/pytorch", 100 + number, "junit.xml", NOW - timedelta(days=days), 1, number), case)


CASE_RUNS = [a_case_run(number, 0.1 + 0.25 * number) for number in range(40)]
OTHERS = [a_case_run(number, 1, "test_ops.py") for number in range(5)]


@pytest.fixture(scope="module")
def past() -> Past:
    """Three weeks, without what ended so near to two weeks ago that the test itself could take it over the edge."""
    told = build_past(7, NOW, "pytorch", "pytorch")
    edge = NOW - timedelta(weeks=2)
    near = {job.id for job in told.jobs if job.completed_at and edge <= job.completed_at < edge + timedelta(minutes=10)}
    return replace(told, jobs=tuple(job for job in told.jobs if job.id not in near))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, past: Past) -> Path:
    """Three weeks of the simulator under PyTorch's name, a day of another repository, and test runs of ten days."""
    place = tmp_path_factory.mktemp("asking") / "warehouse"
    other = build_busy_day(3, NOW, 3)
    failed = [replace(job, conclusion="failure", head_branch="main") for job in other.jobs]
    with open_warehouse(f"chdb://{place}") as warehouse:
        warehouse.write_runs(past.attempts)
        warehouse.write_jobs([*past.jobs, *failed])
        warehouse.write_test_runs([*CASE_RUNS, *OTHERS])
    return place


@pytest.fixture
def here(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILD_EYE_STORAGE__WAREHOUSE_DSN", f"chdb://{filled}")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Prometheus with three pools in two clusters, from seven hours ago until long after the last test."""
    moments = list(every(1, NOW - timedelta(hours=7), 10))
    pools = [("linux.4xlarge", "lf", 14, 4), ("linux-npu", "osdc", 5, 3), ("windows", "lf", 1, 2)]
    samples = {}
    for name, cluster, assigned, busy in pools:
        labels = f'{{name="{name}",cluster="{cluster}"}}'
        samples[f"gha_assigned_jobs{labels}"] = [(at, float(assigned)) for at in moments]
        samples[f"gha_running_jobs{labels}"] = [(at, float(busy)) for at in moments]
    with running(tmp_path_factory.mktemp("prometheus"), samples) as url:
        yield url


@pytest.fixture
def watched(measured: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILD_EYE_PROMETHEUS__URL", measured)


def sql(text: str, *options: str, code: int = 0, stdin: bytes = b"") -> Answer:
    answer = build_eye("datasources", "clickhouse", "query", text, *options, stdin=stdin)
    assert answer.code == code, answer.err
    return answer


def promql(expression: str, *options: str, code: int = 0) -> Answer:
    answer = build_eye("datasources", "prometheus", "query", expression, *options)
    assert answer.code == code, answer.err
    return answer


@pytest.mark.usefixtures("here")
def test_the_guides_query_for_failing_jobs_counts_what_the_simulator_tells(past: Past) -> None:
    counted = Counter(
        name
        for name, _ in {
            (job.name, job.id)
            for job in past.jobs
            if job.conclusion == "failure"
            and job.head_branch == "main"
            and job.completed_at
            and job.completed_at >= NOW - timedelta(weeks=2)
        }
    )
    answer = sql(FAILING_JOBS, "-o", "json")
    rows = json.loads(answer.out)
    assert answer.err == "" and len(rows) == min(10, len(counted)) > 2
    assert [row["failures"] for row in rows] == sorted(counted.values(), reverse=True)[:10]
    assert all(counted[row["name"]] == row["failures"] for row in rows)


@pytest.mark.usefixtures("here")
def test_the_guides_query_for_a_test_file_counts_runs_of_the_last_week() -> None:
    expected = {
        name: Counter(
            _outcome(each)
            for each in CASE_RUNS
            if each.case.name == name and each.origin.reported_at >= NOW - timedelta(days=7)
        )
        for name in ("test_0", "test_1")
    }
    rows = {row["name"]: row for row in json.loads(sql(TEST_FILE, "-o", "json").out)}
    assert set(rows) == set(expected)
    for name, counts in expected.items():
        row = rows[name]
        told = (row["file"], row["classname"], row["runs"], row["successful"], row["fails"], row["skipped"])
        assert told == (FILE, "TestLazyOpInfo", counts.total(), counts["passed"], counts["failed"], counts["skipped"])


def _outcome(run: CaseRun) -> str:
    if run.case.failures or run.case.errors:
        return "failed"
    return "skipped" if run.case.skips else "passed"


@pytest.mark.usefixtures("watched")
def test_the_guides_query_for_the_deepest_queue_runs_under_the_guides_name_of_the_source() -> None:
    answer = promql(DEEPEST_QUEUE, "-d", "grafanacloud-prom")
    assert answer.out.splitlines() == [
        " name           value", " linux.4xlarge     10", " linux-npu          2", " windows            0",
    ]  # fmt: skip
    assert "no data source grafanacloud-prom here; asked prometheus, the only one of its kind" in answer.err


@pytest.mark.usefixtures("watched")
def test_the_guides_query_over_six_hours_has_a_row_each_half_hour() -> None:
    lines = promql(RUNNING, "-d", "grafanacloud-prom", "--since", "6h", "--step", "30m").out.splitlines()
    assert lines[0].split() == ["time", "lf", "osdc"]
    assert [line.split()[2:] for line in lines[1:]] == [["6", "3"]] * 13


@pytest.mark.usefixtures("watched")
def test_json_of_an_expression_is_what_prometheus_itself_answers() -> None:
    told = json.loads(promql(RUNNING, "-o", "json", "--time", str(int(NOW.timestamp()))).out)
    assert told == {
        "resultType": "vector",
        "result": [
            {"metric": {"cluster": "lf"}, "value": [int(NOW.timestamp()), "6"]},
            {"metric": {"cluster": "osdc"}, "value": [int(NOW.timestamp()), "3"]},
        ],
    }
    window = ("--from", (NOW - timedelta(hours=1)).isoformat(), "--to", NOW.isoformat(), "--step", "1h")
    over = json.loads(promql(RUNNING, "-o", "json", *window).out)
    assert over["resultType"] == "matrix"
    assert over["result"][0]["values"] == [[int(NOW.timestamp()) - 3600, "6"], [int(NOW.timestamp()), "6"]]
    assert yaml.safe_load(promql(RUNNING, "-o", "yaml", *window).out) == over


@pytest.mark.usefixtures("watched")
def test_csv_of_an_expression_has_a_line_a_series_and_moment() -> None:
    rows = list(csv.DictReader(io.StringIO(promql(RUNNING, "-o", "csv", "--since", "1h", "--step", "30m").out)))
    assert [(row["cluster"], row["value"]) for row in rows] == [("lf", "6")] * 3 + [("osdc", "3")] * 3
    assert datetime.fromisoformat(rows[0]["time"]).tzinfo is not None


@pytest.mark.usefixtures("watched")
def test_a_metric_nobody_has_is_told_from_one_without_series() -> None:
    unknown = promql("sum(gha_asigned_jobs)", code=1)
    assert unknown.out == "" and "no such metric here: gha_asigned_jobs (Prometheus at 127.0.0.1:" in unknown.err
    half = promql("gha_assigned_jobs - on (name) gha_waiting_jobs", "-o", "json", code=1)
    assert json.loads(half.out)["result"] == [] and "no such metric here: gha_waiting_jobs" in half.err
    empty = promql('gha_assigned_jobs{name="mac"}')
    assert empty.err == 'no series at that moment: gha_assigned_jobs{name="mac"}\n'
    assert "no series in that time" in promql("gha_assigned_jobs > 99", "--since", "1h").err


@pytest.mark.usefixtures("watched")
def test_a_range_is_drawn_with_a_name_a_line() -> None:
    out = promql(RUNNING, "--since", "6h", "-o", "graph").out
    assert "● lf  last 6, most 6" in out and "▲ osdc  last 3, most 3" in out
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.usefixtures("watched")
def test_a_limit_of_series_says_what_it_left_out() -> None:
    answer = promql("gha_running_jobs", "--limit", "1", "-o", "json")
    assert len(json.loads(answer.out)["result"]) == 1
    assert answer.err == "2 more series are not shown; --limit 0 shows all\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("up", "--time", "now", "--since", "1h"), "give one of them"),
        (("up", "--step", "1m"), "--step goes with a span of time"),
        (("up", "--since", "1h", "--from", "now-2h"), "--since and --from both say"),
        (("up", "--since", "soon"), '--since is "soon"; write a duration such as'),
        (("up", "--from", "now", "--to", "now-1h"), "before it begins"),
        (("up{", "--time", "now"), "does not take the expression"),
    ],
)
@pytest.mark.usefixtures("watched")
def test_times_that_make_no_sense_are_refused(options: tuple[str, ...], said: str) -> None:
    assert said in promql(*options, code=2).err


def test_a_prometheus_that_is_down_is_an_outside_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "there is no Prometheus here: set prometheus.url" in promql("up", code=2).err
    monkeypatch.setenv("BUILD_EYE_PROMETHEUS__URL", "http://127.0.0.1:9")
    assert "cannot be reached" in promql("up", code=3).err


@pytest.mark.usefixtures("here", "watched")
def test_the_sources_are_listed(filled: Path, measured: str) -> None:
    answer = build_eye("datasources", "list", "-o", "json")
    assert json.loads(answer.out) == [
        {"uid": "warehouse", "name": "Warehouse", "kind": "clickhouse", "place": str(filled)},
        {"uid": "prometheus", "name": "Prometheus", "kind": "prometheus", "place": measured},
    ]


@pytest.mark.usefixtures("here")
def test_tables_and_columns_are_listed() -> None:
    tables = {
        (row["database"], row["table"]): row
        for row in json.loads(build_eye("datasources", "clickhouse", "list-tables", "-o", "json").out)
    }
    assert tables["tests", "all_test_runs"]["rows"] == len(CASE_RUNS) + len(OTHERS)
    assert not [database for database, _ in tables if database not in ("default", "tests", "buildeye")]
    for named in (("default.workflow_job",), ("workflow_job",), ("workflow_job", "--database", "default")):
        answer = build_eye("datasources", "clickhouse", "describe-table", *named, "-o", "json")
        columns = {row["name"]: row for row in json.loads(answer.out)}
        assert columns["conclusion"]["comment"] == "empty until completed"
    assert "did you mean" in build_eye("datasources", "clickhouse", "describe-table", "workflow_jobs").err


ROWS = "SELECT number AS n, toString(number * number) AS square FROM numbers(4)"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("form", "out"),
    [
        ("table", " n  square\n 0       0\n 1       1\n 2       4\n 3       9\n"),
        ("csv", "n,square\n0,0\n1,1\n2,4\n3,9\n"),
        ("yaml", "- n: 0\n  square: '0'\n- n: 1\n  square: '1'\n- n: 2\n  square: '4'\n- n: 3\n  square: '9'\n"),
    ],
)
def test_an_answer_has_every_form(form: str, out: str) -> None:
    assert sql(ROWS, "-o", form).out == out


@pytest.mark.usefixtures("here")
def test_values_of_every_type_are_json() -> None:
    text = """SELECT toDateTime64('2026-11-01 06:30:00.5', 3, 'UTC') AS t, toDate('2026-11-01') AS d, 1.5 AS f,
        nan AS x, toDecimal64(1.25, 2) AS m, NULL AS z, [1, 2] AS a, map('k', 1) AS o, (1, 'b') AS p, true AS b,
        toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0') AS u, toIPv4('10.0.0.1') AS i, 18446744073709551615 AS w"""
    assert json.loads(sql(text, "-o", "json").out) == [
        {
            "t": "2026-11-01T06:30:00.500000+00:00", "d": "2026-11-01", "f": 1.5, "x": None, "m": "1.25", "z": None,
            "a": [1, 2], "o": {"k": 1}, "p": [1, "b"], "b": True, "u": "61f0c404-5cb3-11e7-907b-a6006ad3dba0",
            "i": "10.0.0.1", "w": 2**64 - 1,
        }
    ]  # fmt: skip
    for form in ("table", "wide", "csv", "yaml"):
        assert "61f0c404" in sql(text, "-o", form).out


@pytest.mark.usefixtures("here")
def test_columns_of_one_name_are_told_apart_and_nothing_steers_the_terminal() -> None:
    assert json.loads(sql("SELECT 1, 1, 2 AS a", "-o", "json").out) == [{"1": 1, "1_2": 1, "a": 2}]
    assert sql("SELECT 'a\\nb' AS a, 1 AS b").out == " a    b\n a b  1\n"
    assert sql("SHOW CREATE TABLE default.push").out.startswith(" statement\n CREATE TABLE default.push\n (\n     `rep")
    assert "\x1b" not in sql("SELECT '\\x1b[31mred' AS a, 1 AS b").out


@pytest.mark.usefixtures("here")
def test_rows_of_more_columns_than_fit_stand_one_below_the_other() -> None:
    lines = sql("SELECT * FROM default.workflow_job WHERE repository_full_name = 'pytorch/pytorch' LIMIT 2").out
    assert "\n\n id  " in lines and " repository_full_name         pytorch/pytorch" in lines


@pytest.mark.usefixtures("here")
def test_a_limit_says_how_many_rows_it_left_out() -> None:
    answer = sql(ROWS, "--limit", "3", "-o", "csv")
    assert (answer.out, answer.err) == ("n,square\n0,0\n1,1\n2,4\n", "1 more row is not shown; --limit 0 shows all\n")
    long = sql("SELECT number FROM numbers(1500)")
    assert len(long.out.splitlines()) == 1001 and long.err.startswith("500 more rows are not shown")
    assert len(json.loads(sql("SELECT number FROM numbers(1500)", "-o", "json").out)) == 1500
    assert sql("SELECT number FROM numbers(1500)", "--limit", "0").err == ""


@pytest.mark.usefixtures("here")
def test_an_answer_without_rows_has_its_head() -> None:
    answer = sql("SELECT number AS n FROM numbers(3) WHERE number > 5")
    assert (answer.out, answer.err) == (" n\n", "no rows\n")
    assert sql("SELECT 1 AS n WHERE 0", "-o", "csv").out == "n\n"
    assert sql("SELECT 1 AS n WHERE 0", "-o", "json").out == "[]\n"


@pytest.mark.usefixtures("here")
def test_warnings_of_the_guard_go_to_standard_error() -> None:
    answer = sql("SELECT count() FROM default.workflow_job", "-o", "json")
    assert json.loads(answer.out)[0]["count()"] > 4000
    assert "covers several repositories: add repository_full_name" in answer.err
    assert "FORMAT CSV is left out" in sql("SELECT 1 FORMAT CSV").err


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("SELECT 1; SELECT 2", (), "query refused (several-statements)"),
        ("INSERT INTO default.push VALUES (1)", (), "query refused (not-a-read)"),
        ("SELECT * FROM tests.all_test_runs", (), "add time_inserted >= now() - INTERVAL 7 DAY"),
        ("SELECT * FROM file('/etc/passwd')", (), "query refused"),
        ("SELECT nope", (), "the query was refused: Unknown expression identifier `nope`"),
        ("SELECT {n:UInt8}", ("--param", "n=x"), "it is UInt8: give a whole number"),
        ("SELECT {n:UInt8}", (), "also takes n (UInt8)"),
        ("SELECT 1", ("--param", "n=1"), "has no parameter n; it takes none"),
        ("SELECT $__nope(a)", (), "unknown macro $__nope"),
        ("@missing.sql", (), "missing.sql cannot be read"),
        ("SELECT number FROM numbers(200000)", (), "more than 100,000 rows (max_result_rows)"),
    ],
)
def test_what_cannot_be_asked_is_one_line(text: str, options: tuple[str, ...], said: str) -> None:
    answer = sql(text, *options, code=2)
    assert said in answer.err and answer.out == "" and len(answer.err.splitlines()) == 1


@pytest.mark.usefixtures("here")
def test_a_limit_of_the_settings_is_named_with_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILD_EYE_ASK__MAX_SECONDS", "1")
    answer = sql("SELECT sum(sqrt(number)) FROM numbers(100000000000)", code=2)
    assert "took longer than 1 second (max_execution_time)" in answer.err and "raise ask.max_seconds" in answer.err


@pytest.mark.usefixtures("here")
def test_parameters_and_macros_are_filled_in(past: Past) -> None:
    count = "SELECT count() AS n FROM default.workflow_job_latest WHERE repository_full_name = {repo:String} AND "
    bound = "completed_at >= {since:DateTime64(3)}"
    week = sum(1 for job in past.jobs if job.completed_at and job.completed_at >= NOW - timedelta(days=7))
    asked = sql(
        count + bound, "--param", "repo=pytorch/pytorch", "--param", f"since={NOW - timedelta(days=7)}", "-o", "json"
    )
    assert json.loads(asked.out) == [{"n": week}]
    window = ("--from", (NOW - timedelta(days=7)).isoformat(), "--to", NOW.isoformat())
    filtered = sql(count + "$__timeFilter(completed_at)", "--param", "repo=pytorch/pytorch", *window, "-o", "json")
    assert json.loads(filtered.out) == [{"n": week}]
    spare = sql("SELECT 1", "--since", "1h")
    assert "the query has no $__timeFilter(column)" in spare.err


@pytest.mark.usefixtures("here")
def test_a_query_comes_from_a_file_or_from_standard_input(folder: Path) -> None:
    (folder / "one.sql").write_text("SELECT 7 AS n")
    assert sql("@one.sql", "-o", "csv").out == "n\n7\n"
    assert sql("-", "-o", "csv", stdin=b"SELECT 8 AS n\n").out == "n\n8\n"
    (folder / "bad.sql").write_bytes(b"\xff\xfe")
    assert "is no text in UTF-8" in sql("@bad.sql", code=2).err


def test_without_the_guard_the_owner_may_write(folder: Path) -> None:
    def mine(text: str, code: int = 0) -> Answer:
        return sql(text, "--no-guard", "-o", "json", code=code)

    mine("CREATE TABLE default.notes (text String) ENGINE = MergeTree ORDER BY text")
    mine("INSERT INTO default.notes VALUES ('a')")
    assert json.loads(mine("SELECT text FROM default.notes;").out) == [{"text": "a"}]
    assert "no table default.notes" in sql("SELECT text FROM default.notes", code=2).err


def test_a_prometheus_that_does_not_let_one_in_is_an_outside_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path, {"up": [(at, 1.0) for at in every(1, NOW, 3)]}, USERS) as url:
        monkeypatch.setenv("BUILD_EYE_PROMETHEUS__URL", url)
        monkeypatch.setenv("PROMETHEUS_TOKEN", READER + "-of-nobody")
        refused = promql("up", code=3)
        assert "answered 401: PROMETHEUS_TOKEN is missing, wrong" in refused.err and READER not in refused.err
        monkeypatch.setenv("PROMETHEUS_TOKEN", READER)
        assert promql("up", "-o", "csv").out.startswith("__name__,time,value\nup,")


def test_a_server_that_is_down_is_an_outside_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BUILD_EYE_STORAGE__WAREHOUSE_DSN", "clickhouse://me:secret-word@127.0.0.1:9/")
    answer = sql("SELECT 1", code=3)
    assert "does not answer" in answer.err and "secret-word" not in answer.err
